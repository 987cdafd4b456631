// Word chunks decoded and written as rows by several threads, for formats that write each lane's frames by themselves
// (Format::lanes_are_apart()). A core's chunks all go to one shard, which has a pipeline and a format of its own, so that what is kept
// from a lane's chunk to its next is where it is needed; the rows go to the output in the order of the chunks. A thread wakes another
// only where that one waits.
//
//   main thread   words: counted (Pipeline::note_words), and put into the batch of the core's shard. Rows that are ready: to the output,
//                 in order. Where the next rows are not ready, this thread decodes as the others do
//                 a session, names: waits until nothing is under way, then every pipeline gets them
//                 anything else: the main pipeline alone, as the format writes nothing for it
//   the others    the oldest batch of a shard that no thread has: its pipeline's push(), rows into memory
//
// Memory: kMostBatches of kBatchWords words a shard, and their rows. What a thread throws is thrown by the next call.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

class LaneShards {
 public:
  using MakePipeline = std::function<std::unique_ptr<Pipeline>()>;
  using MakeFormat = std::function<std::unique_ptr<Format>(Output& rows)>;
  // `main` and `out` outlive this; `format` is what writes to `out`. All pipelines and formats are made alike.
  LaneShards(unsigned threads, const MakePipeline& make_pipeline, const MakeFormat& make_format,
             Pipeline& main, Format& format, Output& out);
  ~LaneShards();
  LaneShards(const LaneShards&) = delete;
  LaneShards& operator=(const LaneShards&) = delete;

  // Leaves other memory in `chunk`.
  void push(std::vector<uint64_t>& chunk);
  // Everything is in the output.
  void settle();
  // The counts of all pipelines are in the main one. Nothing is pushed any more.
  void finish();

 private:
  static constexpr size_t kBatchWords = 4 << 10;  // 64-bit: their rows stay in the caches
  static constexpr size_t kMostBatches = 4;

  struct Item {
    std::vector<uint64_t> chunk;
    size_t rows_end = 0;  // in Batch::rows
    std::string complaint;
  };
  struct Batch {
    std::vector<Item> items;  // those behind `used` are kept for their memory
    size_t used = 0, words = 0, committed = 0;
    std::vector<char> rows;
    uint64_t number = 0;  // of its first chunk
    bool handed_over = false, done = false;
  };
  struct Shard {
    Output rows = Output::in_memory();
    std::unique_ptr<Pipeline> pipeline;
    std::unique_ptr<Format> format;
    std::deque<std::unique_ptr<Batch>> batches;  // oldest first; the last may be filling
    std::vector<std::unique_ptr<Batch>> spare;
    bool taken = false;  // by a thread that decodes a batch of it
  };
  struct Work {
    Shard* shard = nullptr;
    Batch* batch = nullptr;
  };

  Batch& filling(Shard& shard);
  void hand_over(Batch& batch);
  void commit_oldest();
  void commit_ready();
  void stop();
  Work take_work();
  void finish_work(const Work& work, std::unique_lock<std::mutex>& lock);
  void work() noexcept;
  static void process(Shard& shard, Batch& batch);

  Pipeline& main_;
  Format& format_;
  Output& out_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::deque<Shard*> order_;  // whose next item is next in the output

  std::vector<std::thread> threads_;
  uint64_t chunks_ = 0;

  std::mutex mutex_;
  std::condition_variable handed_over_, done_;
  unsigned idle_ = 0;  // threads that wait for a batch
  bool main_waits_ = false;
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace ttc::tools

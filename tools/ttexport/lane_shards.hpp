// Word chunks decoded and written as rows by several threads, for formats that write each lane's frames by themselves
// (Format::lanes_are_apart()). A core's chunks all go to one shard, which has a pipeline and a format of its own, so that what is kept
// from a lane's chunk to its next is where it is needed; the rows go to the output in the order of the chunks. There are more shards than threads,
// so that no thread waits while the next chunks happen to be of few of them.
//
//   owner         words: counted (Pipeline::note_words), and put into the batch of the core's shard. Rows that are ready: to the output,
//                 in order. Where the next rows are not ready, it decodes as the others do
//                 a session, names: waits until nothing is under way, then every pipeline gets them
//                 anything else: the main pipeline alone, as the format writes nothing for it
//   any thread    the oldest batch of a shard that no thread has: its pipeline's push(), rows into memory
//
// Memory: kMostBatches of kBatchWords words a shard, and their rows. What a thread throws is thrown by a later call.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/jobs/workers.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

class LaneShards {
 public:
  using MakePipeline = std::function<std::unique_ptr<Pipeline>()>;
  using MakeFormat = std::function<std::unique_ptr<Format>(Output& rows)>;
  // The references outlive this; `format` is what writes to `out`. All pipelines and formats are made alike.
  LaneShards(Workers& workers, const MakePipeline& make_pipeline, const MakeFormat& make_format,
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
  static constexpr size_t kMostBatches = 3;
  static constexpr size_t kShardsAThread = 4;

  struct Item {
    std::vector<uint64_t> chunk;
    size_t rows_end = 0;  // in Batch::rows
    std::string complaint;
  };
  struct Shard;
  class Batch : public Workers::Job {
   public:
    explicit Batch(Shard& of) : shard(of) {}
    Shard& shard;
    std::vector<Item> items;  // those behind `used` are kept for their memory
    size_t used = 0, words = 0, committed = 0;
    std::vector<char> rows;
    bool handed_over = false;

   private:
    void run() override;
  };
  struct Shard {
    Output rows = Output::in_memory();
    std::unique_ptr<Pipeline> pipeline;
    std::unique_ptr<Format> format;
    Workers::Row in_order;
    std::deque<std::unique_ptr<Batch>> batches;  // oldest first; the last may be filling
    std::vector<std::unique_ptr<Batch>> spare;
  };

  Batch& filling(Shard& shard);
  void hand_over(Batch& batch);
  void commit_oldest();
  void commit_ready();

  Workers& workers_;
  Pipeline& main_;
  Format& format_;
  Output& out_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::deque<Shard*> order_;  // whose next item is next in the output
};

}  // namespace ttc::tools

// Word chunks as rows by several threads, where rows of a chunk depend on no other chunk, which holds of nearly all chunks of a device CSV.
// What lies between two places in the source is then the work of one thread, and one piece of the output: however many cores the chunks
// are of, and however small they are.
//
//   owner         any chunk: into the batch. A full batch: to the threads. The oldest batch, when its rows are made: to the output
//   any thread    the oldest batch that no thread has: rows of its chunks, as far as they depend on no other (Pipeline::push_apart())
//   owner         chunks whose rows depend on others (words that firmware keeps in L1, dispatch cores), and chunks without words: through
//                 the main pipeline, at their place among the rows
//                 a session, names: waits until nothing is under way, then every pipeline gets them
//
// Memory: kBatchesAThread batches a thread, each with kBatchWords words (or one chunk that has more) and what is made of them. What a thread
// throws is thrown by a later call.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/output/thread_memory.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {

class RowBatches {
 public:
  using MakePipeline = std::function<std::unique_ptr<Pipeline>()>;
  using MakeFormat = std::function<std::unique_ptr<Format>(Output& rows)>;

  // The references outlive this; `format`, which writes to `out`, is what the owner's chunks reach. All pipelines and formats are made alike.
  RowBatches(jobs::Workers& workers, const MakePipeline& make_pipeline, const MakeFormat& make_format,
             Pipeline& main, Format& format, Output& out);
  ~RowBatches();
  RowBatches(const RowBatches&) = delete;
  RowBatches& operator=(const RowBatches&) = delete;

  // As the pipeline has it: of the chunks that are pushed from now on.
  void lost_beginning();
  // Leaves other memory in `chunk`.
  void push(shm::KeptChunk& chunk);
  // Everything is in the output.
  void settle();
  // The counts of all pipelines are in the main one. Nothing is pushed any more.
  void finish();

 private:
  static constexpr size_t kBatchWords = 8 << 10;  // 64-bit: what is made of them stays in the caches
  static constexpr size_t kBatchesAThread = 6;

  // What makes a thread's rows.
  struct Maker {
    std::unique_ptr<Pipeline> pipeline;
    Output rows = Output::in_memory();
    std::unique_ptr<Format> format;
  };
  struct Item {
    shm::KeptChunk chunk;  // without words: the beginning is lost
    bool owners = false;   // no thread makes its rows
    Apart apart = Apart::no;
    size_t rows_end = 0;
    std::string complaint;
  };
  class Batch : public jobs::Workers::Job {
   public:
    Batch(RowBatches& of, Output& out) : placed(out), of_(of) {}
    std::vector<Item> items;  // those behind `used` are kept for their memory
    size_t used = 0, words = 0;
    OutputMemory rows;  // of the thread that did it, to which they go back
    Output::Rows placed;

   private:
    void run() override;
    RowBatches& of_;
  };
  using Core = std::tuple<uint64_t, uint8_t, uint8_t>;  // session, x, y

  Item& add();
  void push_to_all(std::span<const uint64_t> chunk);
  std::unique_ptr<Batch> unused();
  void take_back_rows();
  void hand_over();
  void commit_oldest();
  void commit_ready();
  void put(Batch& batch, size_t from, size_t to);
  jobs::Workers& workers_;
  Pipeline& main_;
  Format& format_;
  Output& out_;
  std::vector<std::unique_ptr<Maker>> makers_;            // by thread
  ThreadMemory memory_;                                   // for rows
  std::unique_ptr<Batch> filling_;                        // null: none
  std::deque<std::unique_ptr<Batch>> under_way_, spare_;  // oldest first
  size_t batches_ = 0;                                    // all there are
  std::set<Core> dispatch_;  // cores that had a chunk whose rows depend on others
  bool beginning_lost_ = false;
};

}  // namespace ttc::tools

// Word chunks decoded and made into something else by several threads, where what is made of a lane's frames depends on no other lane:
// zones of a report. A core's chunks all go to one shard, which has a pipeline and a format of its own, so
// that what is kept from a lane's chunk to its next is where it is needed. What was made goes to the output in the order of the chunks, whatever
// the number of threads. There are more shards than threads, so that no thread waits while the next chunks happen to be of few of them.
//
//   owner         words: into the batch of the core's shard. What is next and ready: to the output, by Side::put(). Where the next is not
//                 ready, it decodes as the others do
//                 a session, names: waits until nothing is under way, then every pipeline gets them
//                 anything else: the main pipeline alone, when all before it is in the output
//   any thread    the oldest batch of a shard that no thread has: its pipeline's push(), and Side::take_into()
//
// Memory: kMostBatches of kBatchWords words a shard, what is made of them, and kMostWaiting bytes of chunks without words. What a thread throws is thrown by a later call.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::tools {

class LaneShards {
 public:
  // What a shard's format made of a batch of chunks. Its memory is used again.
  class Product {
   public:
    virtual ~Product() = default;
  };
  // A shard's format, and the way of what it makes to the output.
  class Side {
   public:
    virtual ~Side() = default;
    virtual std::unique_ptr<Product> product() const = 0;  // an empty one
    // On the thread that has the shard's batch:
    virtual Format& format() = 0;
    virtual size_t made() = 0;  // how much the format made of the batch so far, in units of its own
    // At a batch's end: everything, in place of what the product held.
    virtual void take_into(Product& product) = 0;
    // The owner, while any thread may have the shard's next batch: the part between two values of made(), to the output.
    virtual void put(Product& product, size_t from, size_t to) = 0;
  };
  using MakePipeline = std::function<std::unique_ptr<Pipeline>()>;
  using MakeSide = std::function<std::unique_ptr<Side>()>;

  // The references outlive this; `format` is what chunks without words reach. All pipelines and sides are made alike.
  LaneShards(jobs::Workers& workers, const MakePipeline& make_pipeline, const MakeSide& make_side,
             Pipeline& main, Format& format);
  ~LaneShards();
  LaneShards(const LaneShards&) = delete;
  LaneShards& operator=(const LaneShards&) = delete;

  static constexpr size_t kMostWaiting = 1 << 20;  // bytes, and a chunk

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
  static constexpr size_t kMostBatches = 8;       // with fewer a thread waits while the owner does a batch
  static constexpr size_t kShardsAThread = 2;

  struct Item {
    shm::KeptChunk chunk;
    size_t made_end = 0;
    std::string complaint;
  };
  struct Shard;
  class Batch : public jobs::Workers::Job {
   public:
    explicit Batch(Shard& of);
    Shard& shard;
    std::vector<Item> items;  // those behind `used` are kept for their memory
    size_t used = 0, words = 0, committed = 0;
    std::unique_ptr<Product> made;
    bool handed_over = false;

   private:
    void run() override;
  };
  struct Shard {
    std::unique_ptr<Pipeline> pipeline;
    std::unique_ptr<Side> side;
    jobs::Workers::Row in_order;
    std::deque<std::unique_ptr<Batch>> batches;  // oldest first; the last may be filling
    std::vector<std::unique_ptr<Batch>> spare;   // that were put; the latest is last
  };
  // What is next in the output: the next chunk of a shard, a chunk of another kind, or that the beginning is lost.
  struct Next {
    Shard* shard;                 // null: `other`
    std::vector<uint64_t> other;  // empty: the beginning is lost
  };

  void push_words(shm::KeptChunk& chunk);
  void push_to_all(std::span<const uint64_t> chunk);
  Batch& filling(Shard& shard);
  void hand_over(Batch& batch);
  void commit_oldest();
  void commit_words(Shard& shard);
  void commit_ready();

  jobs::Workers& workers_;
  Pipeline& main_;
  Format& format_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::deque<Next> order_;
  size_t waiting_bytes_ = 0;  // of chunks without words
  bool beginning_lost_ = false;
};

}  // namespace ttc::tools

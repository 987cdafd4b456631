// Writes live segments to a capture, as one more reader of their rings. No drain ever waits for the disk.
//
//   rings -> gather (one thread) -> blocks -> pack (threads) -> write (one thread) -> file
//   feeds ---^
//
// A feed holds chunks of this process. It is taken from while half of the memory for blocks is free, so that a burst of
// it waits in the feed, which bounds its sender, and never takes the room of a ring's blocks.
//
// Between the threads is a queue bounded by memory. A disk that is too slow for long costs whole blocks, by
// rule; a gatherer that is starved costs what the ring overwrites. Both are intervals of loss in the file. What
// ends a thread early (memory) leaves the file without an index, so that it is no whole capture for any reader.
// Chunks of several devices alternate in the file as they came; each names its session and device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collector/loss/chunk_gaps.hpp"
#include "collector/record/block_queue.hpp"
#include "collector/record/capture_output.hpp"
#include "collector/record/chunk_feed.hpp"
#include "collector/record/dropped_blocks.hpp"
#include "shm/reader.hpp"
#include "ttcollect/redact.hpp"

namespace ttc::collect {

struct CaptureOptions {
  std::string path;
  bool plain = false;  // no io_uring
  CaptureBounds bounds;
  Keep keep_in_memory = Keep::oldest;  // when the disk is too slow
  uint64_t memory_bytes = 64u << 20;   // of blocks that wait for packing and for the disk; four at least
  unsigned packers = 1;                // threads
  uint64_t block_bytes = 2u << 20;     // of chunks; a block is also made when kBlockAgeNs are over
  bool redact = false;                 // leave out what is personal (ttcollect/redact.hpp)
  OpenDisk open_disk;                  // none: open_capture_disk
  std::function<uint64_t()> now_ns;    // none: CLOCK_MONOTONIC; of rotation, age and sync
};

class CaptureWriter {
 public:
  // One segment's way into the file. Owned by the writer.
  class Track {
   public:
    uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    uint64_t lapped_bytes() const { return lapped_.load(std::memory_order_relaxed); }
    const std::string& error() const { return error_; }  // after finish()

   private:
    friend class CaptureWriter;
    explicit Track(const std::string& live_name) : reader_(live_name, shm::StartAt::oldest) {}

    shm::Reader reader_;
    std::atomic<uint64_t> bytes_{0};
    std::atomic<uint64_t> lapped_{0};
    std::string error_;
    bool over_ = false;  // the gathering thread's
  };

  // Creates or truncates the file. `session` goes into its header: that of the first device. Throws
  // CaptureError.
  CaptureWriter(const CaptureOptions& options, uint64_t session);
  ~CaptureWriter();

  // Must be called before the segment's first chunk is published. Throws shm::SegmentError.
  const Track& add(const std::string& live_name);
  // Chunks that no ring has. The feed is ended by its sender, and before finish().
  void add(std::shared_ptr<ChunkFeed> feed);
  // Must be called after every segment was ended: writes what is left, syncs, closes.
  void finish();

  // While it runs, too.
  uint64_t dropped_bytes() const { return drops_.dropped_bytes(); }
  uint64_t file_bytes() const { return file_bytes_.load(std::memory_order_relaxed); }
  std::vector<shm::LossRecord> lost(uint64_t session) const { return drops_.records(session); }

  // Valid after finish().
  std::string error() const;
  std::string backend() const { return how_; }
  const std::vector<std::string>& remarks() const { return output_->remarks(); }
  const std::vector<std::string>& files() const { return output_->files(); }
  uint64_t most_memory() const { return queue_.most_bytes_seen(); }

 private:
  void gather();
  void gather_all();
  void begin_threads();
  void end_begun();
  void join();
  void broke(std::exception_ptr why);
  bool is_broken() const;
  void write_all();
  bool refresh_active();
  bool take(Track& track, unsigned wait_ms);
  bool take_feeds();
  void keep(std::span<const uint64_t> chunk);
  void push_block();
  void drop(const QueuedBlock& block, shm::LossCause cause);
  void pack();
  void write();

  const CaptureOptions options_;
  BlockQueue queue_;
  DroppedBlocks drops_;
  std::unique_ptr<CaptureOutput> output_;  // the writing thread's; from finish() on anybody's
  std::string how_;
  std::atomic<uint64_t> file_bytes_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Track>> tracks_;     // with mutex_
  std::vector<std::shared_ptr<ChunkFeed>> feeds_;  // likewise
  bool finishing_ = false;                         // with mutex_
  std::exception_ptr broken_;                      // with mutex_; what ended a thread early

  // The gathering thread's own.
  std::vector<Track*> active_;
  std::vector<ChunkFeed*> active_feeds_;
  std::vector<uint64_t> chunk_;
  std::unique_ptr<QueuedBlock> filling_;
  uint64_t filling_since_ns_ = 0;
  uint64_t next_number_ = 0;
  uint64_t reported_losses_ns_ = 0;
  ChunkGaps gaps_;
  Redactor redactor_;

  std::thread gatherer_, writer_;
  std::vector<std::thread> packers_;
};

}  // namespace ttc::collect

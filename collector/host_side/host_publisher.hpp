// Events of the workload's processes into a segment of their own, which every reader follows like a device's.
//
// Publishing never waits: a reader that is too slow is lapped and detects it. Callable from several threads.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "collector/sampling/host_ticks.hpp"
#include "shm/segment.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::collect {

// Of one process, what was collected since it was last published.
struct HostBatch {
  HostChunkHead head;      // version, process, pid, init_begin, timer_mul, protocol
  bool raw_clock = false;  // its ticks are nanoseconds of CLOCK_MONOTONIC_RAW
  std::vector<std::byte> events, names;
  int64_t oldest = INT64_MAX;  // time among the events
  void add(const HostEvent& event);
  bool empty() const { return events.empty() && names.empty(); }
  void clear();
};

class HostPublisher {
 public:
  // Makes the segment. Throws shm::SegmentError.
  explicit HostPublisher(const std::string& live_name);
  ~HostPublisher();
  HostPublisher(const HostPublisher&) = delete;
  HostPublisher& operator=(const HostPublisher&) = delete;

  uint32_t next_process();
  void publish(HostBatch& batch);  // and empties it
  void end();
  uint64_t session() const { return segment_.session(); }
  const std::string& live_name() const { return live_name_; }
  uint64_t dropped_bytes() const { return dropped_; }  // of batches that no ring takes
  // Of all chunks, as readers count them: a reader that read fewer was overtaken, also in front of its first chunk.
  uint64_t published_bytes() const { return published_; }

 private:
  void relate(HostBatch& batch);
  void put(shm::ChunkKind kind, const HostChunkHead& head, const std::vector<std::byte>& records);
  std::string live_name_;
  std::mutex mutex_;
  shm::SegmentWriter segment_;
  Publisher publisher_;
  HostTicks ticks_;
  uint32_t processes_ = 0;
  uint64_t dropped_ = 0, published_ = 0;
  bool standing_full_ = false, ended_ = false;
};

}  // namespace ttc::collect

// Events of the workload's processes into a segment of their own, which every reader follows like a device's, and the
// same chunks into the capture's feed.
//
// Publishing never waits. A reader of the ring that is too slow is lapped and detects it; events for which the feed has no
// room are counted, and missing from the capture: its readers find the jump of the sequence. Callable from several threads.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector/publish/publisher.hpp"
#include "collector/record/chunk_feed.hpp"
#include "collector/sampling/host_ticks.hpp"
#include "shm/segment.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::collect {

// What was collected of one process since it was last published.
struct HostBatch {
  HostChunkHead head;      // version, process, pid, init_begin, timer_mul, protocol
  bool raw_clock = false;  // its ticks are nanoseconds of CLOCK_MONOTONIC_RAW
  HostRecords events, names;
  uint64_t event_count = 0, name_count = 0;
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

  // Must be called before anything is published.
  void record_into(std::shared_ptr<ChunkFeed> feed) { feed_ = std::move(feed); }
  uint32_t next_process();
  void publish(HostBatch& batch);  // and empties it
  void end();
  uint64_t session() const { return segment_.session(); }
  const std::string& live_name() const { return live_name_; }
  // Valid after end(): events that are not in the capture, because more came than it took.
  uint64_t events_not_recorded() const { return not_recorded_; }
  uint64_t names_not_recorded() const { return names_not_recorded_; }

 private:
  void relate(HostBatch& batch);
  bool put(shm::ChunkKind kind, const HostChunkHead& head, const HostRecords& records);
  std::optional<shm::ChunkHeader> to_segment(shm::ChunkKind kind, std::span<const std::byte> body);
  bool put_chunk(shm::ChunkKind kind, std::vector<uint64_t> chunk, size_t body_bytes);
  std::string live_name_;
  std::mutex mutex_;
  shm::SegmentWriter segment_;
  Publisher publisher_;
  HostTicks ticks_;
  std::shared_ptr<ChunkFeed> feed_;
  uint32_t processes_ = 0;
  uint64_t not_recorded_ = 0, names_not_recorded_ = 0;
  bool standing_full_ = false, ended_ = false;
};

}  // namespace ttc::collect

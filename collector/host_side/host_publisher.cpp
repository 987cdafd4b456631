#include "collector/host_side/host_publisher.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kRingBytes = 32u << 20, kStandingBytes = 8u << 20;
constexpr uint64_t kLossRecords = 16;    // a session without lanes has none
constexpr int64_t kRateTicks = 1 << 24;  // over which the rate is read off

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

shm::SegmentOptions segment_options() {
  shm::SegmentOptions options;
  options.ring_bytes = kRingBytes;
  options.standing_bytes = kStandingBytes;
  options.loss_records = kLossRecords;
  return options;
}

bool has_time(EventKind kind) {
  switch (kind) {
    case EventKind::zone_begin:
    case EventKind::zone_end:
    case EventKind::message:
    case EventKind::literal:
    case EventKind::plot:
    case EventKind::frame:
    case EventKind::lock_wait:
    case EventKind::lock_obtain:
    case EventKind::lock_release:
    case EventKind::thread_runs:
    case EventKind::thread_stops:
    case EventKind::thread_woken:
      return true;
    default:
      return false;
  }
}

}  // namespace

void HostBatch::add(const HostEvent& event) {
  const bool definition = is_definition(event.kind);
  (definition ? names : events).add(event);
  ++(definition ? name_count : event_count);
  if (has_time(event.kind)) oldest = std::min(oldest, event.time);
}

void HostBatch::clear() {
  events.clear();
  names.clear();
  event_count = name_count = 0;
  oldest = INT64_MAX;
}

HostPublisher::HostPublisher(const std::string& live_name)
    : live_name_(live_name),
      segment_(live_name, "host", random_number(), segment_options()),
      publisher_(segment_, kHostDevice, 0) {}

HostPublisher::~HostPublisher() {
  end();
}

uint32_t HostPublisher::next_process() {
  const std::lock_guard lock(mutex_);
  return processes_++;
}

// The counter's rate and place by RAW, with the bound at the oldest event.
void HostPublisher::relate(HostBatch& batch) {
  HostChunkHead& head = batch.head;
  if (batch.raw_clock || !ticks_.uses_tsc()) {
    relate_raw_ns(head, batch.oldest == INT64_MAX ? 0 : batch.oldest);
    return;
  }
  ticks_.anchor();
  const uint64_t stamp = ticks_.now();
  const auto middle = [&](uint64_t at) {
    const HostTicks::Limits limits = ticks_.limits(at);
    return (static_cast<double>(limits.earliest) + static_cast<double>(limits.latest)) / 2 /
           static_cast<double>(kHostTicksPerNs);
  };
  head.tick = static_cast<int64_t>(stamp);
  head.raw_ns = static_cast<uint64_t>(middle(stamp));
  head.ns_per_tick = (middle(stamp) - middle(stamp - kRateTicks)) / static_cast<double>(kRateTicks);
  const auto oldest = static_cast<uint64_t>(batch.oldest == INT64_MAX ? head.tick : batch.oldest);
  const HostTicks::Limits limits = ticks_.limits(std::min(oldest, stamp));
  const HostTime width = limits.latest - limits.earliest;
  constexpr uint64_t kRounding = 2;
  head.bound_ns =
      static_cast<uint32_t>(std::min<uint64_t>(width / 2 / kHostTicksPerNs + kRounding, UINT32_MAX));
}

std::optional<shm::ChunkHeader> HostPublisher::to_segment(shm::ChunkKind kind,
                                                          std::span<const std::byte> body) {
  if (kind == shm::ChunkKind::host_names && !standing_full_) {
    const auto header =
        segment_.add_standing(kind, {reinterpret_cast<const char*>(body.data()), body.size()});
    if (header) return header;
    standing_full_ = true;  // the ring has them from now on, for readers that were there in time
  }
  return publisher_.publish_body(kind, body);
}

// `chunk`: its body is set, its header is not.
bool HostPublisher::put_chunk(shm::ChunkKind kind, std::vector<uint64_t> chunk, size_t body_bytes) {
  const auto header =
      to_segment(kind, std::as_bytes(std::span(chunk)).subspan(sizeof(shm::ChunkHeader), body_bytes));
  if (!header) return false;
  if (!feed_) return true;
  std::memcpy(chunk.data(), &*header, sizeof *header);
  return feed_->put(std::move(chunk), kind == shm::ChunkKind::host_events ? ChunkFeed::Kind::events
                                                                          : ChunkFeed::Kind::definitions);
}

bool HostPublisher::put(shm::ChunkKind kind, const HostChunkHead& head, const HostRecords& records) {
  const size_t body_bytes = sizeof head + records.size();
  std::vector<uint64_t> chunk((sizeof(shm::ChunkHeader) + body_bytes + 7) / 8);
  auto* body = reinterpret_cast<std::byte*>(chunk.data()) + sizeof(shm::ChunkHeader);
  std::memcpy(body, &head, sizeof head);
  std::memcpy(body + sizeof head, records.bytes().data(), records.size());
  return put_chunk(kind, std::move(chunk), body_bytes);
}

void HostPublisher::publish(HostBatch& batch) {
  const std::lock_guard lock(mutex_);
  relate(batch);
  if (!batch.names.empty() && !put(shm::ChunkKind::host_names, batch.head, batch.names))
    names_not_recorded_ += batch.name_count;
  if (!batch.events.empty() && !put(shm::ChunkKind::host_events, batch.head, batch.events))
    not_recorded_ += batch.event_count;
  publisher_.end_sweep();
  segment_.heartbeat(monotonic_now_ns());
  batch.clear();
}

void HostPublisher::end() {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_ = true;
  constexpr std::string_view kEnd = "the workload's host side was recorded to its end";
  std::vector<uint64_t> chunk((sizeof(shm::ChunkHeader) + kEnd.size() + 7) / 8);
  std::memcpy(chunk.data() + sizeof(shm::ChunkHeader) / 8, kEnd.data(), kEnd.size());
  put_chunk(shm::ChunkKind::end, std::move(chunk), kEnd.size());
  if (feed_) feed_->end();
  publisher_.end_sweep();
  segment_.end();
}

}  // namespace ttc::collect

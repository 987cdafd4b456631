#include "tools/ranks/rank_chunks.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "collector/program/json_text.hpp"
#include "shm/chunk.hpp"
#include "ttcollect/clock_segment.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {
namespace {

shm::ChunkHeader& header_in(std::vector<uint64_t>& chunk) {
  return *reinterpret_cast<shm::ChunkHeader*>(chunk.data());
}

char* body_in(std::vector<uint64_t>& chunk) {
  return reinterpret_cast<char*>(chunk.data()) + sizeof(shm::ChunkHeader);
}

uint64_t moved(uint64_t at, int64_t by) {
  return by < 0 && at <= static_cast<uint64_t>(-by) ? 1 : at + static_cast<uint64_t>(by);  // 0 is no time
}

uint64_t widened(uint64_t bound, uint64_t by) {
  return bound == collect::kNoBound || by > ~bound ? collect::kNoBound : bound + by;
}

}  // namespace

uint64_t RankChunks::common(uint64_t raw_ns) const {
  return raw_ns == 0 ? 0 : moved(raw_ns, of_.clock.at(raw_ns).offset_ns);
}

void RankChunks::move(std::vector<uint64_t>& chunk) const {
  shm::ChunkHeader& h = header_in(chunk);
  const bool of_host = collect::is_of_the_host(h);
  if (renumber_ && !of_host && !(h.flags & shm::kStanding)) h.device += of_.first_chip;
  if (of_.clock.known()) h.read_time_ns = common(h.read_time_ns);
  switch (h.kind) {
    case shm::ChunkKind::session:
      return move_session(chunk);
    case shm::ChunkKind::clock:
      return move_clock(chunk);
    case shm::ChunkKind::telemetry:
      return move_telemetry(chunk);
    case shm::ChunkKind::host_events:
    case shm::ChunkKind::host_names:
      return move_host(chunk);
    default:
      return;
  }
}

// Adds the rank and its chip's number there to a session's description, for the pipeline.
void RankChunks::move_session(std::vector<uint64_t>& chunk) const {
  const auto body = shm::body_of(chunk);
  auto j = program::json_value({body.data(), body.size()});
  if (!j.is_object() || !j.contains("chip") || !j["chip"].is_number_unsigned()) return;
  const auto chip = j["chip"].get<uint32_t>();
  j["rank"] = of_.name.text();
  j["chip_of_rank"] = chip;
  if (renumber_) j["chip"] = chip + of_.first_chip;
  const std::string text = program::json_text(j);
  const auto bytes = static_cast<uint32_t>(sizeof(shm::ChunkHeader) + text.size());
  chunk.resize((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  header_in(chunk).bytes = bytes;
  std::memcpy(body_in(chunk), text.data(), text.size());
}

void RankChunks::move_clock(std::vector<uint64_t>& chunk) const {
  const auto body = shm::body_of(chunk);
  if (!of_.clock.known() || !collect::check_clock_body(body).empty()) return;
  collect::ClockHead head = collect::clock_head_of(body);
  const ClockPoint at = of_.clock.at(head.raw_ns);
  head.raw_ns = common(head.raw_ns);
  head.realtime_minus_raw_ns -= at.offset_ns, head.boottime_minus_raw_ns -= at.offset_ns;
  std::memcpy(body_in(chunk), &head, sizeof head);
  for (size_t i = 0; i < collect::clock_segments_in(body); ++i) {
    const collect::ClockSegment s = collect::clock_segment_of(body, i);
    const uint64_t from = moved(s.host_from, of_.clock.points.offset_sixteenths(s.host_from));
    const uint64_t to = moved(s.host_to, of_.clock.points.offset_sixteenths(s.host_to));
    if (to <= from || to - from < s.to_cycles - s.from_cycles)
      continue;  // no clock runs like that: it stays what it was
    collect::ClockSegment put = collect::clock_segment_between(s.from_cycles, from, s.to_cycles, to);
    const uint64_t worst = std::max(of_.clock.at(s.host_from / collect::kHostTicksPerNs).bound_ns,
                                    of_.clock.at(s.host_to / collect::kHostTicksPerNs).bound_ns);
    const bool bounded =
        of_.basis == ClockBasis::related && worst < kUnknownBound / collect::kHostTicksPerNs - 1;
    const uint64_t by = bounded ? (worst + 1) * collect::kHostTicksPerNs : collect::kNoBound;
    put.bound = widened(s.bound, by),
    put.hard_bound = collect::kNoBound;  // frequencies of crystals are no hard fact
    if (of_.clock.points.exact()) put.hard_bound = s.hard_bound;
    put.kind = put.bound == collect::kNoBound ? collect::BoundKind::none
               : of_.clock.points.exact()     ? s.kind
                                              : std::max(s.kind, collect::BoundKind::conditional);
    put.era = s.era, put.flags = s.flags, put.domain = s.domain;
    std::memcpy(body_in(chunk) + sizeof head + i * sizeof put, &put, sizeof put);
  }
}

void RankChunks::move_telemetry(std::vector<uint64_t>& chunk) const {
  shm::TelemetryRecord record;
  if (!of_.clock.known() || shm::body_of(chunk).size() < sizeof record) return;
  std::memcpy(&record, body_in(chunk), sizeof record);
  record.host_ns = common(record.host_ns);
  std::memcpy(body_in(chunk), &record, sizeof record);
}

void RankChunks::move_host(std::vector<uint64_t>& chunk) const {
  collect::HostChunkHead head;
  if (!of_.clock.known() || shm::body_of(chunk).size() < sizeof head) return;
  std::memcpy(&head, body_in(chunk), sizeof head);
  const ClockPoint at = of_.clock.at(head.raw_ns);
  head.raw_ns = common(head.raw_ns);
  const uint64_t bound = of_.basis == ClockBasis::related ? at.bound_ns : kUnknownBound;
  head.bound_ns = static_cast<uint32_t>(std::min<uint64_t>(widened(head.bound_ns, bound), UINT32_MAX));
  std::memcpy(body_in(chunk), &head, sizeof head);
}

}  // namespace ttc::tools

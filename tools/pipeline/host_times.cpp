#include "tools/pipeline/host_times.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

namespace ttc::tools {
namespace {

using collect::HostTime;
using collect::kHostTicksPerNs;
using collect::kNoBound;

}  // namespace

std::optional<HostClock> host_clock_by_name(const std::string& name) {
  if (name == "raw") return HostClock::raw;
  if (name == "realtime") return HostClock::realtime;
  if (name == "boottime") return HostClock::boottime;
  return std::nullopt;
}

std::string HostTimes::take_clock(std::span<const char> body) {
  if (std::string why = collect::check_clock_body(body); !why.empty()) return why;
  latest_ = collect::clock_head_of(body).domain;
  maps_[latest_].update(body);
  return {};
}

std::string HostTimes::take_domains(std::span<const char> json) {
  const auto j = program::json_value({json.data(), json.size()});
  if (!j.is_object() || !j.contains("tiles") || !j["tiles"].is_array())
    return "the list of clock domains is not what it should be";
  domains_.clear();
  for (const auto& tile : j["tiles"]) {
    if (!tile.is_array() || tile.size() != 3 || !std::all_of(tile.begin(), tile.end(), [](const auto& n) {
          return n.is_number_unsigned() && n.template get<uint64_t>() < 256;
        }))
      return "a tile in the list of clock domains makes no sense";
    domains_[{tile[0].get<uint8_t>(), tile[1].get<uint8_t>()}] = tile[2].get<uint8_t>();
  }
  return {};
}

bool HostTimes::covered(std::span<const uint64_t> chunk) const {
  const shm::ChunkHeader& h = shm::header_of(chunk);
  const auto domain = domains_.find({h.core_x, h.core_y});
  auto map = maps_.find(domain == domains_.end() ? 0 : domain->second);
  if (map == maps_.end()) map = maps_.find(0);  // a tile without a clock: nothing better will come
  // The distance of this tile's counter from the reference's is not known until all tiles were sampled.
  return map != maps_.end() && map->second.head().tile_spread != kNoBound &&
         map->second.final_until() / kHostTicksPerNs > h.read_time_ns;
}

WaitingWords::Chunk HostTimes::next_ready(bool all) {
  if (waiting_.empty() || (!all && waiting_.bytes() < kMostWaiting && !covered(waiting_.front()))) return {};
  return waiting_.pop();
}

size_t HostTimes::convert(uint8_t x, uint8_t y, uint64_t read_time_ns, std::span<const uint64_t> marker_times,
                          Converted& to) const {
  const auto domain = domains_.find({x, y});
  const auto map = maps_.find(domain == domains_.end() ? 0 : domain->second);
  if (map == maps_.end()) {
    // Beside tiles with host times 0 would be one, too: that of the host's start. When the words were read is near it.
    to.of.assign(marker_times.size(), {known() ? read_time_ns * kHostTicksPerNs : 0});
    return marker_times.size();
  }
  to.of.resize(marker_times.size());
  const collect::ClockHead& head = map->second.head();
  const uint64_t spread = head.reference_x == x && head.reference_y == y ? 0 : head.tile_spread;
  to.times.resize(marker_times.size());
  to.runs.clear();
  map->second.convert(marker_times, (read_time_ns + kWordsReadWithinNs) * kHostTicksPerNs, to.times, to.runs);
  MarkerHostTime* next = to.of.data();
  const HostTime* time = to.times.data();
  size_t without_bound = 0;
  for (const auto& run : to.runs) {
    const bool bounded = run.quality.bound < kNoBound - spread;
    const uint64_t bound = bounded ? run.quality.bound + spread : kNoBound;
    const collect::BoundKind kind = bounded ? run.quality.kind : collect::BoundKind::none;
    if (!bounded) without_bound += run.count;
    for (size_t i = 0; i < run.count; ++i) *next++ = {*time++, bound, kind, run.quality.final};
  }
  return without_bound;
}

const collect::ClockMap* HostTimes::clock_of(uint8_t x, uint8_t y) const {
  const auto domain = domains_.find({x, y});
  const auto map = maps_.find(domain == domains_.end() ? 0 : domain->second);
  if (map == maps_.end()) return nullptr;
  const collect::ClockHead& head = map->second.head();
  const bool reference = head.reference_x == x && head.reference_y == y;
  return reference || head.tile_spread != kNoBound ? &map->second : nullptr;
}

std::optional<int64_t> HostTimes::difference_ns(HostClock clock) const {
  const auto map = maps_.find(0);
  if (map == maps_.end()) return std::nullopt;
  const collect::ClockHead& head = map->second.head();
  if (clock == HostClock::raw) return 0;
  return clock == HostClock::realtime ? head.realtime_minus_raw_ns : head.boottime_minus_raw_ns;
}

}  // namespace ttc::tools

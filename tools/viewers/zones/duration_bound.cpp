#include "tools/viewers/zones/duration_bound.hpp"

#include <algorithm>

namespace ttc::tools {

using collect::kHostTicksPerNs;
using collect::kNoBound;

TimedMarker timed_marker(const FrameEvents& f, size_t marker) {
  TimedMarker m;
  m.cycles = f.markers[marker].time_cycles;
  m.clock = f.tile_clock;
  m.seen_by = f.seen_ns * kHostTicksPerNs;
  if (!f.host_times.empty()) m.at = f.host_times[marker].at, m.bound = f.host_times[marker].bound;
  return m;
}

uint32_t bound_of_shown_ns(uint64_t shown_ns, int64_t measured, uint64_t bound) {
  const int64_t off = static_cast<int64_t>(shown_ns * kHostTicksPerNs) - measured;
  const uint64_t apart = static_cast<uint64_t>(off < 0 ? -off : off);
  if (bound > kNoBound - apart - kHostTicksPerNs) return kNoDurationBound;
  const uint64_t ns = (bound + apart + kHostTicksPerNs - 1) / kHostTicksPerNs;
  return static_cast<uint32_t>(std::min<uint64_t>(ns, kNoDurationBound));
}

uint32_t duration_bound_ns(const TimedMarker& from, const TimedMarker& to) {
  if (from.bound == kNoBound || to.bound == kNoBound) return kNoDurationBound;
  const auto measured = static_cast<int64_t>(to.at - from.at);
  // Where the counter was reset in between, each time has its own error.
  uint64_t bound = from.bound < kNoBound - to.bound ? from.bound + to.bound : kNoBound;
  if (from.clock && from.clock == to.clock && from.seen_by && to.seen_by) {
    const auto d = to.clock->difference(from.cycles, to.cycles, std::max(from.seen_by, to.seen_by));
    // A later read may mean another wrap or reset of the counter: then the two are not the times that are shown.
    if (d.ticks == measured) bound = std::min(bound, d.bound);
  }
  return bound_of_shown_ns(to.at / kHostTicksPerNs - from.at / kHostTicksPerNs, measured, bound);
}

}  // namespace ttc::tools

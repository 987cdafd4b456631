#include "tools/viewers/zones/zone_bounds.hpp"

#include <algorithm>
#include <optional>

namespace ttc::tools {

using collect::kHostTicksPerNs;

// The bound follows from the zone and the clock model alone, whichever zones came before: the part of the model that covers a zone is one.
uint32_t ZoneBounds::within_frame(const FrameEvents& f, uint32_t from, uint32_t to) {
  const uint64_t from_cycles = f.markers[from].time_cycles, to_cycles = f.markers[to].time_cycles;
  const collect::HostTime seen_by = f.seen_ns * kHostTicksPerNs;
  std::optional<uint64_t> bound;
  if (f.tile_clock && f.tile_clock == pace_clock_) bound = pace_.bound(from_cycles, to_cycles, seen_by);
  if (!bound && f.tile_clock && f.seen_ns) {
    pace_clock_ = f.tile_clock;
    pace_ = f.tile_clock->same_pace(to_cycles, seen_by);
    bound = pace_.bound(from_cycles, to_cycles, seen_by);
  }
  if (!bound) return duration_bound_ns(timed_marker(f, from), timed_marker(f, to));
  const MarkerHostTime &begin = f.host_times[from], &end = f.host_times[to];
  // The two times themselves may be known better: the reference tile has no part in the spread of tiles.
  const uint64_t of_times = begin.bound < collect::kNoBound - end.bound ? begin.bound + end.bound : *bound;
  return bound_of_shown_ns(end.at / kHostTicksPerNs - begin.at / kHostTicksPerNs,
                           static_cast<int64_t>(end.at - begin.at), std::min(*bound, of_times));
}

std::span<const uint32_t> ZoneBounds::of(const FrameEvents& f, std::span<const ZoneStep> steps, Open& open) {
  bounds_.assign(f.markers.size(), kNoDurationBound);
  for (const ZoneStep& step : steps) {
    if (step.kind == ZoneStep::Kind::begin && step.other == kNoMarker) {
      open.push_back(timed_marker(f, step.marker));
    } else if (step.kind == ZoneStep::Kind::end && step.other != kNoMarker) {
      bounds_[step.marker] = within_frame(f, step.other, step.marker);
    } else if (step.kind == ZoneStep::Kind::end) {
      // ZoneSteps closes what it opened last.
      if (step.marker != kNoMarker)
        bounds_[step.marker] = duration_bound_ns(open.back(), timed_marker(f, step.marker));
      open.pop_back();
    }
  }
  return bounds_;
}

}  // namespace ttc::tools

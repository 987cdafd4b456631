// How far a duration can be from the true one, by the clock models of its two ends. What both times share, such as the offset to host
// time, is no part of it where both are of one counter.
#pragma once
#include <cstdint>

#include "tools/pipeline/format.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::tools {

// One end of a duration.
struct TimedMarker {
  uint64_t cycles = 0;
  collect::HostTime at = 0;  // as it was converted
  uint64_t bound = collect::kNoBound;
  collect::HostTime seen_by = 0;
  const collect::ClockMap* clock = nullptr;
};
TimedMarker timed_marker(const FrameEvents& frame, size_t marker);

inline constexpr uint32_t kNoDurationBound = ~uint32_t{0};

// Of two markers of one tile: nanoseconds either way, rounded up, for a duration that is shown as whole nanoseconds: both times less their fractions.
// kNoDurationBound: none is known.
uint32_t duration_bound_ns(const TimedMarker& from, const TimedMarker& to);
// Of ticks either way for a duration of `measured` ticks.
uint32_t bound_of_shown_ns(uint64_t shown_ns, int64_t measured, uint64_t bound);

}  // namespace ttc::tools

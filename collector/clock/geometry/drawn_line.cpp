#include "collector/clock/geometry/drawn_line.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {

DrawnLine::DrawnLine(uint64_t from_cycles, HostTime host_from, uint64_t to_cycles, HostTime host_to,
                     double usual_ticks)
    : from_cycles_(from_cycles),
      to_cycles_(to_cycles),
      host_from_(host_from),
      host_to_(host_to),
      next_(host_to) {
  const uint64_t cycles = to_cycles - from_cycles, least = fewest_ticks(cycles), most = most_ticks(cycles);
  if (host_to < host_from + least) {
    host_to_ = next_ = host_from + least;
    straight_ = false;
  } else if (host_to > host_from + most) {
    const double usual = std::round(usual_ticks * static_cast<double>(cycles));
    const uint64_t ticks = std::clamp(usual > 0 ? static_cast<uint64_t>(usual) : 0, least, most);
    host_from_ += (host_to - host_from - ticks) / 2;
    host_to_ = host_from_ + ticks;
    straight_ = false;
  }
}

double DrawnLine::ticks_a_cycle() const {
  return static_cast<double>(host_to_ - host_from_) / static_cast<double>(to_cycles_ - from_cycles_);
}

ClockSegment DrawnLine::segment() const {
  return clock_segment_between(from_cycles_, host_from_, to_cycles_, host_to_);
}

}  // namespace ttc::collect

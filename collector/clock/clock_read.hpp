// One load of a counter. Host times are CLOCK_MONOTONIC_RAW in sixteenths of a nanosecond.
#pragma once
#include <cstdint>

#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

// The counter showed `cycles` at some moment from `before` to `after`.
struct ClockRead {
  HostTime before = 0;
  HostTime after = 0;
  uint64_t cycles = 0;  // 64 bits, low word's roll-overs taken into account
};

inline HostTime middle_of(const ClockRead& r) {
  return r.before + (r.after - r.before) / 2;
}

}  // namespace ttc::collect

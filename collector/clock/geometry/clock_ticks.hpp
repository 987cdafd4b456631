// Differences of host times and of cycles as doubles, and back: the model's arithmetic is relative to a sample.
#pragma once
#include <cmath>

#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

inline constexpr double kTicks = static_cast<double>(kHostTicksPerNs);
inline constexpr double kPadNs = 0.05;  // for the rounding of doubles (CLOCK.md, "Arithmetic")

struct Range {
  double low, high;
};

inline double ns_of(HostTime later, HostTime earlier) {
  return static_cast<double>(static_cast<int64_t>(later - earlier)) / kTicks;
}
inline double cycles_of(uint64_t later, uint64_t earlier) {
  return static_cast<double>(static_cast<int64_t>(later - earlier));
}
inline HostTime later_by(HostTime t, double ns) {
  return t + static_cast<uint64_t>(static_cast<int64_t>(std::llround(ns * kTicks)));
}

}  // namespace ttc::collect

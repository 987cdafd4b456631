// How fast a frequency can have changed, evenly, while all of some reads were made: every course with one
// second derivative that passes all of them has at most the one given here.
//
// x: cycles, y: nanoseconds, both from an origin of the caller's that keeps them small.
#pragma once
#include <span>

#include "collector/clock/line_family.hpp"

namespace ttc::collect {

// The course lies in [low, high] at x.
struct SlewLimit {
  double x, low, high;
};

inline constexpr double kAnySlew = 1e300;

// The largest absolute second derivative, in y units per x unit squared; kAnySlew for fewer than three reads.
// `beside`: a line near all of them. A bad one makes the answer larger, never too small.
double largest_even_slew(std::span<const SlewLimit> reads, double offset, double slope);

}  // namespace ttc::collect

// How fast a frequency can have changed, evenly, while all of some reads were made: the largest second derivative of a
// parabola that passes all of them.
//
// x: cycles, y: nanoseconds, both from an origin of the caller's that keeps them small.
#pragma once
#include <optional>
#include <span>

namespace ttc::collect {

// The course is in [low, high] at x.
struct SlewLimit {
  double x, low, high;
};

inline constexpr double kAnySlew = 1e300;

// The largest absolute second derivative, in y units per x unit squared; kAnySlew for fewer than three reads. Reads
// are in order of x. No value: their limits contradict each other, so no even change passes all of them.
std::optional<double> largest_even_slew(std::span<const SlewLimit> reads);

}  // namespace ttc::collect

// All straight lines y = offset + slope * x that pass above some points and below others: a convex polygon in
// the plane of (offset, slope), clipped point by point. The state of a clock model while the frequency stays.
//
// Doubles. Callers keep x and y near 0 (CLOCK.md, "Arithmetic", has the error).
#pragma once
#include <vector>

#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {

class LineFamily {
 public:
  using Range = collect::Range;
  // Every line with a slope in `slopes` whose value at x = 0 is in `offsets`.
  LineFamily(Range slopes, Range offsets);

  void pass_below(double x, double y);  // keeps the lines with value <= y at x
  void pass_above(double x, double y);

  bool empty() const { return corners_.empty(); }
  // Both need a family that is not empty.
  Range values_at(double x) const;
  Range slopes() const;

 private:
  struct Corner {
    double offset, slope;
  };
  void clip(double x, double y, double sign);

  std::vector<Corner> corners_, kept_;
};

}  // namespace ttc::collect

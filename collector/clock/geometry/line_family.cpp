#include "collector/clock/geometry/line_family.hpp"

#include <algorithm>

namespace ttc::collect {

LineFamily::LineFamily(Range slopes, Range offsets)
    : corners_{{offsets.low, slopes.low},
               {offsets.high, slopes.low},
               {offsets.high, slopes.high},
               {offsets.low, slopes.high}} {}

void LineFamily::pass_below(double x, double y) {
  clip(x, y, 1);
}
void LineFamily::pass_above(double x, double y) {
  clip(x, y, -1);
}

// Keeps the corners with sign * (offset + slope * x - y) <= 0 and cuts the edges that cross.
void LineFamily::clip(double x, double y, double sign) {
  if (corners_.empty()) return;
  const auto excess = [&](const Corner& c) { return sign * (c.offset + c.slope * x - y); };
  bool all_kept = true;
  for (const Corner& c : corners_) all_kept = all_kept && excess(c) <= 0;
  if (all_kept) return;
  kept_.clear();
  Corner before = corners_.back();
  double excess_before = excess(before);
  for (const Corner& c : corners_) {
    const double here = excess(c);
    if ((here <= 0) != (excess_before <= 0)) {
      const double part = excess_before / (excess_before - here);
      kept_.push_back({before.offset + part * (c.offset - before.offset),
                       before.slope + part * (c.slope - before.slope)});
    }
    if (here <= 0) kept_.push_back(c);
    before = c;
    excess_before = here;
  }
  corners_.swap(kept_);
}

LineFamily::Range LineFamily::values_at(double x) const {
  Range r{1e300, -1e300};
  for (const Corner& c : corners_) {
    const double value = c.offset + c.slope * x;
    r.low = std::min(r.low, value);
    r.high = std::max(r.high, value);
  }
  return r;
}

LineFamily::Range LineFamily::slopes() const {
  Range r{1e300, -1e300};
  for (const Corner& c : corners_) {
    r.low = std::min(r.low, c.slope);
    r.high = std::max(r.high, c.slope);
  }
  return r;
}

}  // namespace ttc::collect

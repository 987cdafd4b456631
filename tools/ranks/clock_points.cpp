#include "tools/ranks/clock_points.hpp"

#include <algorithm>

namespace ttc::tools {
namespace {

// Bounds beyond are none: sums of them with ages must not overflow.
constexpr uint64_t kMostBound = uint64_t{1} << 58;  // nine years of nanoseconds

// On the line that joins two points; times and offsets in `unit` parts of a nanosecond. Rounded towards the earlier.
int64_t offset_between(const ClockPoint& a, const ClockPoint& b, uint64_t raw, int64_t unit) {
  using Wide = __int128;
  const Wide gap = Wide{b.raw_ns - a.raw_ns} * unit, into = Wide{raw} - Wide{a.raw_ns} * unit;
  const Wide rise = (Wide{b.offset_ns} - a.offset_ns) * unit * into;
  const Wide risen = rise / gap - (rise % gap < 0 ? 1 : 0);
  return static_cast<int64_t>(Wide{a.offset_ns} * unit + risen);
}

ClockPoint from_one(const ClockPoint& p, uint64_t raw_ns) {
  const uint64_t age = raw_ns > p.raw_ns ? raw_ns - p.raw_ns : p.raw_ns - raw_ns;
  return {raw_ns, p.offset_ns, p.bound_ns + (age ? parts_of(age, kDriftPpm) : 0)};
}

ClockPoint between(const ClockPoint& a, const ClockPoint& b, uint64_t raw_ns) {
  const uint64_t gap = b.raw_ns - a.raw_ns;
  // The true difference leaves the line between its own two points by no more than half of what frequency wanders in the gap.
  const uint64_t off_line = parts_of(gap, gap <= kWanderWindowNs ? kWanderPpm : kDriftPpm) / 2 + 1;
  return {raw_ns, offset_between(a, b, raw_ns, 1), std::max(a.bound_ns, b.bound_ns) + off_line};
}

}  // namespace

void ClockPoints::add(const ClockPoint& point) {
  const auto most = static_cast<int64_t>(kMostBound);
  if (point.bound_ns > kMostBound || point.raw_ns > kMostBound || point.offset_ns > most ||
      point.offset_ns < -most)
    return;
  if (!points_.empty() && point.raw_ns <= points_.back().raw_ns) points_.clear();
  points_.push_back(point);
  if (points_.size() > most_) points_.pop_front();
}

ClockPoint ClockPoints::at(uint64_t raw_ns) const {
  if (exact_) return {raw_ns, 0, 0};
  if (points_.empty() || raw_ns > kMostBound) return {raw_ns, 0, kUnknownBound};
  const auto after = first_from(raw_ns);
  if (after == points_.end()) return from_one(points_.back(), raw_ns);
  if (after == points_.begin() || after->raw_ns == raw_ns) return from_one(*after, raw_ns);
  return between(*std::prev(after), *after, raw_ns);
}

int64_t ClockPoints::offset_sixteenths(uint64_t raw) const {
  constexpr int64_t kUnit = 16;
  if (exact_ || points_.empty()) return 0;
  const auto after = first_from(raw / kUnit + 1);
  if (after == points_.end()) return points_.back().offset_ns * kUnit;
  if (after == points_.begin()) return after->offset_ns * kUnit;
  return offset_between(*std::prev(after), *after, raw, kUnit);
}

std::deque<ClockPoint>::const_iterator ClockPoints::first_from(uint64_t raw_ns) const {
  return std::lower_bound(points_.begin(), points_.end(), raw_ns,
                          [](const ClockPoint& p, uint64_t raw) { return p.raw_ns < raw; });
}

}  // namespace ttc::tools

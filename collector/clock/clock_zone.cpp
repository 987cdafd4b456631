#include "collector/clock/clock_zone.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {
namespace {

constexpr double kNearestBends = 16;  // cycles

// Without products of infinities: a limit that is not there stays so.
double later(double y, double pace, double cycles) {
  return std::abs(y) >= kUnlimited || pace >= kUnlimited ? kUnlimited : y + pace * cycles;
}
double earlier(double y, double pace, double cycles) {
  return std::abs(y) >= kUnlimited || pace >= kUnlimited ? -kUnlimited : y - pace * cycles;
}
double least(double low, double pace, double cycles) {
  return std::abs(low) >= kUnlimited ? low : low + pace * cycles;
}

}  // namespace

bool narrow_zone(std::vector<ZonePoint>& points, const std::vector<ZonePace>& paces) {
  for (size_t i = 1; i < points.size(); ++i) {
    const ZonePoint& p = points[i - 1];
    const double cycles = points[i].x - p.x;
    points[i].low = std::max(points[i].low, least(p.low, paces[i - 1].fast, cycles));
    points[i].high = std::min(points[i].high, later(p.high, paces[i - 1].slow, cycles));
  }
  for (size_t i = points.size(); i-- > 1;) {
    ZonePoint& p = points[i - 1];
    const double cycles = points[i].x - p.x;
    p.low = std::max(p.low, earlier(points[i].low, paces[i - 1].slow, cycles));
    if (points[i].high < kUnlimited) p.high = std::min(p.high, points[i].high - paces[i - 1].fast * cycles);
  }
  return std::none_of(points.begin(), points.end(), [](const ZonePoint& p) { return p.low > p.high; });
}

ZonePoint zone_at(const ZonePoint& from, const ZonePoint& to, const ZonePace& pace, double x) {
  const double behind = x - from.x, ahead = to.x - x, part = behind / (to.x - from.x);
  ZonePoint at{x, std::max(least(from.low, pace.fast, behind), earlier(to.low, pace.slow, ahead)),
               std::min(later(from.high, pace.slow, behind),
                        to.high < kUnlimited ? to.high - pace.fast * ahead : kUnlimited)};
  // A course that only gets slower lies below its chords, one that only gets faster above them.
  if (pace.bend == ZoneBend::slower) at.high = std::min(at.high, from.high + part * (to.high - from.high));
  if (pace.bend == ZoneBend::faster) at.low = std::max(at.low, from.low + part * (to.low - from.low));
  return at;
}

std::vector<double> zone_bends(const ZonePoint& from, const ZonePoint& to, const ZonePace& pace) {
  std::vector<double> bends;
  const double cycles = to.x - from.x, spread = pace.slow - pace.fast;
  if (pace.slow >= kUnlimited || spread <= 0) return bends;
  // Fast from `from` and slow to `to`, and the other way round.
  if (pace.bend != ZoneBend::faster)
    bends.push_back(from.x + (from.low - to.low + pace.slow * cycles) / spread);
  if (pace.bend != ZoneBend::slower)
    bends.push_back(from.x + (to.high - from.high - pace.fast * cycles) / spread);
  for (double& x : bends) x = std::floor(x);
  std::sort(bends.begin(), bends.end());
  double last = from.x;
  std::erase_if(bends, [&](double x) {
    if (!(x >= last + kNearestBends && x <= to.x - kNearestBends)) return true;
    last = x;
    return false;
  });
  return bends;
}

}  // namespace ttc::collect

#include "collector/clock/even_slew.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {
namespace {

struct At {
  double x, y;
};

// A parabola below `left` and `right` and above `middle` bends upwards by no more.
double bend(const At& left, const At& middle, const At& right) {
  return 2 * ((right.y - middle.y) / (right.x - middle.x) - (middle.y - left.y) / (middle.x - left.x)) /
         (right.x - left.x);
}

// Upwards for sign 1, downwards for -1. The reads at the two ends that lie lowest, and the one between that
// lies highest, each against the line.
double largest_bend(std::span<const SlewLimit> reads, double offset, double slope, double sign,
                    double share) {
  const double from = reads.front().x, length = reads.back().x - from;
  At left{0, kAnySlew}, middle{0, -kAnySlew}, right{0, kAnySlew};
  for (const SlewLimit& r : reads) {
    const double line = offset + slope * r.x;
    const double low = sign > 0 ? r.low - line : line - r.high,
                 high = sign > 0 ? r.high - line : line - r.low;
    const double part = (r.x - from) / length;
    if (part <= share) {
      if (high < left.y) left = {r.x, high};
    } else if (part >= 1 - share) {
      if (high < right.y) right = {r.x, high};
    } else if (low > middle.y) {
      middle = {r.x, low};
    }
  }
  if (left.y >= kAnySlew || right.y >= kAnySlew || middle.y <= -kAnySlew) return kAnySlew;
  return bend(left, middle, right);
}

}  // namespace

double largest_even_slew(std::span<const SlewLimit> reads, double offset, double slope) {
  if (reads.size() < 3) return kAnySlew;
  double worst = 0;
  for (const double sign : {1.0, -1.0}) {
    double least = kAnySlew;
    for (const double share : {0.1, 0.2, 0.3, 0.4})
      least = std::min(least, largest_bend(reads, offset, slope, sign, share));
    worst = std::max(worst, least);
  }
  return worst;
}

}  // namespace ttc::collect

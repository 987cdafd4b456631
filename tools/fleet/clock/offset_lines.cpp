#include "tools/fleet/clock/offset_lines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tools/ranks/clock_points.hpp"

namespace ttc::fleet {
namespace {

constexpr double kMostSlope = static_cast<double>(tools::kDriftPpm) / 1e6;
constexpr double kWander = static_cast<double>(tools::kWanderPpm) / 1e6;
constexpr int kHalvings = 60;

// The largest value of a concave function of the slope, and where it is.
template <class F>
std::pair<double, double> largest(const F& f, double from, double to) {
  constexpr double kGolden = 0.6180339887498949;
  double a = to - kGolden * (to - from), b = from + kGolden * (to - from);
  double at_a = f(a), at_b = f(b);
  for (int i = 0; i < kHalvings; ++i) {
    if (at_a < at_b) {
      from = a, a = b, at_a = at_b;
      b = from + kGolden * (to - from);
      at_b = f(b);
    } else {
      to = b, b = a, at_b = at_a;
      a = to - kGolden * (to - from);
      at_a = f(a);
    }
  }
  return at_a > at_b ? std::pair(at_a, a) : std::pair(at_b, b);
}

// Searches from a possible slope towards one that need not be possible: the last that is.
template <class F>
double last_possible(const F& possible, double from, double to) {
  if (possible(to)) return to;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (from + to) / 2;
    (possible(middle) ? from : to) = middle;
  }
  return from;
}

// Intervals, grown, each so far ahead of an instant. At the instant, a line of some slope that crosses all of them lies
// from -minus_lower() to upper(); both are concave in the slope.
struct Bars {
  struct Bar {
    double ahead, low, high;
  };
  std::vector<Bar> all;

  double upper(double slope) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Bar& bar : all) least = std::min(least, bar.high - slope * bar.ahead);
    return least;
  }
  double minus_lower(double slope) const {
    double least = std::numeric_limits<double>::infinity();
    for (const Bar& bar : all) least = std::min(least, slope * bar.ahead - bar.low);
    return least;
  }
};

}  // namespace

std::optional<OffsetLines::Range> OffsetLines::range(size_t from, size_t to, uint64_t raw_ns) const {
  const int64_t base =
      intervals_[from].low;  // differences of minutes are exact in a double, those of boots are not
  Bars bars;
  for (size_t i = from; i < to; ++i) {
    const Interval& one = intervals_[i];
    const auto ahead = static_cast<double>(static_cast<int64_t>(one.at_ns - raw_ns));
    const double grown = kWander * std::abs(ahead);
    bars.all.push_back(
        {ahead, static_cast<double>(one.low - base) - grown, static_cast<double>(one.high - base) + grown});
  }
  const auto upper = [&](double slope) { return bars.upper(slope); };
  const auto minus_lower = [&](double slope) { return bars.minus_lower(slope); };
  const auto room = [&](double slope) { return bars.upper(slope) + bars.minus_lower(slope); };
  constexpr double kRounding = 1;  // ns
  const auto [most, best] = largest(room, -kMostSlope, kMostSlope);
  if (most < -kRounding) return std::nullopt;
  const auto possible = [&](double slope) { return room(slope) >= 0; };
  const double least_slope = last_possible(possible, best, -kMostSlope);
  const double most_slope = last_possible(possible, best, kMostSlope);
  const double high = largest(upper, least_slope, most_slope).first;
  const double low = -largest(minus_lower, least_slope, most_slope).first;
  return Range{base + static_cast<int64_t>(std::floor(std::min(low, high) - kRounding)),
               base + static_cast<int64_t>(std::ceil(std::max(low, high) + kRounding))};
}

bool OffsetLines::add(const Interval& interval) {
  std::deque<Interval> before = intervals_;
  intervals_.push_back(interval);
  while (intervals_.size() > kMost || intervals_.front().at_ns + tools::kWanderWindowNs < interval.at_ns)
    intervals_.pop_front();
  if (range(0, intervals_.size(), interval.at_ns)) return true;
  intervals_.swap(before);
  return false;
}

void OffsetLines::add_anyway(const Interval& interval) {
  while (!add(interval)) intervals_.pop_front();
}

// Frequencies are related within a window only: intervals that no window joins with the instant do not limit the slope.
std::optional<OffsetLines::Range> OffsetLines::at(uint64_t raw_ns) const {
  if (intervals_.empty()) return std::nullopt;
  const auto far = [&](const Interval& one) {
    return std::max(one.at_ns, raw_ns) - std::min(one.at_ns, raw_ns) > tools::kWanderWindowNs;
  };
  size_t from = 0, to = intervals_.size();
  while (from < to && far(intervals_[from])) ++from;
  while (to > from && far(intervals_[to - 1])) --to;
  if (from < to) return range(from, to, raw_ns);
  const Interval& nearest = raw_ns < intervals_.front().at_ns ? intervals_.front() : intervals_.back();
  const auto grown = static_cast<int64_t>(
      tools::parts_of(std::max(nearest.at_ns, raw_ns) - std::min(nearest.at_ns, raw_ns), tools::kDriftPpm));
  return Range{nearest.low - grown, nearest.high + grown};
}

}  // namespace ttc::fleet

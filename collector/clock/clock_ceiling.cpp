#include "collector/clock/clock_ceiling.hpp"

#include <algorithm>
#include <cmath>

#include "collector/clock/pll_grid.hpp"

namespace ttc::collect {
namespace {

constexpr double kLeastDwellNs = 1e6;  // of a frequency between two PLL steps
constexpr double kNoExcursionNs =
    1.25e6;  // a dwell within an interval up to this fills half of it or of a neighbour

// The PLL multiple at or above a mean. A mean between two multiples is made of both, or of more that neighbouring
// intervals show better.
double multiple_above(const ReadInterval& i, PllGrid::Rate crystal) {
  const double least = i.low_hz / (kPllStepHz * crystal.high);
  const double most = i.high_hz / (kPllStepHz * crystal.low);
  const double inside = std::floor(most);
  if (inside >= least) return std::max(i.high_hz, inside * kPllStepHz * crystal.high);
  return std::ceil(most) * kPllStepHz * crystal.high;
}

// What the frequency can have gone up, and come back, within an interval besides what shows: PLL steps. One does not
// show where the reads are so wide that half a dwell leaves the mean on a multiple; nor where the mean is far below
// `shown_hz`, because of a stop or a ramp: the step's dwell may lie with it in the interval, but for a little.
double excursion_hz(const ReadInterval& i, double own_hz, double shown_hz) {
  const bool drained = own_hz < shown_hz - 1.5 * kPllStepHz;
  const double uncertain_cycles = (i.high_hz - i.low_hz) * i.ns / 1e9;
  const bool wide = i.ns > kNoExcursionNs && uncertain_cycles >= kPllStepHz * kLeastDwellNs / 2e9;
  const double there_and_back = std::floor(std::max(i.ns - kLeastDwellNs, 0.0) / (2 * kLeastDwellNs));
  return (there_and_back + (wide || drained ? 1 : 0)) * kPllStepHz * (1 + kCrystalTolerance);
}

}  // namespace

double shown_ns_needed(double ns) {
  return ns / 2;
}

std::vector<double> largest_frequencies(std::span<const ReadInterval> intervals, PllGrid::Rate crystal,
                                        double longest_ns) {
  std::vector<double> own, largest;
  for (const ReadInterval& i : intervals) own.push_back(multiple_above(i, crystal));
  // A mean that is below both of its neighbours': the interval may contain a stop, so that the mean is below the frequency.
  const auto is_dip = [&](size_t j) {
    return j > 0 && j + 1 < own.size() && own[j] < std::min(own[j - 1], own[j + 1]) - kPllStepHz / 2;
  };
  for (size_t i = 0; i < intervals.size(); ++i) {
    const double needed = shown_ns_needed(intervals[i].ns);
    double most = own[i], shown = 0;
    // One step that did not show in a neighbour can last into this interval and not show here.
    const auto take = [&](size_t j) {
      const double hidden = intervals[j].ns > longest_ns ? 0 : excursion_hz(intervals[j], own[j], own[j]);
      most = std::max(most, own[j] + std::min(hidden, kPllStepHz));
      if (!intervals[j].stands_at_end && !is_dip(j)) shown += intervals[j].ns;
    };
    for (size_t j = i; j > 0 && shown < needed; --j) take(j - 1);
    shown = 0;
    for (size_t j = i + 1; j < intervals.size() && shown < needed; ++j) take(j);
    largest.push_back(most + excursion_hz(intervals[i], own[i], most));
  }
  return largest;
}

}  // namespace ttc::collect

// How fast a counter can have been between two reads while the frequency moves (CLOCK.md, condition 4). Pure: from
// means of intervals to largest frequencies.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "collector/clock/pll_grid.hpp"

namespace ttc::collect {

// The time between two neighbouring reads of the counter.
struct ReadInterval {
  double low_hz, high_hz;  // limits of its mean frequency
  double ns;               // its length
  bool stands_at_end;      // the counter stood at one of its ends: its mean shows no frequency
};

// The largest frequency within each interval, in Hz. `intervals` are neighbours in order. An end of the span shows
// nothing of what is beyond it: `shown_ns_needed` of intervals must be on either side of the requested ones.
// `crystal`: its rate against the host. An interval longer than `longest_ns` shows its mean and no more.
std::vector<double> largest_frequencies(std::span<const ReadInterval> intervals, PllGrid::Rate crystal,
                                        double longest_ns);
// The length of running intervals that makes the limit of an interval of `ns`, on each of its sides.
double shown_ns_needed(double ns);

}  // namespace ttc::collect

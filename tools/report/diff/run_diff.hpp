// Two runs compared by the signature of their ops: name, shapes, types, memory, fidelity. Launches of one
// signature are samples of a distribution: medians are compared, with a bootstrap interval of their ratio.
#pragma once
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/diff/bootstrap.hpp"
#include "tools/report/ops/steps.hpp"

namespace ttc::report {

struct DiffOptions {
  double alpha = 0.05;  // intervals hold with probability 1 - alpha
  // The bound from the clocks of both runs together, for medians of ops that have no bounds of their own, or hard
  // ones.
  double bound_us = 0;
};

struct DiffRow {
  std::string signature, code;
  Spread a, b;  // kernel times, us
  double total_a = 0, total_b = 0;
  double gaps_a = 0, gaps_b = 0;  // us in front of them
  Number total_bound_a, total_bound_b, gaps_bound_a, gaps_bound_b;
  Number change_percent;                  // of the median, of A; absent where one side has none
  std::optional<Interval> change;         // of it, %; absent with fewer than two samples on a side
  std::optional<Interval> strict;         // the same with alpha divided by the number of ops compared
  Number median_bound_a, median_bound_b;  // us: the true medians lie within so much; absent: not known
  bool within_clock = false;              // the medians differ by no more than the clocks' bound
  bool significant() const { return change && !within_clock && (change->low > 0 || change->high < 0); }
};

// One step from the total of A to that of B.
struct WaterfallPart {
  enum class Kind { device, gap, added, gone } kind;
  size_t row;  // in RunDiff::rows
  double us;
  // `r`: its row. The bounds of both runs hold a difference of that size.
  bool within_bounds(const DiffRow& r) const {
    const Number bound = kind == Kind::device ? sum_of(r.total_bound_a, r.total_bound_b)
                         : kind == Kind::gap  ? sum_of(r.gaps_bound_a, r.gaps_bound_b)
                                              : Number();
    return bound && std::abs(us) <= *bound;
  }
};
const char* to_string(WaterfallPart::Kind kind);

struct RunDiff {
  std::vector<DiffRow> rows;        // by change of the total, largest first; what the clock hides is last
  double total_a = 0, total_b = 0;  // us of kernels
  double gaps_a = 0, gaps_b = 0;
  Number total_bound_a, total_bound_b;  // us: the true sums lie within so much; absent: not known
  Number gaps_bound_a, gaps_bound_b;
  Interval total_change, gaps_change;    // %, of the sums
  std::vector<WaterfallPart> waterfall;  // largest first; their sum is the difference of kernels and gaps
};

std::string signature(const OpRow& op);
RunDiff compare(const OpTable& a, const OpTable& b, const DiffOptions& options = {});

}  // namespace ttc::report

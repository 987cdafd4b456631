// Two runs compared by the signature of their ops: name, shapes, types, memory, fidelity. Launches of one
// signature are samples of a distribution: medians are compared, with a bootstrap interval of their ratio.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/report/diff/bootstrap.hpp"
#include "tools/report/ops/steps.hpp"

namespace ttc::report {

struct DiffOptions {
  double alpha = 0.05;  // intervals hold with probability 1 - alpha
  double bound_us = 0;  // of the clocks of both runs together
};

struct DiffRow {
  std::string signature, code;
  Spread a, b;  // kernel times, us
  double total_a = 0, total_b = 0;
  double gaps_a = 0, gaps_b = 0;   // us in front of them
  Number change_percent;           // of the median, of A; absent where one side has none
  std::optional<Interval> change;  // of it, %; absent with fewer than two samples on a side
  std::optional<Interval> strict;  // the same with alpha divided by the number of ops compared
  bool within_clock = false;       // the medians differ by no more than the clocks' bound
  bool significant() const { return change && !within_clock && (change->low > 0 || change->high < 0); }
};

// One step from the total of A to that of B.
struct WaterfallPart {
  enum class Kind { device, gap, added, gone } kind;
  size_t row;  // in RunDiff::rows
  double us;
};
const char* to_string(WaterfallPart::Kind kind);

struct RunDiff {
  std::vector<DiffRow> rows;        // by change of the total, largest first; what the clock hides is last
  double total_a = 0, total_b = 0;  // us of kernels
  double gaps_a = 0, gaps_b = 0;
  Interval total_change, gaps_change;    // %, of the sums
  std::vector<WaterfallPart> waterfall;  // largest first; their sum is the difference of kernels and gaps
};

std::string signature(const OpRow& op);
RunDiff compare(const OpTable& a, const OpTable& b, const DiffOptions& options = {});

}  // namespace ttc::report

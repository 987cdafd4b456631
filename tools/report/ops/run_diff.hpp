// Two runs compared by the signature of their ops: name, shapes, types, memory, fidelity. What got slower, by
// how much of the whole, and whether the spread of the samples allows to say so (Welch's t-test, two-sided).
#pragma once
#include <string>
#include <vector>

#include "tools/report/ops/steps.hpp"

namespace ttc::report {

struct DiffRow {
  std::string signature, code;
  Spread a, b;  // kernel times, us
  double total_a = 0, total_b = 0;
  Number change_percent;  // of the mean, of A; absent where one side has none
  Number p_value;         // absent with fewer than two samples on a side
  bool significant(double alpha) const { return p_value && *p_value < alpha; }
};

struct RunDiff {
  std::vector<DiffRow> rows;        // by change of the total, largest first
  double total_a = 0, total_b = 0;  // us of kernels
  double gaps_a = 0, gaps_b = 0;
};

std::string signature(const OpRow& op);
RunDiff compare(const OpTable& a, const OpTable& b);
double welch_p(const Spread& a, const Spread& b);  // both with at least two samples

}  // namespace ttc::report

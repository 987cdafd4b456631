// Differences between groups of runs, with intervals. Pure: values in, values out; the same values give the same intervals.
//
// A group holds one value a run; runs are independent. A contrast is a weight a group: its value is the weighted sum of the groups'
// means, which is what both a shift and the slope of a straight line are.
//
// Interval: the outer ends of two. Bootstrap-t: groups are drawn again from their own values, and the quantiles of (drawn contrast -
// contrast) / (standard error of the draw) scale the standard error, so that skewed values widen the interval on their side; where
// a group has fewer than kOwnScatter runs, it draws from the residuals of all groups, whose scatter is then taken to be alike. Welch's t:
// each group of kOwnVariance runs has its own variance, so that a group that scatters more than the others is not taken for one
// of them. Either alone holds the truth too seldom somewhere: bootstrap-t in 82 to 86 of 100 worlds where delayed groups of 3 or 4 runs
// scatter three times as much as the others and in 93 where runs are skewed, t in 93 of even worlds (bench/delay_bench measures it).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttc::delay {

using Groups = std::vector<std::vector<double>>;
using Weights = std::vector<double>;  // by group

inline constexpr size_t kOwnScatter = 5, kOwnVariance = 3;

struct Estimate {
  double value = 0;
  double error = 0;  // standard error
  double freedom =
      0;  // degrees of it (Welch and Satterthwaite); 0: no group has two runs, and nothing is known of the scatter
  double low = 0, high = 0;  // 95 %; both equal `value` where freedom is 0
};

// Every group that has a weight must hold a value.
Estimate estimate(const Groups& groups, const Weights& weights, uint64_t seed = 1);

// The values without the interval: what permutation and detectable effect need.
struct Studentised {
  double value = 0, error = 0, freedom = 0;
};
Studentised studentised(const Groups& groups, const Weights& weights);
// Each group of kOwnVariance runs with its own variance.
Studentised welch(const Groups& groups, const Weights& weights);
// Two-sided, of Welch's t; 0 where nothing scatters.
double welch_p(const Groups& groups, const Weights& weights);

// The weights of group `treated` against group `control`.
Weights shift_weights(size_t groups, size_t control, size_t treated);
// Least squares through the values of all groups at `doses`, of which two must differ.
Weights slope_weights(const std::vector<double>& doses, const Groups& groups);
// The coefficient of the square, of least squares with a square; empty where fewer than three doses differ.
Weights curvature_weights(const std::vector<double>& doses, const Groups& groups);

double mean_of(const std::vector<double>& values);
double median_of(std::vector<double> values);

}  // namespace ttc::delay

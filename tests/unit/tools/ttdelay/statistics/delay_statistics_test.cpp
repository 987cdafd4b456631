// Groups of runs: estimates against worked examples, intervals and p-values against what chance does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tools/ttdelay/statistics/contrast.hpp"
#include "tools/ttdelay/statistics/correction.hpp"
#include "tools/ttdelay/statistics/detectable.hpp"
#include "tools/ttdelay/statistics/permutation.hpp"

namespace {

using namespace ttc::delay;

Groups normal_groups(std::mt19937_64& random, const std::vector<size_t>& sizes,
                     const std::vector<double>& means, double scatter) {
  std::normal_distribution<double> noise(0, scatter);
  Groups groups;
  for (size_t g = 0; g < sizes.size(); ++g) {
    groups.emplace_back();
    for (size_t i = 0; i < sizes[g]; ++i) groups.back().push_back(means[g] + noise(random));
  }
  return groups;
}

TEST(DelayStatistics, a_shift_is_the_difference_of_means_with_welchs_error) {
  const Groups groups{{1, 2, 3, 4, 5}, {11, 13, 15, 17, 19}};
  const Studentised s = studentised(groups, shift_weights(2, 0, 1));
  EXPECT_DOUBLE_EQ(s.value, 12);
  EXPECT_DOUBLE_EQ(s.error, std::sqrt(2.5 / 5 + 10.0 / 5));
  EXPECT_NEAR(s.freedom, 2.5 * 2.5 / (0.5 * 0.5 / 4 + 2.0 * 2.0 / 4), 1e-9);
}

TEST(DelayStatistics, a_slope_is_that_of_least_squares) {
  const std::vector<double> doses{0, 100, 200};
  const Groups groups{{10, 12}, {31, 29, 30}, {50}};
  double runs = 0, x = 0, y = 0;
  for (size_t g = 0; g < 3; ++g)
    for (const double v : groups[g]) ++runs, x += doses[g], y += v;
  double xx = 0, xy = 0;
  for (size_t g = 0; g < 3; ++g)
    for (const double v : groups[g])
      xx += (doses[g] - x / runs) * (doses[g] - x / runs), xy += (doses[g] - x / runs) * (v - y / runs);
  EXPECT_NEAR(studentised(groups, slope_weights(doses, groups)).value, xy / xx, 1e-12);
}

TEST(DelayStatistics, curvature_is_zero_of_a_line_and_the_factor_of_a_square) {
  const std::vector<double> doses{0, 500, 1000, 4000};
  Groups line, square;
  for (const double d : doses)
    line.push_back({7 + 3 * d, 7 + 3 * d}), square.push_back({7 + 3 * d + 0.25 * d * d});
  EXPECT_NEAR(studentised(line, curvature_weights(doses, line)).value, 0, 1e-9);
  EXPECT_NEAR(studentised(square, curvature_weights(doses, square)).value, 0.25, 1e-9);
  EXPECT_TRUE(curvature_weights({0, 10}, {{1, 2}, {3, 4}}).empty());
}

TEST(DelayStatistics, one_run_a_group_says_nothing_of_scatter) {
  const Estimate e = estimate({{1}, {5}}, shift_weights(2, 0, 1));
  EXPECT_DOUBLE_EQ(e.value, 4);
  EXPECT_EQ(e.freedom, 0);
  EXPECT_EQ(e.low, e.high);
  EXPECT_FALSE(detectable({{1}, {5}}, shift_weights(2, 0, 1), 1, 0.05));
}

TEST(DelayStatistics, the_same_values_give_the_same_interval) {
  const Groups groups{{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}};
  const Estimate a = estimate(groups, shift_weights(2, 0, 1)), b = estimate(groups, shift_weights(2, 0, 1));
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LT(a.low, a.value);
  EXPECT_GT(a.high, a.value);
}

// 95 % of 400 worlds are 380; 3.5 standard deviations are 15 either way.
struct Coverage {
  const char* name;
  std::vector<size_t> sizes;
  double skew, more_scatter;
};
class DelayIntervals : public testing::TestWithParam<Coverage> {};

TEST_P(DelayIntervals, hold_the_truth_in_95_of_100_worlds) {
  const Coverage& c = GetParam();
  std::mt19937_64 random(20261123);
  std::lognormal_distribution<double> skewed(0, c.skew);
  const double middle = std::exp(c.skew * c.skew / 2);
  int held = 0;
  for (int world = 0; world < 400; ++world) {
    Groups groups;
    for (size_t g = 0; g < c.sizes.size(); ++g) {
      groups.emplace_back();
      for (size_t i = 0; i < c.sizes[g]; ++i)
        groups[g].push_back(40.0 * static_cast<double>(g) +
                            (skewed(random) - middle) * (g ? c.more_scatter : 1));
    }
    const Estimate e =
        estimate(groups, shift_weights(c.sizes.size(), 0, c.sizes.size() - 1), static_cast<uint64_t>(world));
    held += e.low <= 40.0 * static_cast<double>(c.sizes.size() - 1) &&
            e.high >= 40.0 * static_cast<double>(c.sizes.size() - 1);
  }
  EXPECT_GE(held, 365);
  EXPECT_LE(held, 396);
}
INSTANTIATE_TEST_SUITE_P(Worlds, DelayIntervals,
                         testing::Values(Coverage{"even", {10, 5, 5}, 0.1, 1},
                                         Coverage{"few", {8, 3, 3}, 0.1, 1},
                                         Coverage{"skewed", {10, 6}, 0.4, 1},
                                         Coverage{"more_scatter", {10, 5}, 0.1, 4},
                                         Coverage{"few_of_more_scatter", {10, 4, 4}, 0.1, 4}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(DelayStatistics, p_is_below_a_bound_as_often_as_the_bound_says) {
  std::mt19937_64 random(7);
  int below = 0;
  for (int world = 0; world < 400; ++world) {
    const Groups groups = normal_groups(random, {6, 4, 4}, {0, 0, 0}, 1);
    below +=
        permutation_p(groups, slope_weights({0, 1, 2}, groups), 999, static_cast<uint64_t>(world)) <= 0.05;
  }
  EXPECT_GE(below, 6);  // 20 are expected
  EXPECT_LE(below, 35);
}

TEST(DelayStatistics, p_is_never_below_what_the_groups_can_show) {
  const Groups groups{{1, 1.1, 0.9}, {100, 101, 99}};
  EXPECT_NEAR(least_p(groups), 1.0 / 20, 1e-9);
  EXPECT_GE(permutation_p(groups, shift_weights(2, 0, 1), 9999), 1.0 / 20);
  EXPECT_LE(permutation_p(groups, shift_weights(2, 0, 1), 9999), 0.12);
  EXPECT_FALSE(detectable(groups, shift_weights(2, 0, 1), 2, 0.05));  // half of 0.05 is below 1/20
}

TEST(DelayStatistics, a_group_that_only_scatters_more_is_no_effect) {
  std::mt19937_64 random(11);
  int below = 0;
  for (int world = 0; world < 400; ++world) {
    Groups groups = normal_groups(random, {8, 4, 4}, {0, 0, 0}, 1);
    for (double& v : groups[2]) v *= 3;
    below += welch_p(groups, slope_weights({0, 1, 8}, groups)) <= 0.05;
  }
  EXPECT_GE(below, 6);  // 20 are expected
  EXPECT_LE(below, 35);
  EXPECT_EQ(welch_p({{1, 1, 1}, {2, 2, 2}}, {-1, 1}), 0);
  EXPECT_EQ(welch_p({{1}, {2}}, {-1, 1}), 1);
}

TEST(DelayStatistics, holm_and_benjamini_hochberg_by_hand) {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  const std::vector<double> h = holm(p), d = benjamini_hochberg(p);
  EXPECT_DOUBLE_EQ(h[3], 0.02);
  EXPECT_DOUBLE_EQ(h[0], 0.03);
  EXPECT_DOUBLE_EQ(h[2], 0.06);
  EXPECT_DOUBLE_EQ(h[1], 0.06);
  EXPECT_DOUBLE_EQ(d[3], 0.02);
  EXPECT_DOUBLE_EQ(d[0], 0.02);
  EXPECT_DOUBLE_EQ(d[2], 0.04);
  EXPECT_DOUBLE_EQ(d[1], 0.04);
}

TEST(DelayStatistics, a_detectable_effect_is_found_in_four_of_five_experiments) {
  std::mt19937_64 random(99);
  // What an experiment of this scatter states, on average, is planted as the effect of others.
  double stated = 0;
  for (int world = 0; world < 100; ++world) {
    const Groups groups = normal_groups(random, {8, 5, 5}, {0, 0, 0}, 1);
    stated += *detectable(groups, slope_weights({0, 1, 2}, groups), 10, 0.05) / 100;
  }
  int found = 0;
  for (int world = 0; world < 200; ++world) {
    const Groups groups = normal_groups(random, {8, 5, 5}, {0, stated, 2 * stated}, 1);
    const Weights slope = slope_weights({0, 1, 2}, groups);
    found += std::max(permutation_p(groups, slope, 9999, static_cast<uint64_t>(world)),
                      welch_p(groups, slope)) <= 0.05 / 10;
  }
  EXPECT_GE(found, 140);  // 160 are expected
  EXPECT_LE(found, 184);
}

}  // namespace

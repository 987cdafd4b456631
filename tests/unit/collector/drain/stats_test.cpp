// Percentiles in logarithmic buckets.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collector/drain/sweep_stats.hpp"

namespace ttc::collect {
namespace {

TEST(Stats, nothing_added_is_zero) {
  const DurationStats stats;
  EXPECT_EQ(stats.count(), 0u);
  EXPECT_EQ(stats.max(), 0u);
  for (const double p : {0.0, 50.0, 100.0}) EXPECT_EQ(stats.percentile(p), 0u);
}

TEST(Stats, a_single_value_is_every_percentile_exactly) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{1}, uint64_t{31}, uint64_t{32}, uint64_t{33}, uint64_t{1000},
        uint64_t{123456789}, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}}) {
    DurationStats stats;
    stats.add(value);
    for (const double p : {0.0, 1.0, 50.0, 99.0, 100.0}) EXPECT_EQ(stats.percentile(p), value);
    EXPECT_EQ(stats.max(), value);
    EXPECT_EQ(stats.count(), 1u);
  }
}

TEST(Stats, small_values_are_exact) {
  DurationStats stats;
  for (uint64_t v = 1; v <= 63; ++v) stats.add(v);
  EXPECT_EQ(stats.percentile(50), 32u);
  EXPECT_EQ(stats.percentile(100), 63u);
}

TEST(Stats, every_value_up_to_the_largest_lies_within_one_32nd_below_its_percentile) {
  for (unsigned bit = 0; bit < 64; ++bit)
    for (const uint64_t delta :
         {uint64_t{0}, uint64_t{1}, (uint64_t{1} << bit) / 32, (uint64_t{1} << bit) - 1}) {
      const uint64_t value = (uint64_t{1} << bit) + delta;
      DurationStats stats;
      stats.add(value);
      stats.add(~uint64_t{0});  // so that the maximum does not help
      const uint64_t got = stats.percentile(50);
      EXPECT_GE(got, value);
      EXPECT_LE(got - value, value / 32) << value;
    }
}

TEST(Stats, percentiles_of_random_durations_agree_with_the_sorted_ones) {
  uint64_t seed = 31337;
  RecordProperty("seed", std::to_string(seed));
  std::vector<uint64_t> values;
  DurationStats stats;
  for (int i = 0; i < 20000; ++i) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    const uint64_t value = (seed >> 8) >> seed % 50;
    values.push_back(value);
    stats.add(value);
  }
  std::sort(values.begin(), values.end());
  uint64_t last = 0;
  for (double p = 0; p <= 100; p += 0.5) {
    const auto rank = std::max<size_t>(1, static_cast<size_t>(p / 100 * 20000 + 0.5));
    const uint64_t exact = values[rank - 1];
    const uint64_t got = stats.percentile(p);
    EXPECT_GE(got, exact) << p;
    EXPECT_LE(got - exact, exact / 32) << p;
    EXPECT_GE(got, last);
    last = got;
  }
  EXPECT_EQ(stats.percentile(100), values.back());
  EXPECT_EQ(stats.max(), values.back());
  EXPECT_EQ(stats.count(), 20000u);
}

}  // namespace
}  // namespace ttc::collect

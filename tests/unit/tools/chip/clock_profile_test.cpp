#include "tools/chip/clock_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace ttc::chip;

constexpr uint64_t kNominal = 1'350'000'000, kMs = 1'000'000, kS = 1'000'000'000;

std::vector<ClockChange> changes(const char* profile) {
  return clock_changes(read_clock_profile(profile), kNominal);
}

std::string error_of(const char* profile) {
  try {
    changes(profile);
  } catch (const WorkloadError& e) {
    return e.what();
  }
  return "";
}

TEST(ClockProfile, changes_are_in_order_and_whole_pll_steps_below_the_nominal_rate) {
  for (const char* profile : {"pll:for=20", "droop:for=20,seed=3", "idle:for=20", "all:for=20,seed=9"}) {
    const auto all = changes(profile);
    ASSERT_GT(all.size(), 20u) << profile;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) {
        ASSERT_GT(all[i].after_ns, all[i - 1].after_ns) << profile;
      }
      ASSERT_LE(all[i].hz, kNominal);
      ASSERT_EQ((kNominal - all[i].hz) % kPllStepHz, 0u) << profile << ", change " << i;
    }
    EXPECT_EQ(all.back().hz, kNominal) << "it ends at another rate than it began with";
    EXPECT_GE(all.back().after_ns, 20 * kS);
  }
}

TEST(ClockProfile, each_kind_is_within_its_range) {
  const auto pll = changes("pll:for=20");
  for (size_t i = 1; i + 1 < pll.size(); ++i) {
    const uint64_t apart = pll[i].after_ns - pll[i - 1].after_ns;
    ASSERT_TRUE(apart >= kMs && apart <= 20 * kMs) << apart;
    const auto step = static_cast<int64_t>(pll[i].hz) - static_cast<int64_t>(pll[i - 1].hz);
    ASSERT_EQ(std::abs(step), static_cast<int64_t>(kPllStepHz));
  }
  uint64_t shortest = ~uint64_t{0}, longest = 0;
  const auto idle = changes("idle:for=60");
  for (size_t i = 1; i < idle.size(); ++i) {
    if (idle[i - 1].hz != 0) continue;
    const uint64_t stood = idle[i].after_ns - idle[i - 1].after_ns;
    ASSERT_TRUE(stood >= 1000 && stood <= kS) << stood;
    shortest = std::min(shortest, stood), longest = std::max(longest, stood);
  }
  EXPECT_LT(shortest, kMs / 10);
  EXPECT_GT(longest, 100 * kMs);
  const auto droop = changes("droop:for=60");
  const auto low = std::min_element(droop.begin(), droop.end(), [](auto& a, auto& b) { return a.hz < b.hz; });
  EXPECT_LE(low->hz, kNominal - 12 * kPllStepHz);
  EXPECT_TRUE(std::none_of(droop.begin(), droop.end(), [](auto& c) { return c.hz == 0; }));
}

TEST(ClockProfile, a_seed_gives_the_same_changes_again_and_another_one_others) {
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](auto& x, auto& y) { return x.after_ns == y.after_ns && x.hz == y.hz; });
  };
  EXPECT_TRUE(same(changes("all:for=5"), changes("all:for=5,seed=1")));
  EXPECT_FALSE(same(changes("all:for=5"), changes("all:for=5,seed=2")));
}

TEST(ClockProfile, what_is_wrong_is_said) {
  EXPECT_EQ(error_of("fast"), "--dvfs: 'fast' is none of pll, droop, idle, all; as in all:for=30,seed=2");
  EXPECT_EQ(error_of("pll:for=0"), "--dvfs: for=0 is no whole number from 1 to 3600");
  EXPECT_EQ(error_of("pll:seed=x"), "--dvfs: seed=x is no whole number from 1 to 4294967295");
  EXPECT_EQ(error_of("pll:depth=3"), "--dvfs: 'depth=3' is neither for=SECONDS nor seed=N");
  EXPECT_EQ(error_of("pll:for=3000"), "--dvfs: more than 16000 changes of the clock; give a shorter for=");
  EXPECT_EQ(error_of("pll"), "");
}

}  // namespace

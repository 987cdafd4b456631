#include "collector/clock/geometry/states_row.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace ttc::collect {
namespace {

// A polygon that some reads have cut: of two corners to ten.
CourseStates cut_states(std::mt19937_64& dice) {
  const auto between = [&dice](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(dice);
  };
  CourseStates s({0, between(10, 1000)}, {0.9, between(1.0, 1.2)});
  for (uint64_t cuts = dice() % 4; cuts > 0; --cuts) {
    s.advance(between(1, 100), {0.9, 1.2, -1e-4, 1e-4});
    s.keep_times({between(0, 100), between(200, 2000)});
  }
  return s;
}

void expect_same(const CourseStates& a, const CourseStates& b, uint64_t seed) {
  ASSERT_EQ(a.empty(), b.empty()) << "seed " << seed;
  if (a.empty()) return;
  EXPECT_EQ(a.times().low, b.times().low) << "seed " << seed;
  EXPECT_EQ(a.times().high, b.times().high) << "seed " << seed;
  EXPECT_EQ(a.paces().low, b.paces().low) << "seed " << seed;
  EXPECT_EQ(a.paces().high, b.paces().high) << "seed " << seed;
  // Of each corner: a cut shows them.
  CourseStates left = a, right = b;
  left.keep_next_after(a.times().low + 1), right.keep_next_after(a.times().low + 1);
  ASSERT_EQ(left.empty(), right.empty()) << "seed " << seed;
  if (left.empty()) return;
  EXPECT_EQ(left.times().low, right.times().low) << "seed " << seed;
  EXPECT_EQ(left.paces().high, right.paces().high) << "seed " << seed;
}

TEST(StatesRow, gives_back_what_was_put) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 dice(seed);
    StatesRow row;
    std::vector<CourseStates> put;
    for (int i = 0; i < 50; ++i) {
      if (dice() % 5 == 0) {
        row.push_back_none(2);
        put.resize(put.size() + 2);
      } else {
        put.push_back(cut_states(dice));
        row.push_back(put.back());
      }
    }
    ASSERT_EQ(row.size(), put.size());
    for (size_t i = 0; i < put.size(); ++i) expect_same(row[i], put[i], seed);
    row.clear();
    EXPECT_TRUE(row.empty());
    row.push_back(put.back());
    expect_same(row[0], put.back(), seed);
  }
}

}  // namespace
}  // namespace ttc::collect

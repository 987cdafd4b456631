// The limit on an even change is never below the change that the reads were made under.
#include "collector/clock/geometry/even_slew.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ttc::collect {
namespace {

TEST(EvenSlew, is_never_below_the_slew_that_is_there) {
  std::mt19937_64 random(20261123);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int world = 0; world < 2000; ++world) {
    const size_t reads = 3 + random() % 200;
    const double bend = between(-1, 1) * std::pow(10, between(-18, -9)), offset = between(-1e6, 1e6);
    const double slope = between(0.7, 2);
    std::vector<SlewLimit> limits;
    double x = 0;
    for (size_t i = 0; i < reads; ++i, x += between(1e5, 2e6)) {
      const double y = offset + slope * x + bend * x * x / 2;
      limits.push_back({x, y - between(0, 1000), y + between(0, 1000)});
    }
    const auto most = largest_even_slew(limits);
    ASSERT_TRUE(most.has_value()) << "world " << world;
    EXPECT_GE(*most, std::abs(bend) * (1 - 1e-9)) << "world " << world;
  }
}

TEST(EvenSlew, falls_with_the_length_of_a_straight_stretch) {
  std::mt19937_64 random(1);
  std::vector<SlewLimit> limits;
  double before = kAnySlew;
  for (const size_t reads : {8, 32, 128}) {
    while (limits.size() < reads) {
      const double x = 1e6 * static_cast<double>(limits.size()),
                   low = std::uniform_real_distribution<double>(0, 1000)(random);
      limits.push_back({x, x - low, x + 1000 - low});
    }
    const double most = largest_even_slew(limits).value();
    EXPECT_LT(most, before / 16);
    before = most;
  }
  EXPECT_GT(before, 0);
}

// A pace that goes there and back: the limit of reads that no even change passes would be any number, also 0.
TEST(EvenSlew, has_no_value_where_no_even_change_passes_all_reads) {
  std::vector<SlewLimit> limits;
  for (int i = 0; i <= 40; ++i) {
    const double x = 1e6 * i, bent = i < 20 ? i : 40 - i;
    const double y = x + 100 * bent * (i < 10 || i >= 30 ? 1 : -1);
    limits.push_back({x, y - 10, y + 10});
  }
  EXPECT_FALSE(largest_even_slew(limits).has_value());
  EXPECT_TRUE(largest_even_slew({limits.data(), 10}).has_value());
}

TEST(EvenSlew, two_reads_show_nothing) {
  const std::vector<SlewLimit> limits{{0, 0, 1}, {1e6, 1e6, 1e6 + 1}};
  EXPECT_EQ(largest_even_slew(limits), kAnySlew);
}

}  // namespace
}  // namespace ttc::collect

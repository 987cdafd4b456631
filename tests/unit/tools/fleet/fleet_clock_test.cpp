// One host's clock against the common one: the true difference lies in every interval, and contradictions are seen.
#include <gtest/gtest.h>

#include <random>

#include "tools/fleet/clock/common_clock.hpp"

namespace {

using namespace ttc::fleet;

// Two hosts whose clocks drift apart by `ppm`, with ways of random and unequal lengths between them.
struct FleetHosts {
  std::mt19937_64 dice;
  int64_t offset_ns = 0;
  double ppm = 0;
  uint64_t common(uint64_t raw) const {
    return static_cast<uint64_t>(static_cast<int64_t>(raw) + offset_ns +
                                 static_cast<int64_t>(static_cast<double>(raw) * ppm / 1e6));
  }
  uint64_t way() { return 20'000 + static_cast<uint64_t>(std::exponential_distribution<>(1e-5)(dice)); }
};

TEST(FleetClock, the_true_difference_lies_within_the_bound_in_every_world) {
  std::mt19937_64 seeds(7);
  for (int world = 0; world < 300; ++world) {
    FleetHosts hosts{std::mt19937_64(seeds()),
                     static_cast<int64_t>(seeds() % 2'000'000'000'000) - 1'000'000'000'000,
                     std::uniform_real_distribution<>(-150, 150)(seeds)};
    CommonClock clock;
    uint64_t raw = 5'000'000'000'000;
    for (int i = 0; i < 100; ++i) {
      const uint64_t left = raw, there = left + hosts.way(), away = there + 3'000, came = away + hosts.way();
      const uint64_t received = hosts.common(there), sent = hosts.common(away);
      ASSERT_TRUE(clock.round_trip(left, {9, received, sent, 0, ~uint64_t{0}}, came, {}));
      raw = came + hosts.dice() % 1'000'000'000;
      const ClockOffset at = clock.at(raw);
      const int64_t truth = static_cast<int64_t>(hosts.common(raw)) - static_cast<int64_t>(raw);
      ASSERT_LE(static_cast<uint64_t>(std::abs(at.offset_ns - truth)), at.bound_ns + 1);
      EXPECT_EQ(at.how, ClockSource::round_trips);
    }
    EXPECT_LT(clock.at(raw).bound_ns, 1'000'000u);
  }
}

TEST(FleetClock, disciplined_kernels_narrow_it_unless_they_contradict_round_trips) {
  CommonClock clock;
  const uint64_t raw = 1'000'000'000'000;
  // There and back take 1 ms; the true difference is 5 s.
  const ClockAnswer answer{9, raw + 5'000'500'000, raw + 5'000'500'000, 1'000, 100};
  ASSERT_TRUE(clock.round_trip(raw, answer, raw + 1'000'000, {5'000'001'000, 100}));
  EXPECT_EQ(clock.at(raw + 1'000'000).offset_ns, 5'000'000'000);
  EXPECT_LE(clock.at(raw + 1'000'000).bound_ns, 201u);
  CommonClock other;
  ASSERT_TRUE(other.round_trip(raw, answer, raw + 1'000'000, {9'000'000'000, 100}));
  EXPECT_EQ(other.contradictions(), 1u);
  EXPECT_NEAR(static_cast<double>(other.at(raw + 1'000'000).offset_ns), 5e9, 5e5);
}

TEST(FleetClock, answers_that_cannot_be_are_refused_and_a_new_reference_begins_anew) {
  CommonClock clock;
  EXPECT_FALSE(clock.round_trip(1000, {9, 50, 5000, 0, ~uint64_t{0}}, 1100,
                                {}));  // it held the question for longer than was waited
  EXPECT_FALSE(clock.at(2000).known());
  ASSERT_TRUE(clock.round_trip(1000, {9, 50, 60, 0, ~uint64_t{0}}, 1100, {}));
  ASSERT_TRUE(clock.round_trip(1000, {8, 9'000'050, 9'000'060, 0, ~uint64_t{0}}, 1100, {}));
  EXPECT_EQ(clock.at(1100).reference, 8u);
  EXPECT_NEAR(static_cast<double>(clock.at(1100).offset_ns), 8'999'000, 100);
  clock.is_reference(3);
  EXPECT_EQ(clock.at(5).bound_ns, 0u);
}

TEST(FleetClock, order_is_unknown_where_bounds_overlap) {
  EXPECT_EQ(order_of(100, 10, 121, 10), Sequence::before);
  EXPECT_EQ(order_of(121, 10, 100, 10), Sequence::after);
  EXPECT_EQ(order_of(100, 10, 120, 10), Sequence::unknown);
  EXPECT_EQ(order_of(100, ~uint64_t{0}, 120, 10), Sequence::unknown);
}

}  // namespace

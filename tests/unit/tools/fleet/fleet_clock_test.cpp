// One host's clock against the common one: the true difference lies in every interval, and contradictions are detected.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "tools/fleet/clock/common_clock.hpp"

namespace {

using namespace ttc::fleet;

constexpr uint64_t kNone = ~uint64_t{0};

// Two hosts whose clocks drift apart by `ppm` and up to `wander` more or less, with ways of random and unequal lengths between them.
struct FleetHosts {
  std::mt19937_64 dice;
  int64_t offset_ns = 0;
  double ppm = 0, wander_ppm = 0, period_s = 40;
  uint64_t common(uint64_t raw) const {
    const double s = static_cast<double>(raw) / 1e9, turn = 2 * M_PI / period_s;
    const double moved_us = s * ppm + wander_ppm * std::sin(s * turn) / turn;
    return static_cast<uint64_t>(static_cast<int64_t>(raw) + offset_ns +
                                 static_cast<int64_t>(moved_us * 1e3));
  }
  uint64_t way() { return 20'000 + static_cast<uint64_t>(std::exponential_distribution<>(1e-5)(dice)); }
  bool ask(CommonClock& clock, uint64_t& raw) {
    const uint64_t left = raw, there = left + way(), away = there + 3'000, came = away + way();
    raw = came;
    return clock.round_trip(left, {9, common(there), common(away), 0, 0, kNone}, came, {});
  }
};

TEST(FleetClock, the_true_difference_lies_within_the_bound_in_every_world) {
  std::mt19937_64 seeds(7);
  double bounds_us = 0;
  constexpr int kWorlds = 200;
  for (int world = 0; world < kWorlds; ++world) {
    FleetHosts hosts{
        std::mt19937_64(seeds()), static_cast<int64_t>(seeds() % 2'000'000'000'000) - 1'000'000'000'000,
        std::uniform_real_distribution<>(-180, 180)(seeds), std::uniform_real_distribution<>(0, 9)(seeds),
        std::uniform_real_distribution<>(20, 300)(seeds)};
    CommonClock clock;
    uint64_t raw = 5'000'000'000'000;
    for (int i = 0; i < 90; ++i) {
      ASSERT_TRUE(hosts.ask(clock, raw));
      raw += hosts.dice() % 2'000'000'000;
      if (i % 9) continue;
      // Now, in the minute before, and later.
      for (const uint64_t at :
           {raw, raw - 3'000'000'000, raw - 40'000'000'000, raw + 400'000'000, raw + 90'000'000'000}) {
        const ClockOffset offset = clock.at(at);
        const int64_t truth = static_cast<int64_t>(hosts.common(at)) - static_cast<int64_t>(at);
        ASSERT_LE(static_cast<uint64_t>(std::abs(offset.offset_ns - truth)), offset.bound_ns)
            << world << " " << i << " " << at - raw;
      }
    }
    bounds_us += static_cast<double>(clock.at(raw).bound_ns) / 1e3;
  }
  // A way takes 120 us in the mean and 20 at least.
  EXPECT_LT(bounds_us / kWorlds, 100) << "us in the mean";
}

TEST(FleetClock, disciplined_clocks_narrow_it_unless_they_contradict_round_trips) {
  CommonClock clock;
  const uint64_t raw = 1'000'000'000'000;
  // There and back take 1 ms; the true difference is 5 s.
  const ClockAnswer answer{9, raw + 5'000'500'000, raw + 5'000'500'000, kUtcScale, 1'000, 100};
  ASSERT_TRUE(clock.round_trip(raw, answer, raw + 1'000'000, {kUtcScale, 5'000'001'000, 100}));
  EXPECT_NEAR(static_cast<double>(clock.at(raw + 1'000'000).offset_ns), 5e9, 2);
  EXPECT_LE(clock.at(raw + 1'000'000).bound_ns,
            403u);  // and 200 ns by which 200 ppm move it while the question is under way
  EXPECT_EQ(clock.at(raw + 1'000'000).how, ClockSource::disciplined);
  CommonClock other;
  ASSERT_TRUE(other.round_trip(raw, answer, raw + 1'000'000, {kUtcScale, 9'000'000'000, 100}));
  EXPECT_EQ(other.contradictions(), 1u);
  EXPECT_NEAR(static_cast<double>(other.at(raw + 1'000'000).offset_ns), 5e9, 5e5);
  EXPECT_EQ(other.at(raw + 1'000'000).how, ClockSource::round_trips);
  CommonClock of_another_scale;
  ASSERT_TRUE(of_another_scale.round_trip(raw, answer, raw + 1'000'000, {77, 5'000'001'000, 100}));
  EXPECT_EQ(of_another_scale.at(raw + 1'000'000).how, ClockSource::round_trips);
}

TEST(FleetClock, a_clock_that_jumps_begins_a_new_relation) {
  FleetHosts hosts{std::mt19937_64(3)};
  CommonClock clock;
  uint64_t raw = 1'000'000'000'000;
  for (int i = 0; i < 20; ++i, raw += 1'000'000'000) ASSERT_TRUE(hosts.ask(clock, raw));
  hosts.offset_ns = 700'000'000;  // the host slept
  ASSERT_TRUE(hosts.ask(clock, raw));
  EXPECT_NEAR(static_cast<double>(clock.at(raw).offset_ns), 7e8, 1e6);
}

TEST(FleetClock, what_chrony_prints_is_a_bound) {
  EXPECT_EQ(bound_of_chrony("50484330,PHC0,1,1709727533.139866748,0.000004315,-0.000003372,0.000002759,1.274,"
                            "-0.005,0.161,0.000000100,"
                            "0.000029493,8.0,Normal\n"),
            4315u + 29493 + 50);
  EXPECT_EQ(bound_of_chrony("A29FC87B,162.159.200.123,4,1709727533.1,-0.5,0,0,0,0,0,0.02,0.01,64.2,Normal"),
            520'000'000u);
  for (const char* none :
       {"", "506 Cannot talk to daemon",
        "00000000,,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised",
        "a,b,1,2,x,0,0,0,0,0,0.1,0.1,8,Normal", "a,b,1,2,nan,0,0,0,0,0,0.1,0.1,8,Normal",
        "a,b,1,2,1e300,0,0,0,0,0,0.1,0.1,8,Normal", "a,b,1,2,0,0,0,0,0,0,0.1,0.1,8,Normal,more"})
    EXPECT_FALSE(bound_of_chrony(none)) << none;
}

TEST(FleetClock, what_pmc_prints_is_a_bound_and_a_scale) {
  const std::string both =
      "sending: GET TIME_STATUS_NP\n\t90e2ba.fffe.20c7f8-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP \n"
      "\t\tmaster_offset              -310\n\t\tgmPresent                  true\n\t\tgmIdentity              "
      "   00a069.fffe.0b552d\n"
      "sending: GET CURRENT_DATA_SET\n\t\tstepsRemoved     1\n\t\toffsetFromMaster -142.0\n\t\tmeanPathDelay "
      "   9310.0\n";
  const auto state = state_of_ptp(both);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->bound_ns, 9620u);
  EXPECT_GT(state->grandmaster, kUtcScale);
  std::string is_grandmaster = both;
  is_grandmaster.replace(is_grandmaster.find("true"), 4, "false");
  EXPECT_FALSE(state_of_ptp(is_grandmaster));
  EXPECT_FALSE(state_of_ptp(both.substr(0, both.find("meanPathDelay"))));
  EXPECT_FALSE(state_of_ptp(""));
}

TEST(FleetClock, answers_that_cannot_be_are_refused_and_a_new_reference_begins_anew) {
  CommonClock clock;
  EXPECT_FALSE(clock.round_trip(1000, {9, 50, 5000, 0, 0, kNone}, 1100,
                                {}));  // it held the question for longer than was waited
  EXPECT_FALSE(clock.at(2000).known());
  ASSERT_TRUE(clock.round_trip(1000, {9, 50, 60, 0, 0, kNone}, 1100, {}));
  ASSERT_TRUE(clock.round_trip(1000, {8, 9'000'050, 9'000'060, 0, 0, kNone}, 1100, {}));
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

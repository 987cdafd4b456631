// How fast a counter can have been between two reads.
#include "collector/clock/clock_ceiling.hpp"

#include <gtest/gtest.h>

namespace ttc::test {
namespace {

using collect::largest_frequencies;
using collect::PllGrid;
using collect::ReadInterval;

constexpr PllGrid::Rate kCrystal{1 - 10e-6, 1 + 10e-6};
constexpr double kStep = 6.25e6;
constexpr double kNear = 20e3;  // Hz, of the crystal

// `mhz` known to 0.4 MHz either way, as reads of 1 us a millisecond apart leave it.
ReadInterval interval(double mhz, double ms = 1, bool stands_at_end = false) {
  return {(mhz - 0.4 / ms) * 1e6, (mhz + 0.4 / ms) * 1e6, ms * 1e6, stands_at_end};
}
std::vector<double> largest(std::vector<ReadInterval> intervals) {
  return largest_frequencies(intervals, kCrystal, 5e6);
}

TEST(ClockCeiling, a_mean_on_a_multiple_is_that_multiple_or_as_much_as_the_reads_leave) {
  EXPECT_NEAR(largest({interval(1000)})[0], 1000.4e6, 1);
  EXPECT_NEAR(largest({interval(1000 - 0.39)})[0], 1000e6, kNear);
}

TEST(ClockCeiling, a_mean_between_two_multiples_holds_the_upper_one) {
  EXPECT_NEAR(largest({interval(1001)})[0], 1006.25e6, kNear);
}

TEST(ClockCeiling, a_neighbour_shows_what_an_interval_can_hold) {
  const auto hz = largest({interval(1000), interval(1000), interval(1012.5), interval(1000), interval(1000)});
  EXPECT_LT(hz[0], 1001e6);
  for (const size_t beside : {1, 2, 3}) EXPECT_GE(hz[beside], 1012.5e6);
  EXPECT_LT(hz[4], 1001e6);
}

// Late reads around a stop: the stop takes most of both intervals, what follows runs slower.
TEST(ClockCeiling, an_interval_at_which_the_counter_stood_shows_nothing) {
  const auto hz =
      largest({interval(1000), interval(600, 1, true), interval(850, 3.9, true), interval(993.75)});
  EXPECT_GE(hz[2], 1000e6);
}

TEST(ClockCeiling, a_dip_between_two_intervals_shows_nothing) {
  const auto hz = largest({interval(1000), interval(600), interval(900), interval(993.75)});
  EXPECT_GE(hz[2], 1000e6);
}

TEST(ClockCeiling, half_an_interval_must_be_shown_on_either_side) {
  const auto hz = largest({interval(1012.5), interval(1000), interval(1000, 3), interval(1000)});
  EXPECT_GE(hz[2], 1012.5e6);
  EXPECT_LT(largest({interval(1012.5), interval(1000), interval(1000), interval(1000)})[2], 1001e6);
}

TEST(ClockCeiling, a_long_interval_may_hold_a_step_that_came_back) {
  EXPECT_LT(largest({interval(1000, 2)})[0], 1001e6);  // it would move the mean
  EXPECT_GE(largest({interval(1000, 3.1)})[0], 1000e6 + kStep);
  EXPECT_GE(largest({interval(1000, 5.1)})[0], 1000e6 + 2 * kStep);
}

TEST(ClockCeiling, wide_reads_hide_a_step) {
  const ReadInterval wide{998e6, 1002e6, 2e6, false};
  EXPECT_GE(largest({wide})[0], 1000e6 + kStep);
  const ReadInterval near_wide{998e6, 1002e6, 1e6, false};
  EXPECT_LT(largest({near_wide})[0], 1003e6);  // at most half of a dwell is in it, the rest in a neighbour
}

// A stop or a ramp takes most of the interval: what runs besides leaves no trace in its mean.
TEST(ClockCeiling, a_mean_far_below_the_neighbours_hides_a_step) {
  EXPECT_GE(largest({interval(1000), interval(800), interval(1000)})[1], 1000e6 + kStep);
}

TEST(ClockCeiling, what_hid_in_a_long_interval_may_last_into_the_next) {
  EXPECT_GE(largest({interval(1000, 3.1), interval(1000, 1.2)})[1], 1000e6 + kStep);
  EXPECT_LT(largest({interval(1000, 60), interval(1000, 1.2)})[1], 1001e6);  // of which nothing is derived
}

}  // namespace
}  // namespace ttc::test

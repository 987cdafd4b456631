// What the card's clock showed at a host time, from a few readings of it.
#include "collector/continuity/device_clock.hpp"

#include <gtest/gtest.h>

#include "firmware_markers/frame.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kMhz = 1000;

TEST(DeviceClock, between_two_readings_it_is_interpolated) {
  DeviceClock clock({1000, 5000}, kMhz);
  clock.add({2000, 7000});
  EXPECT_EQ(clock.at(1000), 5000u);
  EXPECT_EQ(clock.at(1500), 6000u);
  EXPECT_EQ(clock.at(2000), 7000u);
}

TEST(DeviceClock, before_the_first_reading_it_is_that_one) {
  EXPECT_EQ(DeviceClock({1000, 5000}, kMhz).at(10), 5000u);
}

TEST(DeviceClock, behind_the_last_reading_it_goes_on_at_the_rate_of_the_last_two) {
  DeviceClock clock({1000, 5000}, kMhz);
  EXPECT_EQ(clock.at(9000), 5000u);  // no rate is known
  clock.add({2000, 5500});
  EXPECT_EQ(clock.at(4000), 6500u);
}

TEST(DeviceClock, it_has_44_bits) {
  DeviceClock clock({1000, markers::kClockMask - 1}, kMhz);
  clock.add({2000, markers::kClockMask + 1001});
  EXPECT_EQ(clock.at(2000), 1000u);
}

// Twice the rate that the card reports, and a second, for tiles that left reset later.
TEST(DeviceClock, no_marker_is_later_than_its_ceiling) {
  const DeviceClock clock({1000, 5000}, kMhz);
  EXPECT_EQ(clock.ceiling(1000), 5000u + 1'000'000'000);
  EXPECT_EQ(clock.ceiling(3000), 5000u + 2 * 2000 + 1'000'000'000);
  EXPECT_EQ(clock.ceiling(10), clock.ceiling(1000));
}

TEST(DeviceClock, old_readings_go) {
  DeviceClock clock({0, 0}, kMhz);
  for (uint64_t i = 1; i <= DeviceClock::kKept; ++i) clock.add({i, 10 * i});
  EXPECT_EQ(clock.at(0), 10u);
  EXPECT_EQ(clock.newest_ns(), DeviceClock::kKept);
}

}  // namespace
}  // namespace ttc::collect

// Stamps against CLOCK_MONOTONIC_RAW itself: a stamp's limits hold what RAW showed just before and just
// after.
#include "collector/sampling/host_ticks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

TEST(HostTicks, limits_hold_raw) {
  HostTicks host;
  double narrowest = 1e18;
  for (int i = 0; i < 2000; ++i) {
    if (i % 50 == 0) host.anchor();
    const uint64_t before = raw_now_ns(), stamp = host.now(), after = raw_now_ns();
    const HostTicks::Limits l = host.limits(stamp);
    EXPECT_GE(l.latest, before * kHostTicksPerNs);
    EXPECT_LE(l.earliest, (after + 1) * kHostTicksPerNs);
    narrowest = std::min(narrowest, static_cast<double>(l.latest - l.earliest) / kHostTicksPerNs);
  }
  EXPECT_LT(narrowest, 100'000);
}

TEST(HostTime, before_reaches_back_to_the_boot_and_not_behind_it) {
  EXPECT_EQ(before(100, 30), 70u);
  EXPECT_EQ(before(100, 100), 0u);
  EXPECT_EQ(before(100, 101), 0u);
  EXPECT_EQ(before(100, ~uint64_t{0}), 0u);
}

TEST(HostTicks, clocks_are_compared_with_an_error_that_holds) {
  const HostTicks::Clocks c = HostTicks::compare();
  const uint64_t raw = raw_now_ns(), real = host_clock_ns(CLOCK_REALTIME);
  // Both moved on together since; NTP may bend REALTIME by 500 ppm.
  const auto moved = static_cast<int64_t>(real - raw) - c.realtime_minus_raw_ns;
  EXPECT_LE(std::abs(moved), static_cast<int64_t>(c.error_ns + (raw - c.raw_ns) / 1000 + 1'000'000'000));
  EXPECT_LE(c.raw_ns, raw);
}

}  // namespace
}  // namespace ttc::collect

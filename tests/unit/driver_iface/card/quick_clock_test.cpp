// Nanoseconds from a counter of ticks: near CLOCK_MONOTONIC_RAW, never back, whatever the counter does.
#include "driver_iface/card/quick_clock.hpp"

#include <gtest/gtest.h>

#include <random>

namespace ttc::card {
namespace {

constexpr uint64_t kTickMs = 1'000'000, kStartNs = 5'000 * kTickMs;
uint64_t true_ns, ticks_now;

TickSource scripted_ticks() {
  return {true, [] { return ticks_now; }, [] { return true_ns; }};
}

// A counter of `mhz` from an arbitrary start.
struct World {
  explicit World(uint64_t rate) : mhz(rate) {
    true_ns = kStartNs;
    ticks_now = uint64_t{1} << 40;
  }
  void pass(uint64_t ns) const {
    true_ns += ns;
    ticks_now += ns * mhz / 1000;
  }
  uint64_t mhz;
};

TEST(QuickClock, is_within_a_thousandth_at_every_rate_of_the_counter) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const uint64_t mhz : {500, 1000, 2445, 3700, 10000}) {
    World world(mhz);
    QuickClock clock(scripted_ticks());
    uint64_t before = clock(), before_ns = true_ns;
    for (int i = 0; i < 5000; ++i) {
      world.pass(random() % (i % 100 == 0 ? 3'000 * kTickMs : kTickMs));
      const uint64_t now = clock();
      ASSERT_GE(now, before);
      const auto passed = static_cast<double>(true_ns - before_ns);
      // The last reading may have been up to a tick and its own rounding early.
      ASSERT_NEAR(static_cast<double>(now - before), passed, passed / 1000 + 8)
          << mhz << " MHz, reading " << i;
      before = now, before_ns = true_ns;
    }
  }
}

TEST(QuickClock, reads_raw_where_the_counter_cannot_be_used) {
  World world(1000);
  TickSource source = scripted_ticks();
  source.usable = false;
  QuickClock clock(source);
  world.pass(123'456'789);
  EXPECT_EQ(clock(), true_ns);
}

// A suspended host: the counter begins again, or stands while RAW does not.
TEST(QuickClock, a_counter_that_was_set_or_stood_is_measured_again) {
  for (const bool set : {true, false}) {
    World world(2000);
    QuickClock clock(scripted_ticks());
    for (int i = 0; i < 20; ++i) world.pass(kTickMs), clock();
    if (set) ticks_now = 17;
    if (!set) true_ns += 100'000 * kTickMs;
    const uint64_t at = clock();
    EXPECT_GE(at, kStartNs + 20 * kTickMs * 999 / 1000);
    for (int i = 0; i < 3000; ++i) world.pass(kTickMs), clock();  // until it is measured again
    const uint64_t before = clock(), before_ns = true_ns;
    world.pass(50 * kTickMs);
    EXPECT_NEAR(static_cast<double>(clock() - before), static_cast<double>(true_ns - before_ns), 50'000);
  }
}

TEST(QuickClock, of_this_host_is_near_raw_and_never_goes_back) {
  const TickSource host = host_ticks();
  QuickClock clock;
  const uint64_t begun_raw = host.raw_ns(), begun = clock();
  uint64_t last = begun;
  while (host.raw_ns() - begun_raw < 40 * kTickMs) {
    const uint64_t before_raw = host.raw_ns(), now = clock(), after_raw = host.raw_ns();
    ASSERT_GE(now, last);
    last = now;
    ASSERT_GE(now + 60'000, before_raw);
    ASSERT_LE(now, after_raw + 60'000);
  }
}

}  // namespace
}  // namespace ttc::card

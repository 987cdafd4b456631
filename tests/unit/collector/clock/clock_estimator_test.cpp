// What the estimator does in single, chosen situations; clock_worlds_test draws them at random.
#include "collector/clock/clock_estimator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/clock_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::collect {
namespace {

using test::CounterTruth;
using test::Link;
using test::LinkOptions;

constexpr HostTime kSecond = 16'000'000'000;
constexpr HostTime kStart = 100 * kSecond;
constexpr HostTime kPeriod = 16'000'000;  // a millisecond

LinkOptions one_read() {
  LinkOptions o;
  o.reads = 1;
  return o;
}

// A counter, its samples one by one, and what came out so far.
struct Scene {
  explicit Scene(uint64_t cycles = 5'000'000'000, uint64_t seed = 1)
      : truth(kStart, cycles), link(one_read(), seed) {
    truth.change(kStart, 1e9);
  }
  void sample_until(HostTime end) {
    for (; at < end; at += kPeriod) sample_at(at);
  }
  void sample_at(HostTime when) {
    link.sample(truth, when, burst);
    estimator.add(burst);
    take();
  }
  void take() {
    for (const ClockSegment& s : estimator.take_final()) segments.push_back(s);
  }
  void finish() {
    estimator.finish();
    take();
  }
  // The segment that holds what the counter showed at `when`.
  ClockSegment at_time(HostTime when) const {
    for (const ClockSegment& s : segments)
      if (s.from_cycles <= truth.cycles(when) && truth.cycles(when) < s.to_cycles &&
          s.host_from <= when + kSecond && when <= s.host_to + kSecond)
        return s;
    return {};
  }

  CounterTruth truth;
  Link link;
  ClockEstimator estimator{ClockRules{}};
  std::vector<ClockRead> burst;
  std::vector<ClockSegment> segments;
  HostTime at = kStart;
};

// The truth at `when` is within the model's bound.
void expect_bounded(const Scene& s, HostTime when) {
  ClockMap map;
  map.update({}, s.segments);
  const auto c = map.at(s.truth.cycles(when) & ((uint64_t{1} << 44) - 1), when);
  const auto off = static_cast<uint64_t>(std::abs(static_cast<int64_t>(c.host - when)));
  EXPECT_NE(c.quality.kind, BoundKind::none);
  EXPECT_LE(off, c.quality.bound) << to_string(c.quality.kind) << " at " << when - kStart;
  EXPECT_LE(off, c.quality.hard_bound) << when - kStart;
}

TEST(ClockEstimator, segments_join_but_for_what_their_bounds_leave_open) {
  Scene s;
  s.truth.change(kStart + 300 * kPeriod, 0.5e9);
  s.sample_until(kStart + 600 * kPeriod);
  s.finish();
  ASSERT_GT(s.segments.size(), 30u);
  for (size_t i = 1; i < s.segments.size(); ++i) {
    EXPECT_EQ(s.segments[i].from_cycles, s.segments[i - 1].to_cycles);
    ASSERT_GE(s.segments[i].host_from, s.segments[i - 1].host_to);
    EXPECT_LE(s.segments[i].host_from - s.segments[i - 1].host_to,
              s.segments[i].bound + s.segments[i - 1].bound);
    EXPECT_TRUE(s.segments[i].flags & kFinalSegment);
  }
}

TEST(ClockEstimator, a_step_between_two_steady_runs_is_a_single_change) {
  for (const double hz : {0.5e9, 1.35e9, 1.00625e9, 0.99375e9}) {
    Scene s;
    const HostTime step = kStart + 200 * kPeriod + kPeriod * 4 / 10;
    s.truth.change(step, hz);
    s.sample_until(kStart + 400 * kPeriod);
    s.finish();
    ASSERT_EQ(s.estimator.steps().size(), 1u) << hz;
    const auto found = s.estimator.steps().front();
    EXPECT_LE(found.after, step);
    EXPECT_GE(found.before, step);
    EXPECT_NEAR(found.hz_before, 1e9, 20e3);
    EXPECT_NEAR(found.hz_after, hz, hz * 50e-6);
    EXPECT_EQ(s.estimator.stats().violations, 0u);
    // Far from it, and beside it, where a ramp may have begun before the step; within the millisecond it is where a
    // ramp could as well have been.
    EXPECT_LT(s.at_time(step - 80 * kPeriod).bound, 100u * kHostTicksPerNs);
    EXPECT_LT(s.at_time(step - 40 * kPeriod).bound, 200u * kHostTicksPerNs);
    EXPECT_LT(s.at_time(step + 3 * kPeriod).bound, 3000u * kHostTicksPerNs) << hz;
    EXPECT_LT(s.at_time(step).bound, (hz < 0.9e9 || hz > 1.1e9 ? 200'000u : 3000u) * kHostTicksPerNs) << hz;
    for (HostTime t = step - 5 * kPeriod; t < step + 5 * kPeriod; t += kPeriod / 7) expect_bounded(s, t);
  }
}

TEST(ClockEstimator, a_frequency_that_stays_too_short_is_a_movement_with_a_bound) {
  Scene s;
  const HostTime first = kStart + 200 * kPeriod + kPeriod / 3, second = first + 5 * kPeriod / 2;
  s.truth.change(first, 0.5e9);
  s.truth.change(second, 1e9);
  s.sample_until(kStart + 400 * kPeriod);
  s.finish();
  EXPECT_EQ(s.estimator.stats().steps, 0u);
  EXPECT_GE(s.estimator.stats().violations, 1u);
  for (HostTime t = first - 10 * kPeriod; t < second + 10 * kPeriod; t += kPeriod / 7) {
    EXPECT_EQ(s.at_time(t).kind, BoundKind::conditional);
    expect_bounded(s, t);
  }
}

TEST(ClockEstimator, a_dip_between_two_reads_widens_bounds_backwards) {
  Scene s;
  const HostTime dip = kStart + 200 * kPeriod + kPeriod / 3;
  s.truth.change(dip, 0.5e9);
  s.truth.change(dip + kPeriod / 4, 1e9);  // a quarter of a millisecond: 125 us are lost
  s.sample_until(dip);
  const auto as_it_seemed = s.estimator.provisional();
  s.sample_until(kStart + 400 * kPeriod);
  s.finish();
  EXPECT_GE(s.estimator.stats().violations, 1u);
  EXPECT_EQ(s.estimator.stats().steps, 0u);
  EXPECT_GT(s.at_time(dip).bound, 50'000u * kHostTicksPerNs);
  for (HostTime t = dip - 5 * kPeriod; t < dip + 5 * kPeriod; t += kPeriod / 9) expect_bounded(s, t);
}

TEST(ClockEstimator, a_ramp_has_bounds_of_what_it_can_lose_in_a_period) {
  Scene s;
  const HostTime ramp = kStart + 200 * kPeriod;
  s.truth.change(ramp, 1e9, -0.4e9 / 0.1);  // 4 MHz a millisecond
  s.truth.change(ramp + 100 * kPeriod, 0.6e9);
  s.sample_until(kStart + 500 * kPeriod);
  s.finish();
  for (HostTime t = ramp - 10 * kPeriod; t < ramp + 110 * kPeriod; t += kPeriod / 3) {
    EXPECT_EQ(s.at_time(t).kind, BoundKind::conditional);
    EXPECT_LT(s.at_time(t).bound, 30'000u * kHostTicksPerNs);
    expect_bounded(s, t);
  }
}

TEST(ClockEstimator, counter_that_stands) {
  Scene s;
  const HostTime stop = kStart + 200 * kPeriod + kPeriod / 3, go = stop + 300 * kPeriod;
  s.truth.change(stop, 0);
  s.truth.change(go, 1e9);
  s.sample_until(kStart + 800 * kPeriod);
  s.finish();
  EXPECT_EQ(s.estimator.stats().stops, 1u);
  EXPECT_EQ(s.estimator.stats().eras, 0u);
  for (const HostTime t :
       {stop - kPeriod / 8, stop - 1000, go + 1000, go + kPeriod / 8, go + 100 * kPeriod}) {
    expect_bounded(s, t);
    // The whole stop is at one number: others are not blurred by it.
    EXPECT_LT(s.at_time(t).bound, kPeriod) << static_cast<int64_t>(t - stop);
  }
}

TEST(ClockEstimator, a_reset_begins_an_era) {
  Scene s;
  s.truth.reset(kStart + 400 * kPeriod, 1000);
  s.sample_until(kStart + 800 * kPeriod);
  s.finish();
  EXPECT_EQ(s.estimator.era(), 1u);
  EXPECT_EQ(s.estimator.stats().eras, 1u);
  ClockMap map;
  map.update({}, s.segments);
  const HostTime before = kStart + 200 * kPeriod, after = kStart + 700 * kPeriod;
  EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(map.at(s.truth.cycles(before), before).host - before)),
              0, 16000);
  EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(map.at(s.truth.cycles(after), after).host - after)), 0,
              16000);
}

TEST(ClockEstimator, a_clock_that_outruns_the_chip_is_a_sleeping_host) {
  Scene s;
  s.sample_until(kStart + 300 * kPeriod);
  s.truth.reset(s.at - kPeriod / 2,
                s.truth.cycles(s.at) + 3'000'000'000'000);  // nearly an hour passed unseen
  s.sample_until(kStart + 600 * kPeriod);
  s.finish();
  EXPECT_EQ(s.estimator.stats().eras, 1u);
  EXPECT_EQ(s.estimator.stats().violations, 0u);
}

TEST(ClockEstimator, a_gap_is_hard_and_nothing_is_believed_across_it) {
  Scene s;
  s.sample_until(kStart + 300 * kPeriod);
  const HostTime gap = s.at;
  s.at += 300 * kPeriod;
  s.sample_until(kStart + 900 * kPeriod);
  s.finish();
  EXPECT_EQ(s.at_time(gap + 100 * kPeriod).kind, BoundKind::hard);
  EXPECT_EQ(s.at_time(gap - 50 * kPeriod).kind, BoundKind::conditional);
  EXPECT_EQ(s.at_time(gap + 350 * kPeriod).kind, BoundKind::conditional);
}

TEST(ClockEstimator, a_wide_read_is_counted_and_breaks_nothing) {
  Scene s;
  s.sample_until(kStart + 100 * kPeriod);
  const uint64_t wide = s.estimator.stats().wide;
  const ClockRead read{s.at, s.at + 16 * 500'000, s.truth.cycles(s.at + 16 * 490'000)};
  s.estimator.add({&read, 1});
  EXPECT_EQ(s.estimator.stats().wide, wide + 1);
  s.at += kPeriod;
  s.sample_until(kStart + 300 * kPeriod);
  s.finish();
  EXPECT_EQ(s.estimator.stats().violations + s.estimator.stats().steps, 0u);
}

// Several multiples of the PLL's step agree on the crystal; then a short run's bound is that of its offset alone.
TEST(ClockEstimator, the_grid_narrows_short_runs_once_it_was_seen) {
  const auto median = [](double step_hz) {
    Scene s;
    double hz = 1e9;
    std::vector<uint64_t> bounds;
    for (int i = 0; i < 20; ++i) {
      hz += i % 2 ? step_hz : -step_hz;
      s.truth.change(kStart + (30 * i + 15) * kPeriod, hz * 1.00005);
    }
    s.sample_until(kStart + 620 * kPeriod);
    s.finish();
    for (HostTime t = kStart + 300 * kPeriod; t < kStart + 500 * kPeriod; t += kPeriod / 3) {
      expect_bounded(s, t);
      bounds.push_back(s.at_time(t).bound);
    }
    std::sort(bounds.begin(), bounds.end());
    return bounds[bounds.size() / 4];
  };
  EXPECT_LT(median(6.25e6) * 5 / 4, median(5.5e6));
}

TEST(ClockEstimator, what_was_seen_is_an_upper_limit) {
  // Reads with a constant skew: the truth is always at their end. Markers read early narrow the family from
  // above.
  const auto bound = [](bool with_markers) {
    ClockEstimator estimator{ClockRules{}};
    LinkOptions o;
    o.round_trip_ns = 3000;
    o.asymmetry = 0;
    o.constant_skew = -0.4;
    Link link(o, 5);
    CounterTruth truth(kStart, 1000);
    truth.change(kStart, 1e9);
    std::vector<ClockRead> burst;
    std::vector<ClockSegment> segments;
    for (HostTime t = kStart; t < kStart + 1500 * kPeriod; t += kPeriod) {
      link.sample(truth, t, burst);
      estimator.add(burst);
      if (with_markers) estimator.seen(truth.cycles(t + kPeriod / 2), t + kPeriod / 2 + 16 * 100);
      for (const auto& s : estimator.take_final()) segments.push_back(s);
    }
    return segments.back().bound;
  };
  EXPECT_LT(bound(true), bound(false) * 3 / 4);
}

TEST(ClockEstimator, provisional_segments_follow_the_final_ones) {
  Scene s;
  s.sample_until(kStart + 1500 * kPeriod);
  const auto later = s.estimator.provisional();
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later.front().from_cycles, s.segments.back().to_cycles);
  EXPECT_EQ(later.front().host_from, s.segments.back().host_to);
  for (const auto& p : later) EXPECT_FALSE(p.flags & kFinalSegment);
  // What the last reads show of the frequency is not yet relied on.
  EXPECT_GT(later.back().bound, 4 * later.front().bound);
}

TEST(ClockEstimator, a_week_at_one_sample_a_minute_keeps_up_with_the_counter) {
  // Long segments and large numbers: what matters is the arithmetic, so the truth is a straight line.
  ClockMap map;
  const uint64_t week_s = 7 * 24 * 3600;
  const HostTime start = kStart;
  const auto host = [&](uint64_t cycles) {  // 1.35 GHz, 37 ppm off, exactly
    return start +
           static_cast<HostTime>(static_cast<unsigned __int128>(cycles) * 16'000'000'000 / 1'350'049'950);
  };
  std::vector<ClockSegment> segments;
  for (uint64_t s = 0; s < week_s; s += 60)
    segments.push_back(clock_segment_between(s * 1'350'049'950, host(s * 1'350'049'950),
                                             (s + 60) * 1'350'049'950, host((s + 60) * 1'350'049'950)));
  map.update({}, segments);
  uint64_t worst = 0;
  for (uint64_t cycles = 12345; cycles < week_s * 1'350'049'950; cycles += 987'654'321'987) {
    const auto c = map.at(cycles & ((uint64_t{1} << 44) - 1), host(cycles));
    worst = std::max(worst, static_cast<uint64_t>(std::abs(static_cast<int64_t>(c.host - host(cycles)))));
  }
  EXPECT_LE(worst, 2u);  // sixteenths of a nanosecond, after 8e14 cycles
}

// Later reads limit better and better what may have begun, but readers wait.
TEST(ClockEstimator, a_steady_stretch_is_final_within_one_and_a_half_seconds) {
  HostTime longest = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Scene s(5'000'000'000, seed);
    s.sample_until(kStart + 2 * kSecond);
    while (s.at < kStart + 6 * kSecond) {
      s.sample_until(s.at + kPeriod);
      ASSERT_FALSE(s.segments.empty());
      longest = std::max(longest, s.at - s.segments.back().host_to);
    }
  }
  EXPECT_LE(longest, kSecond * 3 / 2);
  EXPECT_GE(longest, kSecond * 8 / 10);
}

// A steady stretch that has ended is not limited better by what follows.
TEST(ClockEstimator, what_is_before_a_step_does_not_wait_as_long_as_a_steady_stretch) {
  Scene s;
  const HostTime step = kStart + 3 * kSecond;
  s.truth.change(step, 1.1e9);
  s.sample_until(step + kSecond * 8 / 10);
  ASSERT_FALSE(s.segments.empty());
  EXPECT_GE(s.segments.back().host_to, step);
}

}  // namespace
}  // namespace ttc::collect

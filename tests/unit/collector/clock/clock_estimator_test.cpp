// What the estimator does in single, chosen situations; clock_worlds_test draws them at random.
#include "collector/clock/clock_estimator.hpp"

#include <gtest/gtest.h>

#include "tests/support/clock_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::collect {
namespace {

using test::CounterTruth;
using test::Link;
using test::LinkOptions;

constexpr HostTime kSecond = 16'000'000'000;
constexpr HostTime kStart = 100 * kSecond;
constexpr HostTime kPeriod = 1'000'000'000;  // 62.5 ms

// A counter, its samples one by one, and what came out so far.
struct Scene {
  explicit Scene(uint64_t cycles = 5'000'000'000, uint64_t seed = 1)
      : truth(kStart, cycles), link(LinkOptions{}, seed) {
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

TEST(ClockEstimator, segments_join_without_gap) {
  Scene s;
  s.truth.change(kStart + 3 * kSecond, 0.5e9);
  s.sample_until(kStart + 6 * kSecond);
  s.finish();
  ASSERT_GT(s.segments.size(), 90u);
  for (size_t i = 1; i < s.segments.size(); ++i) {
    EXPECT_EQ(s.segments[i].from_cycles, s.segments[i - 1].to_cycles);
    EXPECT_EQ(s.segments[i].host_from, s.segments[i - 1].host_to);
    EXPECT_TRUE(s.segments[i].flags & kFinalSegment);
  }
}

TEST(ClockEstimator, a_step_is_found_within_two_periods_and_split_there) {
  for (const double hz : {0.5e9, 1.35e9, 1.00625e9, 0.99375e9}) {
    Scene s;
    const HostTime step = kStart + 3 * kSecond + kPeriod * 4 / 10;
    s.truth.change(step, hz);
    s.sample_until(kStart + 3 * kSecond + kPeriod);
    ASSERT_EQ(s.estimator.steps().size(), 0u);
    // Two periods behind the first sample after it, it is known; provisional segments say so from here on.
    s.sample_until(kStart + 3 * kSecond + 4 * kPeriod);
    ASSERT_EQ(s.estimator.steps().size(), 1u) << hz;
    const auto found = s.estimator.steps().front();
    EXPECT_LE(found.after, step);
    EXPECT_GE(found.before, step);
    EXPECT_NEAR(found.hz_before, 1e9, 20e3);
    EXPECT_NEAR(found.hz_after, hz, hz * 50e-6);
    s.sample_until(kStart + 6 * kSecond);
    s.finish();
    // Split where it was: a bound far below what the period in which it happened would allow.
    const ClockSegment before = s.at_time(step - kPeriod / 10), behind = s.at_time(step + kPeriod / 10);
    EXPECT_EQ(before.kind, BoundKind::conditional);
    EXPECT_EQ(behind.kind, BoundKind::conditional);
    EXPECT_LT(before.bound, 3000u * kHostTicksPerNs) << hz;
    EXPECT_GT(before.hard_bound, 5'000'000u * kHostTicksPerNs);
    EXPECT_EQ(s.estimator.stats().violations, 0u);
  }
}

TEST(ClockEstimator, violation_turns_bounds_hard_backwards) {
  Scene s;
  // Two changes within a dwell of four periods: each alone would have been fine.
  const HostTime first = kStart + 3 * kSecond + kPeriod / 3, second = first + 5 * kPeriod / 2;
  s.truth.change(first, 0.5e9);
  s.truth.change(second, 1e9);
  s.sample_until(kStart + 3 * kSecond + 2 * kPeriod);
  s.sample_until(kStart + 8 * kSecond);
  s.finish();
  EXPECT_GE(s.estimator.stats().violations, 1u);
  for (HostTime t = first; t < second; t += kPeriod / 7) {
    EXPECT_EQ(s.at_time(t).kind, BoundKind::hard) << (t - first);
    EXPECT_EQ(s.at_time(t).bound, s.at_time(t).hard_bound);
  }
  EXPECT_EQ(s.at_time(first - 8 * kPeriod).kind, BoundKind::conditional);
  EXPECT_EQ(s.at_time(second + 8 * kPeriod).kind, BoundKind::conditional);
}

TEST(ClockEstimator, a_blip_between_two_samples_is_a_violation) {
  Scene s;
  const HostTime blip = kStart + 3 * kSecond + kPeriod / 3;
  s.truth.change(blip, 0.5e9);
  s.truth.change(blip + kPeriod / 20, 1e9);  // 3 ms
  s.sample_until(kStart + 8 * kSecond);
  s.finish();
  EXPECT_GE(s.estimator.stats().violations, 1u);
  EXPECT_EQ(s.estimator.stats().steps, 0u);
  EXPECT_EQ(s.at_time(blip + kPeriod / 40).kind, BoundKind::hard);
}

TEST(ClockEstimator, counter_that_stands) {
  Scene s;
  const HostTime stop = kStart + 3 * kSecond + kPeriod / 3, go = stop + 2 * kSecond;
  s.truth.change(stop, 0);
  s.truth.change(go, 1e9);
  s.sample_until(kStart + 9 * kSecond);
  s.finish();
  EXPECT_EQ(s.estimator.stats().stops, 1u);
  EXPECT_EQ(s.estimator.stats().eras, 0u);
  ClockMap map;
  map.update({}, s.segments);
  for (const HostTime t : {stop - kPeriod / 8, stop - 1000, go + 1000, go + kPeriod / 8, go + kSecond}) {
    const auto c = map.at(s.truth.cycles(t), t);
    const auto off = static_cast<uint64_t>(std::abs(static_cast<int64_t>(c.host - t)));
    EXPECT_LE(off, c.quality.hard_bound) << static_cast<int64_t>(t - stop);
    // The whole stop is at one number: others are not blurred by it.
    EXPECT_LT(c.quality.hard_bound, kSecond / 8) << static_cast<int64_t>(t - stop);
  }
}

TEST(ClockEstimator, a_reset_begins_an_era) {
  Scene s;
  s.truth.reset(kStart + 4 * kSecond, 1000);
  s.sample_until(kStart + 8 * kSecond);
  s.finish();
  EXPECT_EQ(s.estimator.era(), 1u);
  EXPECT_EQ(s.estimator.stats().eras, 1u);
  ClockMap map;
  map.update({}, s.segments);
  const HostTime before = kStart + 2 * kSecond, after = kStart + 7 * kSecond;
  EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(map.at(s.truth.cycles(before), before).host - before)),
              0, 16000);
  EXPECT_NEAR(static_cast<double>(static_cast<int64_t>(map.at(s.truth.cycles(after), after).host - after)), 0,
              16000);
}

TEST(ClockEstimator, a_clock_that_outruns_the_chip_is_a_sleeping_host) {
  Scene s;
  s.sample_until(kStart + 3 * kSecond);
  s.truth.reset(s.at - kPeriod / 2,
                s.truth.cycles(s.at) + 3'000'000'000'000);  // nearly an hour passed unseen
  s.sample_until(kStart + 6 * kSecond);
  s.finish();
  EXPECT_EQ(s.estimator.stats().eras, 1u);
  EXPECT_EQ(s.estimator.stats().violations, 0u);
}

TEST(ClockEstimator, a_gap_is_hard_and_nothing_is_believed_across_it) {
  Scene s;
  s.sample_until(kStart + 3 * kSecond);
  const HostTime gap = s.at;
  s.at += 3 * kSecond;
  s.sample_until(kStart + 9 * kSecond);
  s.finish();
  EXPECT_EQ(s.at_time(gap + kSecond).kind, BoundKind::hard);
  EXPECT_EQ(s.at_time(gap - 10 * kPeriod).kind, BoundKind::conditional);
}

TEST(ClockEstimator, a_sample_without_a_tight_read_is_left_out) {
  Scene s;
  s.sample_until(kStart + 3 * kSecond);
  const ClockRead wide{s.at, s.at + 16 * 5'000'000, s.truth.cycles(s.at + 16 * 4'900'000)};
  s.estimator.add({&wide, 1});
  EXPECT_EQ(s.estimator.stats().wide, 1u);
  s.at += kPeriod;
  s.sample_until(kStart + 6 * kSecond);
  s.finish();
  EXPECT_EQ(s.estimator.stats().violations + s.estimator.stats().steps, 0u);
}

TEST(ClockEstimator, what_was_seen_is_an_upper_limit) {
  // Reads with a constant skew: the truth is always at their end. Markers seen early narrow the family from
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
    for (HostTime t = kStart; t < kStart + 5 * kSecond; t += kPeriod) {
      link.sample(truth, t, burst);
      estimator.add(burst);
      if (with_markers) estimator.seen(truth.cycles(t + kPeriod / 2), t + kPeriod / 2 + 16 * 100);
      for (const auto& s : estimator.take_final()) segments.push_back(s);
    }
    return segments[segments.size() / 2].bound;
  };
  EXPECT_LT(bound(true), bound(false) * 3 / 4);
}

TEST(ClockEstimator, provisional_segments_follow_the_final_ones) {
  Scene s;
  s.sample_until(kStart + 5 * kSecond);
  const auto later = s.estimator.provisional();
  ASSERT_FALSE(later.empty());
  EXPECT_EQ(later.front().from_cycles, s.segments.back().to_cycles);
  EXPECT_EQ(later.front().host_from, s.segments.back().host_to);
  for (const auto& p : later) EXPECT_FALSE(p.flags & kFinalSegment);
  // Nobody can know yet that the last two periods hold no step.
  EXPECT_EQ(later[later.size() - 1].kind, BoundKind::hard);
  EXPECT_EQ(later[later.size() - 2].kind, BoundKind::hard);
  EXPECT_EQ(later[later.size() - 3].kind, BoundKind::conditional);
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

}  // namespace
}  // namespace ttc::collect

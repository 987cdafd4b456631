// Hard bounds hold in every world, conditional bounds in every world that satisfies their condition, the mapping
// is strictly monotone, and what it is off by stays small. TTC_LONG=1: ten million markers. TTC_SEED=n
// repeats one, and with TTC_LONG=1 it is the first of many.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/moving_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::test {
namespace {

using collect::BoundKind;
using collect::ClockMap;
using collect::ClockRules;
using collect::ClockSegment;

constexpr HostTime kSecond = 16'000'000'000;
constexpr HostTime kPeriod = kSecond / 250;
constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;

bool long_run() {
  const char* set = std::getenv("TTC_LONG");
  return set && *set && *set != '0';
}
uint64_t first_seed(uint64_t ordinary) {
  const char* set = std::getenv("TTC_SEED");
  return set ? std::strtoull(set, nullptr, 10) : ordinary;
}

size_t count_of(size_t many, size_t few) {
  return long_run() ? many : std::getenv("TTC_SEED") ? 1 : few;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  HostTime seconds(double low, double high) { return static_cast<HostTime>(between(low, high) * 16e9); }
  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

constexpr double kFrequencies[] = {500e6, 1000e6, 1350e6};

World world(uint64_t seed) {
  Dice dice(seed);
  const HostTime begin = kSecond * (1 + dice.below(1000000)) + dice.below(kSecond);
  const uint64_t starts[] = {5'000'000'000, (uint64_t{1} << 32) * 7 - 3'000'000,
                             (uint64_t{1} << 44) - 900'000'000, (uint64_t{1} << 46) - 8'000'000'000};
  World w{
      CounterTruth(begin, starts[dice.below(4)]), begin, begin + kSecond * 5, {}, 0, {}, true, {}, {}, ""};
  const double drift = 1 + dice.between(-200e-6, 200e-6);
  w.link.round_trip_ns = dice.between(700, 3000) / 1.1;
  w.link.reads = 1 + static_cast<unsigned>(dice.below(8));
  w.link.asymmetry = dice.between(0, 1);
  w.link.constant_skew = dice.below(2) ? dice.between(-0.5, 0.5) : 0;
  w.link.preempted = dice.below(2) ? dice.between(0, 0.05) : 0;
  if (dice.below(8) == 0) w.link.round_trip_ns *= 10;  // hardly ever a tight read
  for (uint64_t gaps = dice.below(4) ? 0 : dice.below(6); gaps > 0; --gaps) {
    const HostTime from = begin + dice.seconds(0, 4);
    w.outages.push_back({from, from + dice.seconds(0.1, 0.5)});
  }
  w.missed = dice.below(2) ? dice.between(0, 0.3) : 0;
  double hz = kFrequencies[dice.below(3)] * drift;
  w.truth.change(begin, hz);
  const HostTime dwell = kSecond / 4;
  const auto note = [&](HostTime at) { w.changes.push_back(at); };
  switch (seed % 7) {
    case 0: {
      w.what = "drift and wander";
      for (HostTime at = begin; at < w.end; at += dice.seconds(1, 3)) {
        hz = w.truth.hz(at);
        w.truth.change(at, hz, hz * dice.between(-0.9e-6, 0.9e-6));
      }
      break;
    }
    case 1:
      w.what = "steps of hundreds of MHz, a dwell apart at least";
      for (HostTime at = begin + dice.seconds(0, 3); at < w.end; at += dwell + dice.seconds(0, 3)) {
        w.truth.change(at, kFrequencies[dice.below(3)] * drift);
        note(at);
      }
      break;
    case 2:
      w.what = "PLL steps, a dwell apart at least";
      for (HostTime at = begin + dice.seconds(0, 1); at < w.end; at += dwell + dice.seconds(0, 1)) {
        const double step = 6.25e6 * drift * static_cast<double>(1 + dice.below(3));  // of the crystal
        hz += hz + step > 1.36e9 || (hz - step > 4e8 && dice.below(2)) ? -step : step;
        w.truth.change(at, hz);
        note(at);
      }
      break;
    case 3:
      w.what = "steps at any time";
      w.meets_condition = false;
      for (HostTime at = begin; at < w.end; at += dice.seconds(0.0001, 0.5))
        w.truth.change(at, kFrequencies[dice.below(3)] * drift);
      break;
    case 4:
      w.what = "ramps";
      w.meets_condition = false;
      for (HostTime at = begin; at < w.end;) {
        const double to = dice.between(500e6, 1350e6), s = dice.between(0.01, 3), from = w.truth.hz(at);
        w.truth.change(at, from, (to - from) / s);
        at += static_cast<HostTime>(s * 16e9);
        w.truth.change(at, to);
        at += dice.seconds(0, 2);
      }
      break;
    case 5:
      w.what = "idle stops";
      w.meets_condition = false;
      for (HostTime at = begin + dice.seconds(0.5, 1); at < w.end; at += dice.seconds(0.02, 2)) {
        w.truth.change(at, 0);
        at += dice.seconds(0.001, dice.below(3) ? 0.05 : 1);
        w.truth.change(at, hz);
      }
      break;
    case 6:
      w.what = "resets";
      w.meets_condition = false;
      for (HostTime at = begin + dice.seconds(2, 5); at < w.end; at += dice.seconds(2, 5)) {
        w.truth.reset(at, dice.below(3) ? dice.below(1000000000) : w.truth.cycles(at) + 50'000'000'000);
        w.resets.push_back(at);
      }
      break;
  }
  return w;
}

struct Tally {
  uint64_t markers = 0, conditional = 0, conditional_possible = 0, outside = 0;
};

void judge(const World& w, uint64_t seed, size_t markers, Tally& tally) {
  ClockRules rules;
  rules.reads_a_sample = w.link.reads;
  std::vector<ClockSegment> segments;
  observe(w, rules, seed + 1, segments, kPeriod);
  ClockMap map;
  map.update({}, segments);
  ASSERT_FALSE(segments.empty());

  Dice dice(seed + 2);
  std::vector<HostTime> truth(markers);
  for (HostTime& t : truth)
    t = dice.seconds(0, static_cast<double>(w.end - w.begin) / 16e9 - 0.3) + w.begin + kSecond / 10;
  std::sort(truth.begin(), truth.end());
  std::vector<uint64_t> times(markers);
  for (size_t i = 0; i < markers; ++i) times[i] = w.truth.cycles(truth[i]) & kMarkerMask;

  uint64_t before_cycles = 0;
  HostTime before_host = 0, before_truth = 0;
  for (size_t i = 0; i < markers; ++i) {
    const ClockMap::Converted c = map.at(times[i], truth[i]);
    const uint64_t off = c.host > truth[i] ? c.host - truth[i] : truth[i] - c.host;
    ++tally.markers;
    tally.outside += c.quality.kind == BoundKind::none;
    ASSERT_LE(off, c.quality.hard_bound) << "hard bound, " << w.what << ", seed " << seed << ", marker " << i
                                         << ", s " << static_cast<double>(truth[i] - w.begin) / 16e9;
    if (w.meets_condition) {
      ASSERT_LE(off, c.quality.bound)
          << to_string(c.quality.kind) << " bound, " << w.what << ", seed " << seed << ", marker " << i
          << ", s " << static_cast<double>(truth[i] - w.begin) / 16e9;
      ++tally.conditional_possible;
      tally.conditional += c.quality.kind == BoundKind::conditional;
    }
    const uint64_t cycles = w.truth.cycles(truth[i]);
    const auto resets_until = [&](HostTime t) {
      return std::upper_bound(w.resets.begin(), w.resets.end(), t) - w.resets.begin();
    };
    if (c.quality.kind == BoundKind::none) continue;  // no more than a guess
    if (before_host && cycles > before_cycles && resets_until(truth[i]) == resets_until(before_truth)) {
      ASSERT_GT(c.host, before_host) << "not monotone, " << w.what << ", seed " << seed;
    }
    before_cycles = cycles;
    before_host = c.host;
    before_truth = truth[i];
  }
}

TEST(ClockWorlds, bounds_contain_the_truth) {
  const uint64_t first = first_seed(1);
  const size_t worlds = count_of(700, 42), markers = 5000;
  std::printf("seeds %llu to %llu\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + worlds - 1));
  Tally tally;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    judge(world(seed), seed, markers, tally);
    if (HasFatalFailure()) return;
  }
  const double share = static_cast<double>(tally.conditional) /
                       static_cast<double>(std::max<uint64_t>(tally.conditional_possible, 1));
  std::printf(
      "%llu markers; conditional in %.1f %% of those whose world satisfies the condition; %llu outside\n",
      static_cast<unsigned long long>(tally.markers), 100 * share,
      static_cast<unsigned long long>(tally.outside));
  if (worlds > 1) {
    EXPECT_GT(share, 0.7) << "the condition holds, but the model hardly ever reports it";
  }
}

struct Accuracy {
  double median_ns, p99_ns, bound_median_ns;
};

Accuracy accuracy(const LinkOptions& link, double step_every_s, uint64_t seed, size_t markers) {
  Dice dice(seed);
  const HostTime begin = 77 * kSecond;
  World w{CounterTruth(begin, 5'000'000'000), begin, begin + 12 * kSecond, link, 0, {}, true, {}, {}, ""};
  const double drift = 1 + dice.between(-200e-6, 200e-6);
  w.truth.change(begin, 1e9 * drift);
  if (step_every_s > 0)
    for (HostTime at = begin + kSecond; at < w.end; at += kSecond / 4 + dice.seconds(0, 2 * step_every_s)) {
      w.truth.change(at, kFrequencies[dice.below(3)] * drift);
      w.changes.push_back(at);
    }
  ClockRules rules;
  rules.reads_a_sample = link.reads;
  std::vector<ClockSegment> segments;
  observe(w, rules, seed + 1, segments, kPeriod);
  ClockMap map;
  map.update({}, segments);
  std::vector<double> off, bound;
  for (size_t i = 0; i < markers; ++i) {
    const HostTime t = begin + kSecond + dice.below(10 * kSecond);
    const HostTime near = 6 * kPeriod;
    const auto change = std::lower_bound(w.changes.begin(), w.changes.end(), t - near);
    if (change != w.changes.end() && *change < t + near) continue;  // within the two periods around a step
    const auto c = map.at(w.truth.cycles(t) & kMarkerMask, t);
    off.push_back(std::abs(static_cast<double>(static_cast<int64_t>(c.host - t))) / 16);
    bound.push_back(static_cast<double>(c.quality.bound) / 16);
  }
  std::sort(off.begin(), off.end());
  std::sort(bound.begin(), bound.end());
  return {off[off.size() / 2], off[off.size() * 99 / 100], bound[bound.size() / 2]};
}

TEST(ClockWorlds, error_is_small_where_asymmetry_is_symmetric) {
  for (const unsigned reads : {1u, 8u})
    for (const double steps : {0.0, 2.0})
      for (uint64_t seed = first_seed(11); seed < first_seed(11) + 3; ++seed) {
        LinkOptions link;
        link.reads = reads;
        const Accuracy a = accuracy(link, steps, seed, 20000);
        std::printf("%u reads a sample, %s, seed %llu: median %.1f ns, p99 %.1f ns, median bound %.1f ns\n",
                    reads, steps > 0 ? "steps" : "no steps", static_cast<unsigned long long>(seed),
                    a.median_ns, a.p99_ns, a.bound_median_ns);
        EXPECT_LE(a.median_ns, 50);
        EXPECT_LE(a.p99_ns, 300);
      }
}

struct Judged {
  size_t markers = 0, conditional = 0, outside = 0;
  double worst_ns = 0, worst_at_s = 0;
};

// A moving world, read about every millisecond; a busy host reads late, by up to 8 ms, and slowly.
Judged judge(Motion motion, uint64_t seed, bool busy) {
  MotionMaker maker(motion, 2.5, seed);
  const MovingWorld truth = maker.make();
  LinkOptions one;
  one.reads = 1;
  if (busy) one.preempted = 0.1;
  Link link(one, seed + 1);
  collect::ClockEstimator estimator{ClockRules{}};
  std::vector<ClockRead> burst;
  std::vector<ClockSegment> segments;
  const auto take = [&] {
    for (const auto& s : estimator.take_final()) segments.push_back(s);
  };
  for (HostTime at = truth.begin(); at < maker.end();) {
    link.sample(truth, at, burst);
    estimator.add(burst);
    take();
    at = std::max(at + 16'000'000 + static_cast<HostTime>(link.chance() * 1e6), burst.back().after);
    if (busy && link.chance() < 0.2) at += static_cast<HostTime>(16e6 * 0.1 * std::pow(80, link.chance()));
  }
  estimator.finish();
  take();
  ClockMap map;
  map.update({}, segments);
  Dice dice(seed + 2);
  Judged j;
  for (int i = 0; i < 4000; ++i) {
    const HostTime t = truth.begin() + dice.seconds(0.1, 2.4);
    if (truth.hz(t) == 0) continue;  // nothing runs then
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    const uint64_t off = c.host > t ? c.host - t : t - c.host;
    ++j.markers;
    j.conditional += c.quality.kind == BoundKind::conditional;
    const double beyond = (static_cast<double>(off) - static_cast<double>(c.quality.bound)) / 16;
    if (off <= c.quality.bound) continue;
    ++j.outside;
    if (beyond > j.worst_ns)
      j.worst_ns = beyond, j.worst_at_s = static_cast<double>(t - truth.begin()) / 16e9;
  }
  return j;
}

Judged judge_seeds(Motion motion, uint64_t first, uint64_t seeds, bool busy) {
  Judged all;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Judged j = judge(motion, seed, busy);
    EXPECT_EQ(j.outside, 0U) << to_string(motion) << ", seed " << seed << ", by " << j.worst_ns << " ns at s "
                             << j.worst_at_s;
    all.markers += j.markers, all.conditional += j.conditional;
  }
  std::printf("%s, seeds %llu to %llu: %zu markers, %.2f %% conditional\n", to_string(motion),
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + seeds - 1),
              all.markers, 100.0 * static_cast<double>(all.conditional) / static_cast<double>(all.markers));
  return all;
}

// The crystal's rate is known from its own counter to 1e-8, and wanders: a run's pace at its end is not the one that it began
// with.
TEST(ClockWorlds, a_pace_that_wanders_with_a_known_crystal_stays_within_its_bounds) {
  const uint64_t first = first_seed(511), worlds = count_of(300, 8);
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    Dice dice(seed);
    const HostTime begin = kSecond * (1 + dice.below(1000)), end = begin + 5 * kSecond;
    MovingWorld truth(begin, dice.below(1'000'000'000), 1 + dice.between(-200e-6, 200e-6));
    truth.change(begin, 6.25e6 * static_cast<double>(112 + dice.below(100)));
    for (HostTime at = begin; at < end;) {
      if (dice.below(3) == 0) truth.wander(at += dice.seconds(0.02, 0.2), dice.between(-0.95e-6, 0.95e-6));
      truth.change(at += dice.seconds(0.1, 0.4), 6.25e6 * static_cast<double>(112 + dice.below(100)));
    }
    LinkOptions one;
    one.reads = 1;
    Link link(one, seed + 1);
    collect::ClockEstimator estimator{ClockRules{}};
    std::vector<ClockRead> burst;
    HostTime timer_due = begin;
    for (HostTime at = begin; at < end; at += 16'000'000 + static_cast<HostTime>(link.chance() * 8e5)) {
      link.sample(truth, at, burst);
      estimator.add(burst);
      if (at < timer_due) continue;
      const HostTime when = burst.front().after + 16 * 200;
      estimator.reference({burst.front().after, when + 16 * 800, truth.reference(when, 50e6)});
      timer_due += kSecond / 8;
    }
    estimator.finish();
    ClockMap map;
    map.update({}, estimator.take_final());
    for (int i = 0; i < 4000; ++i) {
      const HostTime t = begin + dice.seconds(0.1, 4.9);
      const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
      ASSERT_LE(c.host > t ? c.host - t : t - c.host, c.quality.bound)
          << "seed " << seed << ", s " << static_cast<double>(t - begin) / 16e9;
    }
  }
}

// A read a millisecond.
ClockMap map_of(const MovingWorld& truth, HostTime end, uint64_t seed, bool timer, bool offline = false) {
  LinkOptions one;
  one.reads = 1;
  Link link(one, seed + 1);
  ClockRules rules;
  rules.offline = offline;
  collect::ClockEstimator estimator(rules);
  std::vector<ClockRead> burst;
  HostTime timer_due = truth.begin();
  for (HostTime at = truth.begin(); at < end;
       at += static_cast<HostTime>(16 * (1.0e6 + 5e4 * link.chance()))) {
    link.sample(truth, at, burst);
    if (timer && at >= timer_due) {
      const HostTime when = burst.front().after + 16 * 200;
      estimator.reference({burst.front().after, when + 16 * 1000, truth.reference(when, 50e6)});
      timer_due += kSecond / 8;
    }
    estimator.add(burst);
  }
  estimator.finish();
  ClockMap map;
  map.update({}, estimator.take_final());
  return map;
}

// The droop puts the counter off by more than the read behind it leaves to the course in front of it.
TEST(ClockWorlds, a_droop_between_two_reads_of_a_core_stays_within_the_bound) {
  const uint64_t seed = 41000719;
  MotionMaker maker(Motion::droops, 5, seed);
  const MovingWorld truth = maker.make();
  const ClockMap map = map_of(truth, maker.end(), seed, true);
  for (HostTime t = truth.begin() + kSecond * 17 / 10; t < truth.begin() + kSecond * 175 / 100; t += 16'000) {
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    ASSERT_LE(c.host > t ? c.host - t : t - c.host, c.quality.bound)
        << "s " << static_cast<double>(t - truth.begin()) / 16e9;
  }
}

// Droops of any size imply smaller undetected ones, by which a duration is off more than by the pace.
TEST(ClockWorlds, durations_hold_across_a_droop_that_hides_after_large_ones) {
  for (const auto& [seed, timer] : {std::pair<uint64_t, bool>{31500431, true}, {41000035, false}}) {
    MotionMaker maker(Motion::droops, 5, seed);
    const MovingWorld truth = maker.make();
    const ClockMap map = map_of(truth, maker.end(), seed, timer);
    for (HostTime t = truth.begin() + kSecond / 2; t < truth.begin() + kSecond * 55 / 100; t += 160'000) {
      const HostTime end = t + 16 * 970'000;
      const auto d = map.difference(truth.cycles(t) & kMarkerMask, truth.cycles(end) & kMarkerMask, end);
      const int64_t off = d.ticks - static_cast<int64_t>(end - t);
      ASSERT_LE(static_cast<uint64_t>(std::abs(off)), d.bound) << "seed " << seed;
    }
  }
}

// One droop that shows; small ones after it, one in 0.4 s; and another that shows when the ten seconds after the first are over.
void expect_bounds_after_droops(uint64_t seed, bool offline, double seconds) {
  Dice dice(seed);
  const HostTime begin = kSecond * (1 + dice.below(1000));
  MovingWorld truth(begin, dice.below(1'000'000'000), 1 + dice.between(-200e-6, 200e-6));
  constexpr double kHz = 1e9, kLow = 0.9e9;
  const auto droop = [&](double at_s, double off_ns) {
    const HostTime at = begin + static_cast<HostTime>(at_s * 16e9);
    truth.change(at, kLow);
    truth.change(at + static_cast<HostTime>(16 * off_ns * kHz / (kHz - kLow)), kHz);
  };
  truth.change(begin, kHz);
  droop(1, 2500);
  for (double at_s = 1.5; at_s < 10.9; at_s += 0.4) droop(at_s, dice.between(50, 80));
  droop(11.05, 2500);
  const HostTime end = begin + static_cast<HostTime>(seconds * 16e9);
  const ClockMap map = map_of(truth, end, seed, false, offline);
  for (int i = 0; i < 40000; ++i) {
    const HostTime t = begin + dice.seconds(0.9, seconds - 0.1);
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    ASSERT_LE(c.host > t ? c.host - t : t - c.host, c.quality.bound)
        << "seed " << seed << (offline ? ", all reads at once" : "") << ", s "
        << static_cast<double>(t - begin) / 16e9;
  }
}

// What may be hidden after the first one is as true when the second one begins ten seconds of its own.
TEST(ClockWorlds, droops_hide_after_each_that_shows) {
  const uint64_t first = first_seed(1224);
  for (uint64_t seed = first; seed < first + count_of(40, 1); ++seed)
    for (const bool offline : {false, true}) expect_bounds_after_droops(seed, offline, 12);
}

// The read amid the droop begins a run that lasts until enough reads contradict it.
TEST(ClockWorlds, a_droop_amid_a_read_shows) {
  expect_bounds_after_droops(1220, false, 3);
}

// A PLL step that came back after a millisecond, between two short cores: their few reads leave many paces, but only one that
// both can have, and by that the counter is farther off than a droop leaves it. Nothing hides beside a PLL step.
TEST(ClockWorlds, a_pll_step_and_back_between_short_cores_is_no_droop) {
  const uint64_t seed = 20251101;
  MotionMaker maker(Motion::pll, 5, seed);
  const MovingWorld truth = maker.make();
  const ClockMap map = map_of(truth, maker.end(), seed, false);
  std::vector<uint64_t> bounds;
  for (HostTime t = truth.begin() + kSecond * 3; t < truth.begin() + kSecond * 48 / 10; t += 160'000) {
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    ASSERT_LE(c.host > t ? c.host - t : t - c.host, c.quality.bound)
        << "s " << static_cast<double>(t - truth.begin()) / 16e9;
    bounds.push_back(c.quality.bound);
  }
  std::sort(bounds.begin(), bounds.end());
  EXPECT_LE(bounds[bounds.size() / 2], 800 * 16U);
}

// The frequency moves as newer firmware moves it, and otherwise; a read a millisecond.
TEST(ClockWorlds, moving_clocks_have_bounds_that_hold_and_are_not_hard) {
  const uint64_t first = first_seed(101), seeds = count_of(40, 3);
  for (const Motion motion : kMotions) {
    const Judged all = judge_seeds(motion, first, seeds, false);
    EXPECT_GE(static_cast<double>(all.conditional), 0.99 * static_cast<double>(all.markers))
        << to_string(motion);
  }
}

// PLL steps, droops and stops between reads that are late: what happened there need not show beside it.
TEST(ClockWorlds, bounds_hold_where_a_busy_host_reads_late) {
  const uint64_t first = first_seed(301), seeds = count_of(200, 6);
  for (const Motion motion :
       {Motion::pll_apart, Motion::steps_apart, Motion::stops, Motion::pll, Motion::mixed})
    judge_seeds(motion, first, seeds, true);
}

}  // namespace
}  // namespace ttc::test

// Device time to host time: how fast it is converted, against a multiply and an add over the same memory; and
// how far it is off, against one regression line and against anchoring once a minute, in worlds whose true
// times are known.
#include <cmath>
#include <cstring>
#include <map>

#include "bench/clock_contest.hpp"
#include "bench/known_frequencies.hpp"
#include "bench/machine.hpp"
#include "collector/clock/clock_estimator.hpp"
#include "tests/support/moving_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using collect::BoundKind;
using collect::ClockMap;
using collect::ClockSegment;
using collect::HostTime;

constexpr HostTime kSecond = 16'000'000'000;
constexpr double kZone = 4000 * 16;  // host ticks
constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;

struct Errors {
  std::vector<double> ns;
  void add(HostTime got, HostTime truth) {
    ns.push_back(std::abs(static_cast<double>(static_cast<int64_t>(got - truth))) / 16);
  }
  double at(double share) {
    std::sort(ns.begin(), ns.end());
    return ns.empty() ? 0 : ns[static_cast<size_t>(share * static_cast<double>(ns.size() - 1))];
  }
  std::string text() {
    char line[96];
    std::snprintf(line, sizeof line, "%12.3f %12.3f %12.3f", at(0.5) / 1e3, at(0.99) / 1e3, at(1) / 1e3);
    return line;
  }
};

struct Watched {
  std::vector<collect::ClockRead> reads;
  std::vector<ClockSegment> segments;
  collect::ClockEstimator::Stats stats;
  HostTime relied_on = ~HostTime{0};  // when the PLL's grid first was
};

constexpr uint64_t kTimerHz = 50'000'000;
constexpr HostTime kTimerApart = kSecond / 8;

struct Watching {
  bool timer = false;    // the card's reference timer is read, too
  bool offline = false;  // ClockRules::offline
};

// Reads the counter as the sampler does: a read of one load, and the next one after the interval of the pace.
Watched watch(const test::MovingWorld& truth, HostTime end, uint64_t seed, const Watching& how) {
  Watched w;
  test::LinkOptions o;
  o.reads = 1;
  test::Link link(o, seed);
  collect::ClockRules rules;
  rules.offline = how.offline;
  collect::ClockEstimator estimator(rules);
  std::vector<collect::ClockRead> burst;
  HostTime timer_due = truth.begin();
  for (HostTime at = truth.begin(); at < end;) {
    link.sample(truth, at, burst);
    if (how.timer && at >= timer_due) {
      const auto& r = burst.front();
      const HostTime when = r.after + 16 * 200, ended = when + 16 * 1000;
      estimator.reference({r.after, ended, truth.reference(when, kTimerHz)});
      timer_due += kTimerApart;
    }
    w.reads.push_back(burst.front());
    estimator.add(burst);
    for (const auto& s : estimator.take_final()) w.segments.push_back(s);
    if (estimator.grid_relied_on()) w.relied_on = std::min(w.relied_on, at);
    at += static_cast<HostTime>(16 * (1.0e6 + 5e4 * link.chance()));
  }
  estimator.finish();
  for (const auto& s : estimator.take_final()) w.segments.push_back(s);
  w.stats = estimator.stats();
  return w;
}

// All reads at once leave other stretches for the largest even rate than those up to some moment do: the smaller bound of both is the
// least one.
double least_bound(const ClockMap::Converted& ours, const ClockMap::Converted& at_best) {
  return static_cast<double>(std::min(ours.quality.bound, at_best.quality.bound)) / 16;
}

int wrong = 0;

void compare(test::Motion motion, uint64_t seed, bool timer) {
  const double seconds = once() ? 4 : 30;
  test::MotionMaker maker(motion, seconds, seed);
  const test::MovingWorld truth = maker.make();
  const HostTime end = maker.end();
  const Watched w = watch(truth, end, seed + 1, {timer, false});
  ClockMap map;
  map.update({}, w.segments);
  const Anchor line = regression(w.reads), ends = two_points(w.reads.front(), w.reads.back());
  const std::vector<Anchor> of_reads = anchors(w.reads);

  ClockMap at_best;
  at_best.update({}, watch(truth, end, seed + 1, {timer, true}).segments);
  const KnownFrequencies knowing(truth, w.reads, motion != test::Motion::steady);
  Errors model, bound, hard, two, one_line, anchored, least, known, later, later_least;
  double conditional = 0;
  size_t outside = 0;
  double farthest = 0;
  test::Link dice({}, seed + 2);
  const size_t markers = once() ? 2000 : 100000;
  for (size_t i = 0; i < markers; ++i) {
    const HostTime t = truth.begin() + static_cast<HostTime>((0.5 + dice.chance() * (seconds - 1)) * 16e9);
    if (truth.hz(t) == 0) continue;  // nothing runs then
    const uint64_t cycles = truth.cycles(t);
    const auto c = map.at(cycles & kMarkerMask, t);
    model.add(c.host, t);
    const double off = model.ns.back();
    bound.ns.push_back(static_cast<double>(c.quality.bound) / 16);
    hard.ns.push_back(static_cast<double>(c.quality.hard_bound) / 16);
    conditional += c.quality.kind == BoundKind::conditional;
    if (off > bound.ns.back()) ++outside, farthest = std::max(farthest, off - bound.ns.back());
    if (off > hard.ns.back()) std::puts("WRONG: hard"), ++wrong;
    least.ns.push_back(least_bound(c, at_best.at(cycles & kMarkerMask, t)));
    if (t >= w.relied_on) later.ns.push_back(bound.ns.back()), later_least.ns.push_back(least.ns.back());
    if (i % 20 == 0) known.ns.push_back(knowing.bound_ns(t));
    two.add(ends.at(cycles), t);
    one_line.add(line.at(cycles), t);
    const Anchor* anchor = &of_reads.front();
    for (const Anchor& a : of_reads)
      if (a.cycles <= cycles) anchor = &a;
    anchored.add(anchor->at(cycles), t);
  }
  const auto n = static_cast<double>(model.ns.size());
  result("%-27s seed %llu: %zu reads, %zu segments, %llu steps, %llu moving, %llu stops", to_string(motion),
         static_cast<unsigned long long>(seed), w.reads.size(), w.segments.size(),
         static_cast<unsigned long long>(w.stats.steps), static_cast<unsigned long long>(w.stats.violations),
         static_cast<unsigned long long>(w.stats.stops));
  result("  bound       %s   conditional %6.2f %%", bound.text().c_str(), 100 * conditional / n);
  result("  least bound %s   ours is %.2f times that at the median, %.2f at p99", least.text().c_str(),
         bound.at(0.5) / least.at(0.5), bound.at(0.99) / least.at(0.99));
  // All reads at once use a grid that is learnt late from the first read on.
  if (!later.ns.empty())
    result("  from %.1f s on, when the grid is relied on, %.2f times that at the median, %.2f at p99",
           static_cast<double>(w.relied_on - truth.begin()) / 16e9, later.at(0.5) / later_least.at(0.5),
           later.at(0.99) / later_least.at(0.99));
  result("  with every frequency known\n              %s", known.text().c_str());
  result("  error       %s", model.text().c_str());
  result("  two points  %s", two.text().c_str());
  result("  regression  %s", one_line.text().c_str());
  result("  anchors     %s", anchored.text().c_str());
  if (outside > 0) {
    result("  WRONG: %zu markers outside of their bound, by %.1f ns at most", outside, farthest);
    ++wrong;
  }
}

// Many short worlds: is every marker within its bound?
struct Tally {
  size_t worlds = 0, markers = 0, hard = 0, outside = 0, outside_hard = 0, outside_zones = 0,
         outside_least = 0;
  double farthest_ns = 0;
  Errors zones;  // bounds of durations of up to 4 us
  // Each has one value a world: of the bound, and of how many times it is the least provable one and the one with
  // every frequency known.
  std::vector<double> medians, p99s, at_median, at_p99, known_median, known_p99;
};

// A duration on one tile, and a long one.
void judge_zone(const test::MovingWorld& truth, const ClockMap& map, HostTime from, HostTime to,
                Tally& tally) {
  for (const HostTime end : {to, to + (to - from) * 1000}) {
    if (truth.hz(end) == 0) continue;  // nothing runs then
    const auto d = map.difference(truth.cycles(from) & kMarkerMask, truth.cycles(end) & kMarkerMask, end);
    const int64_t off = d.ticks - static_cast<int64_t>(end - from);
    if (end == to) tally.zones.ns.push_back(static_cast<double>(d.bound) / 16);
    tally.outside_zones += d.kind != BoundKind::none && static_cast<uint64_t>(std::abs(off)) > d.bound;
  }
}

void judge(test::Motion motion, uint64_t seed, bool timer, Tally& tally) {
  const double seconds = 5;
  test::MotionMaker maker(motion, seconds, seed);
  const test::MovingWorld truth = maker.make();
  const Watched w = watch(truth, maker.end(), seed + 1, {timer, false});
  ClockMap map;
  map.update({}, w.segments);
  ClockMap at_best;
  at_best.update({}, watch(truth, maker.end(), seed + 1, {timer, true}).segments);
  const KnownFrequencies knowing(truth, w.reads, motion != test::Motion::steady);
  test::Link dice({}, seed + 2);
  Errors bound, least, known;
  size_t outside = 0;
  double farthest = 0, where = 0;
  for (int i = 0; i < 4000; ++i) {
    const HostTime t = truth.begin() + static_cast<HostTime>((0.3 + dice.chance() * (seconds - 0.6)) * 16e9);
    if (truth.hz(t) == 0) continue;
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    const HostTime off = c.host > t ? c.host - t : t - c.host;
    bound.ns.push_back(static_cast<double>(c.quality.bound) / 16);
    const auto best = at_best.at(truth.cycles(t) & kMarkerMask, t);
    least.ns.push_back(least_bound(c, best));
    tally.outside_least += (best.host > t ? best.host - t : t - best.host) > best.quality.bound;
    if (i % 10 == 0) known.ns.push_back(knowing.bound_ns(t));
    tally.hard += c.quality.kind != BoundKind::conditional;
    tally.outside_hard += off > c.quality.hard_bound;
    judge_zone(truth, map, t, t + static_cast<HostTime>(dice.chance() * kZone), tally);
    if (off > c.quality.bound) {
      ++outside;
      const double by = static_cast<double>(off - c.quality.bound) / 16;
      if (by > farthest) farthest = by, where = static_cast<double>(t - truth.begin()) / 16e9;
    }
  }
  if (outside > 0)
    result("  WRONG: %s, seed %llu: %zu markers outside of their bound, by %.1f ns at most, at %.6f s",
           to_string(motion), static_cast<unsigned long long>(seed), outside, farthest, where);
  ++tally.worlds;
  tally.markers += bound.ns.size();
  tally.outside += outside;
  tally.farthest_ns = std::max(tally.farthest_ns, farthest);
  tally.medians.push_back(bound.at(0.5));
  tally.p99s.push_back(bound.at(0.99));
  tally.at_median.push_back(bound.at(0.5) / least.at(0.5));
  tally.at_p99.push_back(bound.at(0.99) / least.at(0.99));
  tally.known_median.push_back(bound.at(0.5) / known.at(0.5));
  tally.known_p99.push_back(bound.at(0.99) / known.at(0.99));
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void judge_many(uint64_t first, size_t worlds) {
  std::map<std::pair<test::Motion, bool>, Tally> tallies;  // by kind, and whether a timer is read
  const size_t kinds = std::size(test::kMotions);
  for (size_t i = 0; i < worlds; ++i) {
    const test::Motion motion = test::kMotions[i % kinds];
    const bool timer = i / kinds % 2 == 1;
    judge(motion, first + i, timer, tallies[{motion, timer}]);
  }
  result("seeds %llu to %llu, 5 s each; bounds in ns, medians over worlds",
         static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + worlds - 1));
  for (auto& [kind, t] : tallies) {
    const auto count = static_cast<double>(std::max<size_t>(t.markers, 1));
    const double at_median = median(t.at_median), at_p99 = median(t.at_p99);
    result(
        "%s%s: %zu worlds, %zu markers; outside of bounds %zu (by %.1f ns at most), of hard ones %zu, of the "
        "least %zu",
        to_string(kind.first), kind.second ? ", reference timer" : "", t.worlds, t.markers, t.outside,
        t.farthest_ns, t.outside_hard, t.outside_least);
    result(
        "  bound median %8.1f p99 %9.1f, hard %5.2f %%; times the least provable %.2f %s and %.2f %s; times "
        "that with every "
        "frequency known %.2f and %.2f",
        median(t.medians), median(t.p99s), 100.0 * static_cast<double>(t.hard) / count, at_median,
        judged(at_median, "<=", 1.3).c_str(), at_p99, judged(at_p99, "<=", 1.3).c_str(),
        median(t.known_median), median(t.known_p99));
    result("  zones up to 4 us: bound median %.1f, p99 %.1f, largest %.1f; outside %zu", t.zones.at(0.5),
           t.zones.at(0.99), t.zones.at(1), t.outside_zones);
    wrong += t.outside + t.outside_hard + t.outside_zones + t.outside_least > 0;
  }
}

void convert(size_t a_call) {
  const size_t count = working_set() / 8;
  test::MotionMaker maker(test::Motion::steps_apart, once() ? 5 : 120, 3);
  const test::MovingWorld truth = maker.make();
  const std::vector<ClockSegment> segments = watch(truth, maker.end(), 5, {}).segments;
  ClockMap map;
  map.update({}, segments);
  std::vector<uint64_t> times(count), out(count);
  const uint64_t from = segments.front().from_cycles, until = segments.back().to_cycles;
  for (size_t i = 0; i < count; ++i)
    times[i] = (from + static_cast<uint64_t>(static_cast<double>(until - from) * static_cast<double>(i) /
                                             static_cast<double>(count))) &
               kMarkerMask;
  std::vector<HostTime> seen;  // per call, as a chunk's read time is
  for (size_t i = 0; i < count; i += a_call)
    seen.push_back(map.at(times[std::min(i + a_call, count) - 1], maker.end()).host + kSecond / 1000);
  std::vector<ClockMap::Run> runs;
  Best multiply, converting;
  volatile uint64_t factor = 12, offset = 345;
  for (int i = 0; i < repetitions(9); ++i) {
    multiply.cpu_time([&] {
      const uint64_t f = factor, o = offset;
      for (size_t k = 0; k < count; ++k) {
        out[k] = times[k] * f + o;
        asm volatile("" ::: "memory");  // one at a time
      }
    });
    converting.cpu_time([&] {
      for (size_t k = 0, call = 0; k < count; k += a_call, ++call) {
        const size_t n = std::min(a_call, count - k);
        runs.clear();
        map.convert({times.data() + k, n}, seen[call], {out.data() + k, n}, runs);
      }
      keep(out);
    });
  }
  for (size_t k = 0; k < count; k += 997)
    if (out[k] != map.at(times[k], seen[k / a_call]).host)
      std::puts("WRONG: batch and single conversion differ"), std::exit(1);
  const double rate = static_cast<double>(count) / converting.ns() * 1e3,
               ratio = converting.ns() / multiply.ns();
  result("%5zu times a call, %zu segments: %.0f M/s %s; multiply and add %.0f M/s; times as long %.2f %s",
         a_call, segments.size(), rate, judged(rate, ">=", 400).c_str(),
         static_cast<double>(count) / multiply.ns() * 1e3, ratio, judged(ratio, "<=", 2).c_str());
}

}  // namespace

int main() {
  print_machine("clock_bench");
  if (!std::getenv("TTC_WORLDS"))
    for (const size_t a_call : {64, 512, 8192}) convert(a_call);
  std::puts("  in us                     median          p99      largest");
  const char* set = std::getenv("TTC_SEED");
  if (const char* worlds = std::getenv("TTC_WORLDS")) {
    judge_many(set ? std::strtoull(set, nullptr, 10) : 1, std::strtoull(worlds, nullptr, 10));
    return wrong > 0;
  }
  const uint64_t seed = set ? std::strtoull(set, nullptr, 10) : 20251101;
  for (const test::Motion motion : test::kMotions) compare(motion, seed, false);
  return wrong > 0;
}

// Device time to host time: how fast it is converted, against a multiply and an add over the same memory; and
// how far it is off, against one regression line and against anchoring once a minute, in worlds that know the
// truth.
#include <cmath>
#include <cstring>
#include <map>

#include "bench/clock_contest.hpp"
#include "bench/clock_optimum.hpp"
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
};

// As the sampler does it: a read of one load, the next one after what the pace says.
Watched watch(const test::MovingWorld& truth, HostTime end, uint64_t seed) {
  Watched w;
  test::LinkOptions o;
  o.reads = 1;
  test::Link link(o, seed);
  collect::ClockRules rules;
  collect::ClockEstimator estimator(rules);
  std::vector<collect::ClockRead> burst;
  for (HostTime at = truth.begin(); at < end;) {
    link.sample(truth, at, burst);
    w.reads.push_back(burst.front());
    estimator.add(burst);
    for (const auto& s : estimator.take_final()) w.segments.push_back(s);
    at += static_cast<HostTime>(16 * (1.0e6 + 5e4 * link.chance()));
  }
  estimator.finish();
  for (const auto& s : estimator.take_final()) w.segments.push_back(s);
  w.stats = estimator.stats();
  return w;
}

int wrong = 0;

void compare(test::Motion motion, uint64_t seed) {
  const double seconds = once() ? 4 : 30;
  test::MotionMaker maker(motion, seconds, seed);
  const test::MovingWorld truth = maker.make();
  const HostTime end = maker.end();
  const Watched w = watch(truth, end, seed + 1);
  ClockMap map;
  map.update({}, w.segments);
  const Anchor line = regression(w.reads), ends = two_points(w.reads.front(), w.reads.back());
  const std::vector<Anchor> of_reads = anchors(w.reads);

  const Optimum optimum(truth, w.reads, motion != test::Motion::steady);
  Errors model, bound, hard, two, one_line, anchored, least;
  Errors some;  // ours of the markers whose least bound is computed
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
    if (i % 20 == 0) least.ns.push_back(optimum.bound_ns(t)), some.ns.push_back(bound.ns.back());
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
         some.at(0.5) / least.at(0.5), some.at(0.99) / least.at(0.99));
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
  size_t worlds = 0, markers = 0, hard = 0, outside = 0, outside_hard = 0;
  double farthest_ns = 0;
  // By world: of the bound, and of how many times the least bound it is.
  std::vector<double> medians, p99s, at_median, at_p99;
};

void judge(test::Motion motion, uint64_t seed, Tally& tally) {
  const double seconds = 5;
  test::MotionMaker maker(motion, seconds, seed);
  const test::MovingWorld truth = maker.make();
  const Watched w = watch(truth, maker.end(), seed + 1);
  ClockMap map;
  map.update({}, w.segments);
  const Optimum optimum(truth, w.reads, motion != test::Motion::steady);
  test::Link dice({}, seed + 2);
  Errors bound, some, least;  // `some`: of the markers whose least bound is computed
  size_t outside = 0;
  double farthest = 0, where = 0;
  for (int i = 0; i < 4000; ++i) {
    const HostTime t = truth.begin() + static_cast<HostTime>((0.3 + dice.chance() * (seconds - 0.6)) * 16e9);
    if (truth.hz(t) == 0) continue;
    const auto c = map.at(truth.cycles(t) & kMarkerMask, t);
    const HostTime off = c.host > t ? c.host - t : t - c.host;
    bound.ns.push_back(static_cast<double>(c.quality.bound) / 16);
    if (i % 10 == 0) least.ns.push_back(optimum.bound_ns(t)), some.ns.push_back(bound.ns.back());
    tally.hard += c.quality.kind != BoundKind::conditional;
    tally.outside_hard += off > c.quality.hard_bound;
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
  tally.at_median.push_back(some.at(0.5) / least.at(0.5));
  tally.at_p99.push_back(some.at(0.99) / least.at(0.99));
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void judge_many(uint64_t first, size_t worlds) {
  std::map<test::Motion, Tally> tallies;
  const size_t kinds = std::size(test::kMotions);
  for (size_t i = 0; i < worlds; ++i)
    judge(test::kMotions[i % kinds], first + i, tallies[test::kMotions[i % kinds]]);
  result("seeds %llu to %llu, 5 s each; bounds in ns, medians over worlds",
         static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + worlds - 1));
  for (auto& [motion, t] : tallies) {
    result(
        "%-30s %4zu worlds, %8zu markers: %zu outside (by %.1f ns at most), %zu outside of hard bounds; "
        "%5.2f %% hard; median %.1f, p99 %.1f; %.2f and %.2f times the least",
        to_string(motion), t.worlds, t.markers, t.outside, t.farthest_ns, t.outside_hard,
        100.0 * static_cast<double>(t.hard) / static_cast<double>(std::max<size_t>(t.markers, 1)),
        median(t.medians), median(t.p99s), median(t.at_median), median(t.at_p99));
    wrong += t.outside + t.outside_hard > 0;
  }
}

void convert(size_t a_call) {
  const size_t count = working_set() / 8;
  test::MotionMaker maker(test::Motion::steps_apart, once() ? 5 : 120, 3);
  const test::MovingWorld truth = maker.make();
  const std::vector<ClockSegment> segments = watch(truth, maker.end(), 5).segments;
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
  for (const test::Motion motion : test::kMotions) compare(motion, seed);
  return wrong > 0;
}

// Device time to host time: how fast it is converted, against a multiply and an add over the same memory; and
// how far it is off, against one regression line and against anchoring once a minute, in worlds that know the
// truth.
#include <cmath>
#include <cstring>

#include "bench/machine.hpp"
#include "tests/support/clock_world.hpp"
#include "ttcollect/clock_map.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using collect::BoundKind;
using collect::ClockMap;
using collect::ClockSegment;
using collect::HostTime;
using test::World;

constexpr HostTime kSecond = 16'000'000'000;
constexpr uint64_t kMarkerMask = (uint64_t{1} << 44) - 1;

double frequency(test::Link& dice) {
  constexpr double kSteps[] = {500e6, 1000e6, 1350e6};
  return kSteps[static_cast<size_t>(dice.chance() * 3)];
}

World world(const char* what, double seconds, uint64_t seed) {
  const HostTime begin = 1000 * kSecond;
  World w{test::CounterTruth(begin, 5'000'000'000),
          begin,
          begin + static_cast<HostTime>(seconds * 16e9),
          {},
          0,
          {},
          true,
          {},
          {},
          what};
  test::Link dice({}, seed);
  const double drift = 1 + 400e-6 * (dice.chance() - 0.5);
  const auto later = [&](double least, double most) {
    return static_cast<HostTime>((least + (most - least) * dice.chance()) * 16e9);
  };
  w.truth.change(begin, 1e9 * drift);
  const std::string kind = what;
  for (HostTime at = begin + later(1, 3); at < w.end;) {
    const double hz = w.truth.hz(at);
    if (kind == "wander") {
      w.truth.change(at, hz, hz * 0.5e-6 * (dice.chance() - 0.5));
      at += later(1, 5);
    } else if (kind == "steps") {
      w.truth.change(at, frequency(dice) * drift);
      at += later(0.25, 10);
    } else if (kind == "PLL steps") {
      w.truth.change(at, hz + (hz > 1.1e9 || (hz > 0.9e9 && dice.chance() < 0.5) ? -6.25e6 : 6.25e6));
      at += later(0.25, 10);
    } else if (kind == "ramps") {
      const double s = 0.01 + dice.chance(), to = frequency(dice) * drift;
      w.truth.change(at, hz, (to - hz) / s);
      at += static_cast<HostTime>(s * 16e9);
      w.truth.change(at, to);
      at += later(0.5, 8);
    } else if (kind == "idle stops") {
      w.truth.change(at, 0);
      at += later(0.01, 1);
      w.truth.change(at, hz);
      at += later(0.5, 8);
    } else {
      break;
    }
  }
  return w;
}

struct Anchor {
  uint64_t cycles;
  HostTime host;
  double hz;
  HostTime at(uint64_t c) const {
    return host + static_cast<HostTime>(
                      std::llround(static_cast<double>(static_cast<int64_t>(c - cycles)) * 16e9 / hz));
  }
};

// Least squares through the middles of the tightest reads.
Anchor regression(const std::vector<collect::ClockRead>& samples) {
  const auto& o = samples[samples.size() / 2];
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& s : samples) {
    const auto x = static_cast<double>(static_cast<int64_t>(s.cycles - o.cycles));
    const auto y = static_cast<double>(static_cast<int64_t>(s.before + (s.after - s.before) / 2 - o.before));
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const auto n = static_cast<double>(samples.size());
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  return {o.cycles, o.before + static_cast<HostTime>(std::llround((sy - slope * sx) / n)), 16e9 / slope};
}

struct Errors {
  std::vector<double> ns;
  void add(HostTime got, HostTime truth) {
    ns.push_back(std::abs(static_cast<double>(static_cast<int64_t>(got - truth))) / 16);
  }
  double at(double share) {
    std::sort(ns.begin(), ns.end());
    return ns[static_cast<size_t>(share * static_cast<double>(ns.size() - 1))];
  }
  std::string text() {
    char line[96];
    std::snprintf(line, sizeof line, "%12.3f %12.3f %12.3f", at(0.5) / 1e3, at(0.99) / 1e3, at(1) / 1e3);
    return line;
  }
};

void compare(const char* what) {
  const double seconds = once() ? 20 : 240;
  const World w = world(what, seconds, 20251101);
  std::vector<ClockSegment> segments;
  collect::ClockRules rules;
  test::observe(w, rules, 7, segments);
  ClockMap map;
  map.update({}, segments);

  // The others get the same link and rate, and their reads in the same way: the tightest of a burst.
  std::vector<collect::ClockRead> samples, burst;
  std::vector<Anchor> anchors;
  test::Link link(w.link, 7);
  for (HostTime due = w.begin; due < w.end; due += rules.period_ns * 16) {
    link.sample(w.truth, due, burst);
    samples.push_back(*std::min_element(burst.begin(), burst.end(), [](const auto& a, const auto& b) {
      return a.after - a.before < b.after - b.before;
    }));
    // Anew every minute, from the last second.
    const bool minute = (due - w.begin) % (60 * kSecond) == kSecond - kSecond % (rules.period_ns * 16);
    if (minute && samples.size() > 16) anchors.push_back(regression({samples.end() - 16, samples.end()}));
  }
  const Anchor line = regression(samples);

  Errors model, one_line, anchored;
  double within = 0, conditional = 0, bounds = 0;
  const size_t markers = once() ? 20000 : 500000;
  for (size_t i = 0; i < markers; ++i) {
    const HostTime t = w.begin + 2 * kSecond + static_cast<HostTime>(link.chance() * (seconds - 3) * 16e9);
    const uint64_t cycles = w.truth.cycles(t);
    if (w.truth.hz(t) == 0) continue;  // nothing runs then
    const auto c = map.at(cycles & kMarkerMask, t);
    model.add(c.host, t);
    one_line.add(line.at(cycles), t);
    const Anchor* anchor = &anchors.front();
    for (const Anchor& a : anchors)
      if (a.cycles <= cycles) anchor = &a;
    anchored.add(anchor->at(cycles), t);
    within += model.ns.back() * 16 <= static_cast<double>(c.quality.hard_bound);
    conditional += c.quality.kind == BoundKind::conditional;
    bounds += c.quality.kind == BoundKind::conditional ? static_cast<double>(c.quality.bound) / 16 : 0;
  }
  const auto n = static_cast<double>(model.ns.size());
  result("%-11s model        %s   conditional %5.1f %%, its mean bound %.0f ns", what, model.text().c_str(),
         100 * conditional / n, bounds / std::max(conditional, 1.0));
  result("%-11s one line     %s", "", one_line.text().c_str());
  result("%-11s each minute  %s", "", anchored.text().c_str());
  if (within < n) std::puts("WRONG: a marker lies outside of its hard bound"), std::exit(1);
}

void convert(size_t a_call) {
  const size_t count = working_set() / 8;
  const World w = world("steps", once() ? 10 : 120, 3);
  std::vector<ClockSegment> segments;
  test::observe(w, {}, 5, segments);
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
    seen.push_back(map.at(times[std::min(i + a_call, count) - 1], w.end).host + kSecond / 1000);
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
  for (const size_t a_call : {64, 512, 8192}) convert(a_call);
  std::puts("  off by, in us                     median          p99      largest");
  for (const char* what : {"drift", "wander", "steps", "PLL steps", "ramps", "idle stops"}) compare(what);
}

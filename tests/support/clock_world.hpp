// Simulated worlds for the clock model: a counter whose every cycle is known, and an observer who reads it
// over a link that takes its time. Host time is simulated too; nothing here examines a real clock.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "collector/clock/clock_estimator.hpp"

namespace ttc::test {

using collect::ClockRead;
using collect::HostTime;

inline constexpr double kTicksPerSecond = 16e9;

// What the counter did: parabolas, one behind the other.
class CounterTruth {
 public:
  CounterTruth(HostTime start, uint64_t cycles) : pieces_{{start, static_cast<long double>(cycles), 0, 0}} {}

  // The frequency is `hz` from `at` on, growing by hz_per_s every second. 0 Hz: the clock is stopped.
  void change(HostTime at, double hz, double hz_per_s = 0) {
    const long double cycles = exactly(at);
    if (pieces_.back().from == at) pieces_.pop_back();
    pieces_.push_back({at, cycles, hz, hz_per_s});
  }
  void reset(HostTime at, uint64_t cycles) {
    pieces_.push_back({at, static_cast<long double>(cycles), pieces_.back().hz, pieces_.back().hz_per_s});
  }
  uint64_t cycles(HostTime at) const { return static_cast<uint64_t>(exactly(at)); }
  double hz(HostTime at) const {
    const Piece& p = piece(at);
    return p.hz + p.hz_per_s * static_cast<double>(at - p.from) / kTicksPerSecond;
  }

 private:
  struct Piece {
    HostTime from;
    long double cycles;
    double hz, hz_per_s;
  };
  const Piece& piece(HostTime at) const {
    auto p = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                              [](HostTime t, const Piece& x) { return t < x.from; });
    return p == pieces_.begin() ? *p : *std::prev(p);
  }
  long double exactly(HostTime at) const {
    const Piece& p = piece(at);
    const long double s = static_cast<long double>(at - p.from) / 16e9L;
    return p.cycles + s * (p.hz + s * p.hz_per_s / 2);
  }
  std::vector<Piece> pieces_;
};

struct LinkOptions {
  double round_trip_ns = 1000;
  double tail_share = 0.02;  // of reads that take longer: up to 3 us, rarely 20
  double asymmetry = 1;      // the moment of reading: this share of the round trip about its middle
  double constant_skew = 0;  // -0.5: always at its start, 0.5: always at its end
  double preempted = 0;      // share of reads in which the observer loses its CPU for 0.05 to 5 ms
  unsigned reads = 8;        // a sample
};

class Link {
 public:
  Link(const LinkOptions& o, uint64_t seed) : o_(o), random_(seed) {}

  // Reads from `at` on; returns when they were over.
  template <class Truth>
  HostTime sample(const Truth& truth, HostTime at, std::vector<ClockRead>& burst) {
    burst.clear();
    for (unsigned i = 0; i < o_.reads; ++i) {
      double ns = o_.round_trip_ns * (1 + 0.1 * chance());
      if (chance() < o_.tail_share) ns += o_.round_trip_ns * (chance() < 0.1 ? 20 : 2) * chance();
      double before_ns = ns * std::clamp(0.5 + o_.constant_skew + (chance() - 0.5) * o_.asymmetry, 0.0, 1.0);
      double after_ns = ns - before_ns;
      if (chance() < o_.preempted)
        (chance() < 0.5 ? before_ns : after_ns) += 50e3 + 5e6 * chance() * chance();
      const HostTime moment = at + static_cast<HostTime>(before_ns * 16);
      const HostTime end = moment + static_cast<HostTime>(after_ns * 16) + 1;
      burst.push_back({at, end, truth.cycles(moment)});
      at = end + static_cast<HostTime>(16 * (60 + 40 * chance()));
    }
    return at;
  }
  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

 private:
  LinkOptions o_;
  std::mt19937_64 random_;
};

struct World {
  CounterTruth truth;
  HostTime begin, end;
  LinkOptions link;
  double missed = 0;  // share of samples that are not taken
  struct Outage {
    HostTime from, until;
  };
  std::vector<Outage> outages;  // without any sample
  bool meets_condition = true;
  std::vector<HostTime> changes;  // steps, starts and stops
  std::vector<HostTime> resets;   // of the counter
  const char* what = "";
};

// All samples of a world through an estimator.
inline collect::ClockEstimator observe(const World& w, const collect::ClockRules& rules, uint64_t seed,
                                       std::vector<collect::ClockSegment>& segments,
                                       HostTime period = 1'000'000'000) {
  collect::ClockEstimator estimator(rules);
  Link link(w.link, seed);
  std::vector<ClockRead> burst;
  HostTime at = w.begin;
  for (HostTime due = w.begin; due < w.end; due += period) {
    if (link.chance() < w.missed) continue;
    if (std::any_of(w.outages.begin(), w.outages.end(),
                    [&](const auto& o) { return o.from <= due && due < o.until; }))
      continue;
    at = std::max(due, at) + static_cast<HostTime>(link.chance() * 1e6);  // never quite on time
    at = link.sample(w.truth, at, burst);
    estimator.add(burst);
    for (const auto& s : estimator.take_final()) segments.push_back(s);
  }
  estimator.finish();
  for (const auto& s : estimator.take_final()) segments.push_back(s);
  return estimator;
}

}  // namespace ttc::test

// Worlds in which the clock moves: a crystal that wanders against the host, and a counter that runs at some
// frequency of it, ramps, or stops. A world is a function from host time to cycles; how a model explains it
// plays no part here, nor does any code of the collector but the shape of a read.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/clock_world.hpp"

namespace ttc::test {

// Pieces in host time, each with a frequency that changes linearly. The crystal is in the frequencies.
class MovingWorld {
 public:
  MovingWorld(HostTime begin, uint64_t cycles, double crystal) : begin_(begin), crystal_(crystal) {
    pieces_.push_back({begin, static_cast<long double>(cycles), 0, 0});
    crystals_.push_back({begin, 0, crystal, 0});
  }

  // The counter runs at `hz` by its crystal from `at` on, growing by hz_per_s every second.
  void change(HostTime at, double hz, double hz_per_s = 0) {
    put(at, hz, hz_per_s);
    nominal_ = hz, slope_ = hz_per_s, nominal_from_ = at;
  }
  // The crystal's rate against the host grows by `per_s` every second from `at` on.
  void wander(HostTime at, double per_s) {
    const Crystal& last = crystals_.back();
    const long double s = static_cast<long double>(at - last.from) / 16e9L;
    const long double seconds = last.seconds + s * (last.rate + s * last.rate_per_s / 2);
    crystal_ = crystal(at);
    crystals_.push_back({at, seconds, crystal_, per_s});
    crystal_slope_ = per_s;
    crystal_from_ = at;
    const double hz = nominal_ + slope_ * static_cast<double>(at - nominal_from_) / kTicksPerSecond;
    change(at, hz, slope_);
  }

  HostTime begin() const { return begin_; }
  uint64_t cycles(HostTime at) const { return static_cast<uint64_t>(exactly(at)); }
  double hz(HostTime at) const {
    const Piece& p = piece(at);
    return p.hz + p.hz_per_s * static_cast<double>(at - p.from) / kTicksPerSecond;
  }
  double nominal(HostTime at) const {
    return nominal_ + slope_ * static_cast<double>(at - nominal_from_) / kTicksPerSecond;
  }
  // Ticks of a counter of the crystal alone, at `hz`.
  uint64_t reference(HostTime at, double hz) const {
    const Crystal* c = crystals_.data();
    while (c + 1 < crystals_.data() + crystals_.size() && c[1].from <= at) ++c;
    const long double s = static_cast<long double>(at - c->from) / 16e9L;
    return static_cast<uint64_t>(1e9L + (c->seconds + s * (c->rate + s * c->rate_per_s / 2)) * hz);
  }
  // Largest and least frequency from `from` to `until`.
  struct Range {
    double low, high;
  };
  Range range(HostTime from, HostTime until) const {
    Range r{hz(from), hz(from)};
    const auto take = [&](double hz) { r = {std::min(r.low, hz), std::max(r.high, hz)}; };
    take(hz(until));
    for (const Piece* p = &piece(from) + 1; p != pieces_.data() + pieces_.size() && p->from <= until; ++p)
      take(p->hz), take(hz(p->from - 1));
    return r;
  }
  // The piece around `at`, within which the frequency is one straight line in time.
  struct Span {
    HostTime from, until;
    bool steady;
  };
  Span span(HostTime at) const {
    const Piece* p = &piece(at);
    const bool last = p == &pieces_.back();
    return {p->from, last ? ~HostTime{0} : p[1].from, std::abs(p->hz_per_s) <= 2e-6 * p->hz && p->hz > 0};
  }

 private:
  struct Piece {
    HostTime from;
    long double cycles;
    double hz, hz_per_s;
  };
  double crystal(HostTime at) const {
    return crystal_ + crystal_slope_ * static_cast<double>(at - crystal_from_) / kTicksPerSecond;
  }
  void put(HostTime at, double hz, double hz_per_s) {
    const long double cycles = exactly(at);
    if (pieces_.back().from == at) pieces_.pop_back();
    // The product of two straight lines, its square left out: a thousandth of a cycle a second.
    pieces_.push_back({at, cycles, hz * crystal(at), hz_per_s * crystal(at) + hz * crystal_slope_});
  }
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

  // The time by the crystal, since the begin.
  struct Crystal {
    HostTime from;
    long double seconds, rate, rate_per_s;
  };

  HostTime begin_;
  double crystal_, crystal_slope_ = 0;
  std::vector<Crystal> crystals_;
  HostTime crystal_from_ = 0;
  double nominal_ = 0, slope_ = 0;
  HostTime nominal_from_ = 0;
  std::vector<Piece> pieces_;
};

enum class Motion {
  steady,
  pll_apart,
  steps_apart,
  ramps,
  stairs,
  stops,
  pll,
  mixed,
  slow_ramps,
  triangles,
  waves,
  droops
};
inline constexpr Motion kMotions[] = {Motion::steady,    Motion::pll_apart, Motion::steps_apart,
                                      Motion::ramps,     Motion::stairs,    Motion::stops,
                                      Motion::pll,       Motion::mixed,     Motion::slow_ramps,
                                      Motion::triangles, Motion::waves,     Motion::droops};
inline const char* to_string(Motion m) {
  constexpr const char* kNames[] = {"steady",
                                    "PLL steps 20..60 ms apart",
                                    "any steps 20..400 ms apart",
                                    "ramps 10 us..1 s",
                                    "ramps in PLL steps",
                                    "idle stops 1 us..1 s",
                                    "PLL steps 1..20 ms apart",
                                    "all of them",
                                    "ramps of 1..300 ppm/ms",
                                    "up and down at 1..300 ppm/ms",
                                    "waves of 0.2..100 Hz",
                                    "droops of 5 us..5 ms"};
  return kNames[static_cast<size_t>(m)];
}

class MotionMaker {
 public:
  MotionMaker(Motion motion, double seconds, uint64_t seed)
      : motion_(motion),
        dice_({}, seed),
        begin_(static_cast<HostTime>(16e9 * (1 + 1e5 * dice_.chance()))),
        end_(begin_ + static_cast<HostTime>(seconds * 16e9)),
        at_(begin_),
        world_(begin_, static_cast<uint64_t>(1e12 * dice_.chance()), 1 + between(-200e-6, 200e-6)) {}

  MovingWorld make() {
    world_.change(begin_, kPll * whole(112, 216));
    while (at_ < end_) {
      if (motion_ == Motion::steady || dice_.chance() < 0.05) {
        at_ += ticks(motion_ == Motion::steady ? between(0.2, 3) : between(0.02, 0.1));
        world_.wander(at_, between(-0.9e-6, 0.9e-6));
      }
      event();
    }
    return std::move(world_);
  }
  HostTime end() const { return end_; }

 private:
  static constexpr double kPll = 6.25e6;
  static HostTime ticks(double seconds) { return static_cast<HostTime>(seconds * 16e9) + 1; }
  double between(double low, double high) { return low + (high - low) * dice_.chance(); }
  double by_length(double low, double high) { return low * std::pow(high / low, dice_.chance()); }
  double whole(int low, int high) { return std::floor(between(low, high + 1)); }
  double hz() { return world_.nominal(at_); }
  double pll_step(int most) {
    const double by = kPll * whole(1, most);
    return hz() + (hz() + by > 1.35e9 || (hz() - by > 7e8 && dice_.chance() < 0.5) ? -by : by);
  }
  double another() {
    double to = hz();
    while (std::abs(to - hz()) < 25e6) to = kPll * whole(80, 216);
    return to;
  }

  void event() {
    switch (motion_) {
      case Motion::steady:
        return;
      case Motion::pll_apart:
        at_ += ticks(between(0.02, 0.06));
        return world_.change(at_, pll_step(1));
      case Motion::steps_apart:
        at_ += ticks(between(0.02, 0.4));
        return world_.change(at_, another());
      case Motion::ramps:
        at_ += ticks(between(0.02, 0.4));
        return ramp();
      case Motion::stairs:
        at_ += ticks(between(0.02, 0.4));
        return stairs();
      case Motion::stops:
        at_ += ticks(between(0.02, 0.4));
        return stop();
      case Motion::pll:
        at_ += ticks(between(0.001, 0.02));
        return world_.change(at_, pll_step(1));
      case Motion::mixed:
        return any();
      case Motion::slow_ramps:
        at_ += ticks(between(0, 0.4));
        return slow_ramp(hz() > 1.1e9 || (hz() > 7e8 && dice_.chance() < 0.5) ? -1 : 1);
      case Motion::triangles:
        up_ = -up_;
        return slow_ramp(hz() > 1.3e9 ? -1 : hz() < 7e8 ? 1 : up_);
      case Motion::waves:
        return wave();
      case Motion::droops:
        at_ += ticks(by_length(0.002, 0.2));
        return droop();
    }
  }
  // Changes as ttemu --dvfs all makes them: mostly PLL steps, now and then a droop or a stop.
  void any() {
    const double what = dice_.chance();
    at_ += ticks(what < 0.85 ? between(0.001, 0.02) : between(0.02, 0.4));
    if (what < 0.85) return world_.change(at_, pll_step(1));
    if (what < 0.9) return ramp();
    if (what < 0.96) return stairs();
    stop();
  }
  void ramp() {
    const double from = hz(), to = another(), seconds = by_length(10e-6, 1);
    world_.change(at_, from, (to - from) / seconds);
    at_ += ticks(seconds);
    world_.change(at_, to);
  }
  void stairs() {
    const double top = hz();
    const int steps = static_cast<int>(whole(4, 16));
    const double apart = by_length(10e-6, 1) / steps;
    for (int i = 1; i <= steps; ++i, at_ += ticks(apart)) world_.change(at_, top - kPll * i);
    at_ += ticks(by_length(10e-6, 0.1));
    for (int i = steps; i-- > 0; at_ += ticks(apart)) world_.change(at_, top - kPll * i);
  }
  // Never back to a multiple of the PLL but by chance.
  void slow_ramp(double sign) {
    const double room = sign > 0 ? 1.38e9 - hz() : hz() - 5e8;
    const double per_s = sign * by_length(1e-3, 0.3) * hz(), by = std::min(by_length(6.25e6, 200e6), room);
    const double seconds = std::min(by / std::abs(per_s), 1.5), to = hz() + per_s * seconds;
    world_.change(at_, hz(), per_s);
    at_ += ticks(seconds);
    world_.change(at_, to);
  }
  // One period of a sine, in 64 straight pieces.
  void wave() {
    const double middle = hz(), swing = by_length(1e5, 3e7), seconds = 1 / by_length(0.2, 100);
    constexpr int kPieces = 64;
    for (int i = 0; i < kPieces; ++i, at_ += ticks(seconds / kPieces)) {
      const double from = middle + swing * std::sin(6.283185307179586 * i / kPieces);
      const double to = middle + swing * std::sin(6.283185307179586 * (i + 1) / kPieces);
      world_.change(at_, from, (to - from) * kPieces / seconds);
    }
    world_.change(at_, middle);
  }
  // Some multiples lower at once, and back.
  void droop() {
    const double top = hz();
    world_.change(at_, top - kPll * whole(1, 16));
    at_ += ticks(by_length(5e-6, 5e-3));
    world_.change(at_, top);
  }
  void stop() {
    const double before = hz();
    world_.change(at_, 0);
    at_ += ticks(by_length(1e-6, 1));
    world_.change(at_, before);
  }

  Motion motion_;
  double up_ = 1;
  Link dice_;
  HostTime begin_, end_, at_;
  MovingWorld world_;
};

}  // namespace ttc::test

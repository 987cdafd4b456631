#include "driver_iface/card/quick_clock.hpp"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace ttc::card {
namespace {

// Counters of hosts run at 0.5 to 10 GHz.
constexpr double kLeastNsATick = 0.1, kMostNsATick = 2;
// How far RAW may be from what the rate gives: a counter that was stopped or set is further away.
constexpr double kMostError = 1e-3;
constexpr int kTries = 5;  // for a pair: the thread can lose its CPU between two readings

uint64_t raw_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

TickSource host_ticks() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
  return {invariant, [] { return static_cast<uint64_t>(__rdtsc()); }, raw_ns};
#else
  return {false, nullptr, raw_ns};
#endif
}

QuickClock::QuickClock(TickSource source) : source_(source) {
  if (source_.usable) first_ = base_ = pair();
}

uint64_t QuickClock::operator()() {
  if (!source_.usable) return source_.raw_ns();
  const uint64_t since = source_.ticks() - base_.ticks;
  if (ns_a_tick_ == 0 || since > kPeriodTicks) return measure();  // also where the counter went back
  return at_least_last(base_.raw_ns + static_cast<uint64_t>(static_cast<double>(since) * ns_a_tick_));
}

QuickClock::Pair QuickClock::pair() const {
  Pair best{};
  uint64_t width = ~uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = source_.ticks(), raw = source_.raw_ns(), wide = source_.ticks() - before;
    if (wide >= width) continue;
    width = wide;
    best = {before + wide / 2, raw};
  }
  return best;
}

uint64_t QuickClock::measure() {
  const Pair now = pair();
  const auto ns = static_cast<double>(now.raw_ns - first_.raw_ns);
  const auto ticks = static_cast<double>(static_cast<int64_t>(now.ticks - first_.ticks));
  if (now.raw_ns - first_.raw_ns < kMeasureNs) return at_least_last(now.raw_ns);
  const double rate = ns / ticks;
  const bool moved =
      ns_a_tick_ != 0 && (rate > ns_a_tick_ * (1 + kMostError) || rate < ns_a_tick_ * (1 - kMostError));
  if (moved || !(rate >= kLeastNsATick && rate <= kMostNsATick)) {
    first_ = now;
    ns_a_tick_ = 0;
  } else {
    base_ = now;
    ns_a_tick_ = rate;
  }
  return at_least_last(now.raw_ns);
}

}  // namespace ttc::card

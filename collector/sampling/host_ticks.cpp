#include "collector/sampling/host_ticks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include <algorithm>
#include <cmath>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr int kTries = 5;
constexpr uint64_t kFirstBaseNs = 2'000'000;  // over which the rate is first measured
constexpr uint64_t kBaseNs = 8'000'000'000;   // then from 8 to 16 s
constexpr double kRawNs = 1;                  // it counts whole nanoseconds

// Counts at one rate in every state of every core (CPUID 8000_0007h EDX bit 8).
bool tsc_is_invariant() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
  return false;
#endif
}

}  // namespace

uint64_t HostTicks::tsc() {
#if defined(__x86_64__)
  unsigned core;
  return __rdtscp(&core);  // waits for the loads before it
#else
  return raw_now_ns();
#endif
}

uint64_t HostTicks::now() const {
  return tsc_ ? tsc() : raw_now_ns();
}

HostTicks::HostTicks() : tsc_(tsc_is_invariant()) {
  if (!tsc_) return;
  far_ = next_far_ = take();
}

// The tightest of a few.
HostTicks::Anchor HostTicks::take() const {
  Anchor best;
  uint64_t width = ~uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = tsc(), raw = raw_now_ns(), after = tsc();
    if (after - before >= width) continue;
    width = after - before;
    best.stamp = before + width / 2;
    best.raw_ns = raw;
  }
  best.half_ns = static_cast<double>(width) / 2;  // in stamps: anchor() makes nanoseconds of it
  return best;
}

void HostTicks::anchor() {
  if (!tsc_) return;
  while (raw_now_ns() - far_.raw_ns < kFirstBaseNs) {  // only when called right after construction
  }
  last_ = take();
  const auto ticks = static_cast<double>(last_.stamp - far_.stamp);
  const auto ns = static_cast<double>(last_.raw_ns - far_.raw_ns);
  ns_a_tick_ = ns / ticks;
  last_.half_ns *= ns_a_tick_;
  rate_error_ = (2 * last_.half_ns + 2 * kRawNs) / ns * ns_a_tick_;  // brackets of one machine are alike
  if (last_.raw_ns - next_far_.raw_ns > kBaseNs) {
    far_ = next_far_;
    next_far_ = last_;
  }
}

HostTicks::Limits HostTicks::limits(uint64_t stamp) const {
  if (!tsc_) return {stamp * kHostTicksPerNs, (stamp + 1) * kHostTicksPerNs};
  const auto ticks = static_cast<double>(static_cast<int64_t>(stamp - last_.stamp));
  const double ns = ticks * ns_a_tick_, error = last_.half_ns + kRawNs + std::abs(ticks) * rate_error_;
  const HostTime base = last_.raw_ns * kHostTicksPerNs;
  const auto at = [&](double x) {
    return base + static_cast<uint64_t>(
                      static_cast<int64_t>(std::llround(x * static_cast<double>(kHostTicksPerNs))));
  };
  return {at(ns - error), at(ns + error)};
}

HostTicks::Clocks HostTicks::compare() {
  Clocks best{};
  best.error_ns = ~uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = raw_now_ns();
    const uint64_t real = host_clock_ns(CLOCK_REALTIME), boot = host_clock_ns(CLOCK_BOOTTIME);
    const uint64_t after = raw_now_ns();
    if (after - before >= best.error_ns) continue;
    const uint64_t raw = before + (after - before) / 2;
    best = {raw, static_cast<int64_t>(real - raw), static_cast<int64_t>(boot - raw), after - before};
  }
  return best;
}

}  // namespace ttc::collect

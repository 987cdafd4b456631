// How a card's clock moves under firmware that changes it: PLL steps of 6.25 MHz every 1 to 20 ms, droop (ramps down in such steps over
// 10 us to 1 s, and up again), idle stops of 1 us to 1 s. Source of the ranges: tt-metal issue #56139 and the streaming profiler's
// common.h (AICLK in eighths of the 50 MHz reference clock). Pure: a profile and a seed in, changes out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tools/chip/workload.hpp"

namespace ttc::chip {

inline constexpr uint64_t kPllStepHz = 6'250'000;

struct ClockProfile {
  bool pll = false, droop = false, idle = false;
  uint64_t for_ns = 60'000'000'000;  // then the clock is what it was at first
  uint64_t seed = 1;
};
// pll, droop, idle or all, with :for=SECONDS and :seed=N behind it. Throws WorkloadError.
ClockProfile read_clock_profile(const std::string& text);

struct ClockChange {
  uint64_t after_ns;
  uint64_t hz;  // 0: the clock is stopped
};
// A profile has at most so many changes, in order of time, no two at one time. The rate is `nominal_hz` or less by
// whole PLL steps.
inline constexpr size_t kMostClockChanges = 16'000;
// Throws WorkloadError where the profile lasts too long for so many.
std::vector<ClockChange> clock_changes(const ClockProfile& profile, uint64_t nominal_hz);

}  // namespace ttc::chip

// The host's clocks, in nanoseconds. Reads of a card are stamped with RAW; waits use MONOTONIC.
#pragma once
#include <time.h>

#include <cstdint>
#include <functional>

namespace ttc::collect {

inline uint64_t host_clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}
inline uint64_t raw_now_ns() {
  return host_clock_ns(CLOCK_MONOTONIC_RAW);
}
inline uint64_t monotonic_now_ns() {
  return host_clock_ns(CLOCK_MONOTONIC);
}

// The time `duration` before `now`, in the unit of both. A duration longer than the host's uptime gives 0, its boot.
inline uint64_t before(uint64_t now, uint64_t duration) {
  return now > duration ? now - duration : 0;
}

// The clock with which a drain stamps reads and detects late polls: raw_now_ns, or simulated time where
// a test owns card and clock. A flight recorder has one as well.
using HostClock = std::function<uint64_t()>;

}  // namespace ttc::collect

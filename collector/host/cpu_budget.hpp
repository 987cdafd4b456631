// The share of a CPU that a thread may take which others cannot interrupt. Pure: times come from the caller.
//
// A bucket of CPU time: it fills at `share` of the time that passes, what the thread uses is taken out of it, and it holds
// at most one burst. So in any stretch of t the thread uses at most share * t + kBurstNs plus what it does between two calls.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ttc::collect {

class CpuBudget {
 public:
  static constexpr int64_t kBurstNs = 1'000'000;
  // The least rest that is worth a sleep, far below the deadline of polls (collector/continuity/timing.hpp).
  static constexpr int64_t kRestNs = 100'000;

  // `now_ns` and `cpu_ns` are readings of one monotonic clock and of the thread's CPU clock, as in every later call.
  CpuBudget(uint64_t now_ns, uint64_t cpu_ns) : now_ns_(now_ns), cpu_ns_(cpu_ns) {}

  // How long the thread must sleep before it continues; 0: not at all. `share`: in (0, 1], may change from call to call.
  uint64_t rest_ns(uint64_t now_ns, uint64_t cpu_ns, double share) {
    left_ns_ += share * static_cast<double>(now_ns - now_ns_) - static_cast<double>(cpu_ns - cpu_ns_);
    left_ns_ = std::min(left_ns_, static_cast<double>(kBurstNs));
    now_ns_ = now_ns;
    cpu_ns_ = cpu_ns;
    if (left_ns_ > 0) return 0;
    return static_cast<uint64_t>(std::max(-left_ns_ / share, static_cast<double>(kRestNs)));
  }

 private:
  uint64_t now_ns_, cpu_ns_;
  double left_ns_ = kBurstNs;
};

}  // namespace ttc::collect

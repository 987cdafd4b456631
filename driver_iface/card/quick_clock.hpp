// Nanoseconds for an account of every access: the time stamp counter, at a rate that is measured against CLOCK_MONOTONIC_RAW. A reading
// costs some 12 ns where clock_gettime costs 30. It never goes back, and is within a thousandth of RAW over any time. It is no time of
// its own: it must not be compared with what other clocks give.
//
// The counter is used where it is invariant (CPUID 8000_0007h EDX bit 8), and not before RAW has measured it for kMeasureNs. It is
// measured again every kPeriodTicks; where it then is not where it must be (a suspended host), RAW measures it afresh.
#pragma once
#include <cstdint>

namespace ttc::card {

// What it reads. Tests have others.
struct TickSource {
  bool usable = false;
  uint64_t (*ticks)() = nullptr;
  uint64_t (*raw_ns)() = nullptr;
};
TickSource host_ticks();

class QuickClock {
 public:
  static constexpr uint64_t kMeasureNs = 4'000'000;
  static constexpr uint64_t kPeriodTicks = uint64_t{1} << 31;  // about a second

  explicit QuickClock(TickSource source = host_ticks());
  uint64_t operator()();

 private:
  struct Pair {
    uint64_t ticks, raw_ns;
  };
  Pair pair() const;
  uint64_t measure();
  uint64_t at_least_last(uint64_t ns) { return last_ns_ = ns > last_ns_ ? ns : last_ns_; }

  TickSource source_;
  Pair first_{}, base_{};
  double ns_a_tick_ = 0;  // 0: not yet measured
  uint64_t last_ns_ = 0;
};

}  // namespace ttc::card

// Host time for brackets: the time stamp counter (rdtscp, a few nanoseconds) tied to CLOCK_MONOTONIC_RAW, and
// the differences to the host's other clocks. Where the counter is not invariant, or the machine is no x86,
// RAW itself.
#pragma once
#include <cstdint>

#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

class HostTicks {
 public:
  HostTicks();

  bool uses_tsc() const { return tsc_; }
  static uint64_t tsc();
  // A stamp. Only instants() makes a time of it.
  uint64_t now() const;
  // Relates stamps to RAW again: to be called before each burst of reads, whose stamps should not be much later.
  void anchor();

  // RAW is between the two at the instant of a stamp taken since anchor().
  struct Limits {
    HostTime earliest, latest;
  };
  Limits limits(uint64_t stamp) const;

  // RAW against REALTIME and BOOTTIME, bracketed.
  struct Clocks {
    uint64_t raw_ns;
    int64_t realtime_minus_raw_ns, boottime_minus_raw_ns;
    uint64_t error_ns;
  };
  static Clocks compare();

 private:
  struct Anchor {
    uint64_t stamp = 0;
    uint64_t raw_ns = 0;
    double half_ns = 0;  // of the bracket in stamps
  };
  Anchor take() const;

  bool tsc_;
  Anchor far_, next_far_, last_;  // the rate is measured from far_ to last_
  double ns_a_tick_ = 1, rate_error_ = 0;
};

}  // namespace ttc::collect

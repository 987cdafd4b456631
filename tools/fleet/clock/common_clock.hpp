// One host's clock against the common one, as an interval that holds the true difference. Pure.
//
// The common time of a job is CLOCK_MONOTONIC_RAW of the host of rank 0. A round trip bounds the difference without any
// assumption on the ways there and back: the question left before it came, and the answer came after it left. Where both kernels'
// clocks are disciplined (chrony, ntpd, PTP through it), their difference to UTC and its largest error give a second interval;
// the true difference lies in both. An interval grows with its age by what two oscillators can drift apart.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

#include "tools/fleet/wire/control.hpp"

namespace ttc::fleet {

enum class ClockSource : uint8_t { none = 0, same_host = 1, round_trips = 2, kernels = 3, both = 4 };
const char* name_of(ClockSource source);

struct ClockOffset {
  int64_t offset_ns = 0;  // common less RAW
  uint64_t bound_ns = ~uint64_t{0};
  uint64_t reference = 0;
  ClockSource how = ClockSource::none;
  bool known() const { return how != ClockSource::none; }
};

// A host's own clock against UTC, by its kernel.
struct KernelClock {
  int64_t utc_minus_raw_ns = 0;
  uint64_t bound_ns = ~uint64_t{0};  // ~0: it is not disciplined
};

class CommonClock {
 public:
  static constexpr uint64_t kDriftPpm = 200;  // of two oscillators against each other
  static constexpr uint64_t kKeepNs = 60'000'000'000;

  // This host is the reference, or shares its RAW.
  void is_reference(uint64_t reference);
  // A question that left and an answer that came, in RAW of this host. False: they contradict each other.
  bool round_trip(uint64_t left_ns, const ClockAnswer& answer, uint64_t came_ns, const KernelClock& own);

  ClockOffset at(uint64_t raw_ns) const;
  uint64_t contradictions() const { return contradictions_; }  // kernels' intervals that no round trip allows

 private:
  struct Interval {
    uint64_t at_ns = 0;
    int64_t low = 0, high = 0;
    bool kernel = false;
  };
  static Interval at(const Interval& interval, uint64_t raw_ns);

  uint64_t reference_ = 0;
  bool same_ = false;
  std::deque<Interval> intervals_;
  uint64_t contradictions_ = 0;
};

// Of two instants on the common time, each with a bound.
enum class Sequence : uint8_t { before, after, unknown };
Sequence order_of(uint64_t a_ns, uint64_t a_bound_ns, uint64_t b_ns, uint64_t b_bound_ns);

}  // namespace ttc::fleet

// One host's clock against the common one, as an interval that holds the true difference. Pure.
//
// The common time of a job is CLOCK_MONOTONIC_RAW of the host of rank 0. A round trip bounds the difference without any assumption on the
// ways there and back: the request left before it came, and the answer came after it left. If the distance of both hosts to one time
// scale is known (discipline.hpp), that gives a second interval. The true difference lies in all of them (offset_lines.hpp).
#pragma once
#include <cstdint>
#include <optional>

#include "tools/fleet/clock/discipline.hpp"
#include "tools/fleet/clock/offset_lines.hpp"
#include "tools/fleet/wire/control.hpp"

namespace ttc::fleet {

enum class ClockSource : uint8_t { none = 0, same_host = 1, round_trips = 2, disciplined = 3 };
const char* name_of(ClockSource source);

struct ClockOffset {
  int64_t offset_ns = 0;  // common less RAW
  uint64_t bound_ns = ~uint64_t{0};
  uint64_t reference = 0;
  ClockSource how = ClockSource::none;
  bool known() const { return how != ClockSource::none; }
};

class CommonClock {
 public:
  // This host is the reference, or shares its RAW.
  void is_reference(uint64_t reference);
  // A question that left and an answer that came, in RAW of this host. False: they contradict each other.
  bool round_trip(uint64_t left_ns, const ClockAnswer& answer, uint64_t came_ns, const Discipline& own);

  ClockOffset at(uint64_t raw_ns) const;
  // Intervals by a time scale that no round trip allows: they are left out.
  uint64_t contradictions() const { return contradictions_; }

 private:
  uint64_t reference_ = 0;
  bool same_ = false;
  OffsetLines lines_;
  uint64_t disciplined_until_ns_ = 0;
  uint64_t contradictions_ = 0;
};

// The order of two instants on the common time, each with a bound.
enum class Sequence : uint8_t { before, after, unknown };
Sequence order_of(uint64_t a_ns, uint64_t a_bound_ns, uint64_t b_ns, uint64_t b_bound_ns);

}  // namespace ttc::fleet

// A straight piece of the map as it is published. It cannot be built with a slope that the card's clock cannot
// have: not from reads that are late, missing, or nearly at once, nor across a stop of the counter.
#pragma once
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

class DrawnLine {
 public:
  // Joins one point to another with more cycles. If the line between them is too slow, cycles take `usual_ticks`
  // each, and half of the rest is in front of the line, half behind it: the counter stopped somewhere in between. If
  // it is too fast, or goes back, the line ends later than `host_to`.
  DrawnLine(uint64_t from_cycles, HostTime host_from, uint64_t to_cycles, HostTime host_to,
            double usual_ticks);

  uint64_t from_cycles() const { return from_cycles_; }
  HostTime host_from() const { return host_from_; }
  HostTime host_to() const { return host_to_; }
  double ticks_a_cycle() const;
  // The line joins the two points.
  bool straight() const { return straight_; }
  // The time at which the map continues.
  HostTime next() const { return next_; }
  // The segment has no bounds yet.
  ClockSegment segment() const;

 private:
  uint64_t from_cycles_, to_cycles_;
  HostTime host_from_, host_to_, next_;
  bool straight_ = true;
};

}  // namespace ttc::collect

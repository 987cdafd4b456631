// A straight piece of the map as it is published. There is no way to build one whose slope the card's clock cannot
// have: not from reads that are late, missing, or nearly at once, nor across a time in which the counter stood.
#pragma once
#include "ttcollect/clock_segment.hpp"

namespace ttc::collect {

class DrawnLine {
 public:
  // From one point to another with more cycles. Where the line between them is too slow, cycles take
  // `usual_ticks` each, and what is left over lies half in front of the line and half behind it: the counter stood
  // somewhere in between. Where it is too fast, or goes back, the line ends later than `host_to`.
  DrawnLine(uint64_t from_cycles, HostTime host_from, uint64_t to_cycles, HostTime host_to,
            double usual_ticks);

  uint64_t from_cycles() const { return from_cycles_; }
  HostTime host_from() const { return host_from_; }
  HostTime host_to() const { return host_to_; }
  double ticks_a_cycle() const;
  // The line joins the two points.
  bool straight() const { return straight_; }
  // Where the map goes on.
  HostTime next() const { return next_; }
  // Without bounds.
  ClockSegment segment() const;

 private:
  uint64_t from_cycles_, to_cycles_;
  HostTime host_from_, host_to_, next_;
  bool straight_ = true;
};

}  // namespace ttc::collect

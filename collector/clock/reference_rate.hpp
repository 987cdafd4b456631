// The rate of the card's crystal against the host, from reads of a counter that only the crystal moves: Blackhole's
// reference timer (driver_iface/allow_list.hpp). The relation is a straight line but for the wander of both crystals.
#pragma once
#include <deque>
#include <optional>

#include "collector/clock/clock_read.hpp"
#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {

class ReferenceRate {
 public:
  // `hz`: of the timer by the crystal. `wander_per_s`: by how much the rate changes in a second at most.
  ReferenceRate(double hz, double wander_per_s) : pace_(1e9 / hz), wander_per_s_(wander_per_s) {}

  // A read of the timer. One that no line of the ones before explains starts a new line: the card was reset.
  void add(const ClockRead& read);
  // The crystal's rate about `at`; no value before there are enough reads.
  std::optional<Range> rate(HostTime at) const;

 private:
  bool find_rate();

  double pace_, wander_per_s_;
  std::deque<ClockRead> reads_;
  std::optional<Range> rate_;
};

}  // namespace ttc::collect

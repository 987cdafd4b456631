// Roughly what a card's clock showed at a host time: samples of one tile's wall clock, interpolated. Good to
// the distance of two samples, which is all the drain needs to judge whether something can have been missed.
// Not the clock model: no time stamp that is published comes from here.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>

#include "driver_iface/card.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {

class DeviceTime {
 public:
  static constexpr uint64_t kEveryNs = 10'000'000;
  static constexpr size_t kKept = 4096;  // 40 s of samples

  DeviceTime(card::Card& card, card::Coord tile, uint64_t host_ns, uint64_t cycles, HostClock clock)
      : card_(card), tile_(tile), clock_(std::move(clock)), samples_{{host_ns, cycles}} {}

  struct Sample {
    uint64_t host_ns;
    uint64_t cycles;
  };

  // Takes a sample when the last one is older than that. Four round trips and a window move.
  void sample(uint64_t older_than_ns);
  // Device cycles at `host_ns` (by the same clock), at most 2^44; takes a sample when it lies behind the
  // last one.
  uint64_t at(uint64_t host_ns);
  // A time that no marker recorded up to `host_ns` can have: generous, and without a round trip.
  uint64_t ceiling(uint64_t host_ns) const;

 private:
  card::Card& card_;
  card::Coord tile_;
  HostClock clock_;
  std::deque<Sample> samples_;  // never empty
};

}  // namespace ttc::collect

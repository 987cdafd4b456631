// Roughly what a card's clock showed at a host time: readings of one tile's wall clock, interpolated. Good to the distance of two
// readings, which is enough to find out whether a marker can have been missed. Not the clock model: no time stamp that is
// published comes from here. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

namespace ttc::collect {

class DeviceClock {
 public:
  static constexpr size_t kKept = 4096;

  struct Reading {
    uint64_t host_ns;  // before it was read
    uint64_t cycles;
  };
  // `mhz`: the clock's nominal rate.
  DeviceClock(const Reading& first, uint64_t mhz) : mhz_(mhz), readings_{first} {}

  void add(const Reading& reading);
  uint64_t newest_ns() const { return readings_.back().host_ns; }

  // Device cycles at `host_ns`, at most 2^44. Behind newest_ns() they go on at the rate of the last two readings.
  uint64_t at(uint64_t host_ns) const;
  // A time that no marker recorded up to `host_ns` can have: generous.
  uint64_t ceiling(uint64_t host_ns) const;

 private:
  uint64_t mhz_;
  std::deque<Reading> readings_;  // never empty
};

}  // namespace ttc::collect

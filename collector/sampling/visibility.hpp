// How long after its time a marker can be read: from a chunk's newest marker, by the clock model, to the moment behind its publication.
//
//   drain publishes a chunk   published(): tile, marker's time, now      kept, at most kMostWaiting
//   segments became final     settle(): times of what they cover         to `take`, each with the bound of its time
//
// What no final segment covers within kPatienceNs is counted, and measured no more. Where chunks come faster than kMostWaiting between two
// calls of settle(), only every second, fourth, ... is measured, until the next call. The device's thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collector/sampling/clock_sampler.hpp"

namespace ttc::collect {

class Visibility {
 public:
  static constexpr size_t kMostWaiting = 4096;
  static constexpr uint64_t kPatienceNs = 5'000'000'000;

  // `bound_ns`: how far the marker's host time may be off. A marker later than its publication by no more than that counts as 0.
  using Take = std::function<void(uint64_t visible_after_ns, uint64_t bound_ns)>;
  explicit Visibility(Take take) : take_(std::move(take)) {}

  // `place`: of the tile. `raw_ns`: CLOCK_MONOTONIC_RAW, behind the publication.
  void published(const ClockSampler::Place& place, uint64_t marker_time, uint64_t raw_ns);
  // The latest final segments of a domain.
  void settle(size_t domain, const ClockHead& head, std::span<const ClockSegment> recent, uint64_t raw_ns);

  uint64_t without_clock() const { return without_clock_; }

 private:
  struct Waiting {
    ClockSampler::Place place;
    uint64_t marker_time, raw_ns;
  };
  void thin_out();

  Take take_;
  std::vector<Waiting> waiting_;
  uint64_t every_ = 1, passed_over_ = 0;
  uint64_t without_clock_ = 0;
};

}  // namespace ttc::collect

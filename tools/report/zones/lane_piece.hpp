// What programs need of one batch of a lane's markers: far less than the markers. It depends on the batch alone, so that any thread can make it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tools/report/zones/event.hpp"

namespace ttc::report {

// A range from the earliest of what was added to the latest.
struct Range {
  uint64_t begin = std::numeric_limits<uint64_t>::max();
  uint64_t end = 0;
  bool operator==(const Range&) const = default;
  bool has_begin() const { return begin != std::numeric_limits<uint64_t>::max(); }
  bool whole() const { return has_begin() && end >= begin && end != 0; }
  uint64_t cycles() const { return whole() ? end - begin : 0; }
  void add(const Range& other) {
    if (other.begin < begin) begin = other.begin;
    if (other.end > end) end = other.end;
  }
};

// The part of a batch that belongs to one execution.
struct LanePiece {
  Range firmware, kernel, starts, seen;  // seen: any marker of a *-KERNEL zone
  Range span;                            // of everything, to distinguish executions
  uint64_t wait_front = 0, reserve_back = 0;
  uint32_t firmware_starts = 0, start_count = 0;
  bool has_firmware = false;

  bool operator==(const LanePiece&) const = default;
  bool empty() const { return !has_firmware && start_count == 0 && !seen.whole(); }
  // False when the marker begins the next execution.
  bool add(const Event& e);
};

// Appends the pieces of a batch.
void add_pieces(std::span<const Event> events, std::vector<LanePiece>& pieces);

inline bool has_dispatch(std::span<const Event> events) {
  return std::any_of(events.begin(), events.end(), [](const Event& e) { return is_dispatch(e.zone_class); });
}

}  // namespace ttc::report

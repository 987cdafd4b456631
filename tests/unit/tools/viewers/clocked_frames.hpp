// Frames of a chip with a clock model, on plain values: a counter of 1 GHz whose offset to host time is known to 60 us only, whose pace
// is known to 1e-9, and tiles whose counters are apart by up to 10 ns.
#pragma once
#include <vector>

#include "tools/pipeline/format.hpp"
#include "ttcollect/clock_map.hpp"

namespace ttc::tools {

inline constexpr uint64_t kClockedFrom = 1'000'000'000;  // ns of host time at cycle 0
inline constexpr uint64_t kClockedSpreadNs = 10, kClockedBoundNs = 60'000;

// `era`: resets of the counter before; each takes the place of the one before it, 10 ms later.
inline collect::ClockSegment clocked_segment(uint32_t era = 0) {
  constexpr uint64_t kTicks = collect::kHostTicksPerNs;
  const uint64_t from = kClockedFrom + era * 10'000'000;
  collect::ClockSegment s =
      collect::clock_segment_between(0, from * kTicks, 9'000'000, (from + 9'000'000) * kTicks);
  s.kind = collect::BoundKind::conditional;
  s.bound = s.hard_bound = kClockedBoundNs * kTicks;
  s.era = era;
  s.flags = collect::kFinalSegment;
  collect::set_pace_error(s, 1e-9);
  return s;
}

inline collect::ClockMap clocked_map(uint32_t eras = 1) {
  std::vector<collect::ClockSegment> segments;
  for (uint32_t era = 0; era < eras; ++era) segments.push_back(clocked_segment(era));
  collect::ClockHead head;
  head.tile_spread = kClockedSpreadNs * collect::kHostTicksPerNs;
  collect::ClockMap map;
  map.update(head, segments);
  return map;
}

// The markers of one launch, as the pipeline gives them with host times.
class ClockedFrame {
 public:
  // `clock`: null: there is no model.
  ClockedFrame(const collect::ClockMap* clock, uint8_t x, std::vector<markers::Marker> markers,
               uint64_t seen_ns = kClockedFrom + 9'500'000)
      : markers_(std::move(markers)), clock_(clock), x_(x), seen_ns_(seen_ns) {
    for (const markers::Marker& m : markers_) {
      const auto at = clock ? clock->at(m.time_cycles, seen_ns * collect::kHostTicksPerNs)
                            : collect::ClockMap::Converted{};
      const bool bounded = at.quality.bound != collect::kNoBound;
      times_.push_back(
          {at.host,
           bounded ? at.quality.bound + kClockedSpreadNs * collect::kHostTicksPerNs : collect::kNoBound,
           at.quality.kind, true});
      ns_.push_back(at.host / collect::kHostTicksPerNs);
    }
  }
  FrameEvents events() const {
    FrameEvents f{0,        x_,     1,     markers::CoreKind::tensix, device::Mode::normal, 0, 7, 0,
                  markers_, batch_, names_};
    f.main_zone = 10;
    f.host_times = times_;
    f.seen_ns = seen_ns_;
    f.tile_clock = clock_;
    return f;
  }
  std::span<const uint64_t> ns() const { return ns_; }

 private:
  std::vector<markers::Marker> markers_;
  const collect::ClockMap* clock_;
  uint8_t x_;
  uint64_t seen_ns_;
  std::vector<MarkerHostTime> times_;
  std::vector<uint64_t> ns_;
  markers::Batch batch_;
  markers::ZoneNames names_;
};

}  // namespace ttc::tools

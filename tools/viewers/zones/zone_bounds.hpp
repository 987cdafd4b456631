// Bounds of the durations of zones, as ZoneSteps pairs them: of a chip's lanes, one after another.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tools/viewers/zones/duration_bound.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class ZoneBounds {
 public:
  // Of a lane: the starts of zones that are open between frames.
  using Open = std::vector<TimedMarker>;

  // By marker, ns: of a zone's end the bound of its duration, kNoDurationBound elsewhere. Valid until the next call.
  std::span<const uint32_t> of(const FrameEvents& frame, std::span<const ZoneStep> steps, Open& open);
  // A clock model of the chip has changed.
  void clock_changed() { pace_clock_ = nullptr; }

 private:
  uint32_t within_frame(const FrameEvents& frame, uint32_t from, uint32_t to);

  std::vector<uint32_t> bounds_;
  // Most zones lie in the same part of the clock model as the one before.
  const collect::ClockMap* pace_clock_ = nullptr;
  collect::ClockMap::SamePace pace_;
};

}  // namespace ttc::tools

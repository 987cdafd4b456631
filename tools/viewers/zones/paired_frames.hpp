// Frames whose zones all begin and end in them, as nearly all do: their steps, the bounds of their zones' durations and their times, made by
// the thread that decoded them. They are those of the lane wherever no zone of an earlier frame is open and the frame is not late.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/zones/zone_bounds.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class PairedFrames : public FrameWork {
 public:
  // `bounds`: whether those of durations are wanted.
  explicit PairedFrames(bool bounds) : wants_bounds_(bounds) {}

  void begin() override;
  void frame(const FrameEvents& frame) override;

  struct Frame {
    std::span<const ZoneStep> steps;
    std::span<const uint32_t> bounds;  // by marker; empty: not wanted
    bool whole = false;                // false: a zone is open at its end, and there are no steps
  };
  Frame of(uint32_t number) const;
  std::span<const uint64_t> ns(uint32_t number) const;  // by marker; empty: the frame had no host times

 private:
  struct Ends {
    uint32_t steps = 0, bounds = 0, ns = 0;
    bool whole = false;
  };
  const bool wants_bounds_;
  ZoneSteps pairs_;
  ZoneBounds zone_bounds_;
  ZoneBounds::Open open_;  // none
  std::vector<ZoneStep> steps_;
  std::vector<uint32_t> bounds_;
  std::vector<uint64_t> ns_;
  std::vector<Ends> ends_;  // by frame, behind those of none
};

}  // namespace ttc::tools

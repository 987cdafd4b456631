// Frames whose zones all begin and end in them, as nearly all do: their steps, the bounds of their zones' durations and their times, or all of their
// text, made by the thread that decoded them. They are those of the lane wherever no zone of an earlier frame is open and the frame is not late.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/zones/frame_text_maker.hpp"
#include "tools/viewers/zones/launch_ends.hpp"
#include "tools/viewers/zones/zone_bounds.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class PairedFrames : public FrameWork {
 public:
  // `bounds`: whether those of durations are wanted. `text`, null: none is made.
  explicit PairedFrames(bool bounds, std::unique_ptr<FrameTextMaker> text = nullptr)
      : wants_bounds_(bounds), text_(std::move(text)) {}

  void begin(unsigned thread) override;
  bool frame(const FrameEvents& frame) override;

  struct Frame {
    std::span<const ZoneStep> steps;
    std::span<const uint32_t> bounds;  // by marker; empty: not wanted
    bool whole = false;                // false: a zone is open at its end, and there are no steps
  };
  Frame of(uint32_t number) const;
  std::span<const uint64_t> ns(uint32_t number) const;  // by marker; empty: the frame had no host times

  // Of a frame that has text: what else the format takes of it.
  struct Written {
    uint32_t text = 0;  // its number among those that have some
    uint64_t first_ns = 0, last_ns = 0;
    bool begins_launch = false;
    LaunchEnds launch;
  };
  // Null: it has none.
  const Written* written(uint32_t number) const;
  FrameTextMaker* text() const { return text_.get(); }

 private:
  struct Ends {
    uint32_t steps = 0, bounds = 0, ns = 0, written = 0;
    bool whole = false;
  };
  void note(const FrameEvents& frame, Written& written);

  const bool wants_bounds_;
  const std::unique_ptr<FrameTextMaker> text_;
  ZoneSteps pairs_;
  ZoneBounds zone_bounds_;
  ZoneBounds::Open open_;  // none
  std::vector<uint64_t> frame_ns_;
  std::vector<ZoneStep> steps_;
  std::vector<uint32_t> bounds_;
  std::vector<uint64_t> ns_;
  std::vector<Written> written_;  // those that are not counted are there for their memory
  uint32_t written_count_ = 0;
  std::vector<Ends> ends_;  // by frame, behind those of none
};

}  // namespace ttc::tools

// The labels of a frame's steps as a thread finds them that does not number labels.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tools/viewers/zones/zone_labels.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class StepLabels {
 public:
  // They outlive this. Labels from number `end` on are not wanted.
  StepLabels(const ZoneLabels& labels, uint32_t end) : labels_(labels), end_(end) {}

  // False: a label is not numbered yet, or not wanted, or a step has no marker in the frame.
  bool find(const FrameEvents& frame, std::span<const ZoneStep> steps);
  // By step; null: it ends a zone. Valid until the next call of find().
  std::span<const ZoneLabel* const> found() const { return found_; }

 private:
  // As found before: it stays where it is.
  struct KnownLane {
    const markers::ZoneNames* names;
    markers::CoreKind kind;
    uint8_t risc;
    device::Mode mode;
    const ZoneLabels::Lane* lane;
  };
  const ZoneLabels::Lane* lane_of(const FrameEvents& frame);

  const ZoneLabels& labels_;
  const uint32_t end_;
  std::vector<KnownLane> lanes_;
  std::vector<const ZoneLabel*> found_;
};

}  // namespace ttc::tools

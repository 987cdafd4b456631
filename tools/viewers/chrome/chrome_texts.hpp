// Text of frames, made by the thread that decoded them: of lanes that have begun, with labels whose text is there. It holds wherever it is put, as
// events of a zone that ends in its frame refer to nothing before them.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/viewers/chrome/chrome.hpp"
#include "tools/viewers/zones/frame_text_maker.hpp"
#include "tools/viewers/zones/step_labels.hpp"

namespace ttc::tools {

class Chrome::FramesText : public FrameTextMaker {
 public:
  // Both outlive this.
  FramesText(Chrome& writer, const ZoneLabels& labels)
      : writer_(writer), lanes_(writer.begun_lanes_), labels_(labels, kSharedLabels) {}

  void begin(unsigned thread) override;
  bool make(const FrameEvents& frame, std::span<const ZoneStep> steps, std::span<const uint64_t> ns,
            std::span<const uint32_t> bounds, uint32_t flow_marker) override;

  // For the owner of the output.
  void put(uint32_t number, uint64_t flow);

 private:
  // Of a frame: bytes in the text, and the zone that a flow can lead to.
  struct Made {
    const Lane* lane;
    uint32_t from, to, flow_at;  // behind that zone; 0: there is none
    uint64_t flow_ns;
    bool flow_aside;
  };

  Chrome& writer_;
  BegunLanes<Lane>::View lanes_;
  StepLabels labels_;
  unsigned thread_ = 0;
  bool taken_ = false;  // the owner has the text
  Output text_ = Output::in_memory();
  std::vector<Made> made_;
};

}  // namespace ttc::tools

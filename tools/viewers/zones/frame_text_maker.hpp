// What makes the text of whole frames for a viewer's format on the threads that decode them (PairedFrames): of a frame whose zones all end in it, and of
// which the format already has written all that is written once, such as lanes and names. The owner of the output puts that text in its place if, when
// the frame's turn has come, it is still right.
#pragma once
#include <cstdint>
#include <span>

#include "tools/pipeline/format.hpp"
#include "tools/viewers/zones/zone_steps.hpp"

namespace ttc::tools {

class FrameTextMaker {
 public:
  virtual ~FrameTextMaker() = default;
  // Any thread, one after another. A batch of frames begins; nothing of earlier ones is needed any more. `thread`: Workers::Job::done_by().
  virtual void begin(unsigned thread) = 0;
  // The next frame that has text; false: it can have none. `ns`, `bounds`: by marker, `bounds` empty: not wanted. `flow_marker`: where a
  // program's flow may lead to.
  virtual bool make(const FrameEvents& frame, std::span<const ZoneStep> steps, std::span<const uint64_t> ns,
                    std::span<const uint32_t> bounds, uint32_t flow_marker) = 0;
};

}  // namespace ttc::tools

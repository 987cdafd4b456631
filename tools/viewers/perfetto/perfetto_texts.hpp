// Text of frames, made by the thread that decoded them: of lanes that have begun, with labels that are numbered. A name that the lane's sequence does
// not have yet, and no frame of the batch before, is put in front of its event; that is right as long as no frame in between has put it there.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/viewers/perfetto/number_set.hpp"
#include "tools/viewers/perfetto/perfetto.hpp"
#include "tools/viewers/zones/frame_text_maker.hpp"
#include "tools/viewers/zones/step_labels.hpp"

namespace ttc::tools {

class Perfetto::FramesText : public FrameTextMaker {
 public:
  // Both outlive this.
  FramesText(Perfetto& writer, const ZoneLabels& labels)
      : writer_(writer), lanes_(writer.begun_lanes_), labels_(labels, InternedNames::kShared) {}

  void begin(unsigned thread) override;
  bool make(const FrameEvents& frame, std::span<const ZoneStep> steps, std::span<const uint64_t> ns,
            std::span<const uint32_t> bounds, uint32_t flow_marker) override;

  // For the owner of the output. The frame's text is right where it stands behind all frames before, as far as it leans on names of the batch, and
  // nothing has put its new names there in between.
  bool is_right(uint32_t number) const;
  void put(uint32_t number, const FrameEvents& frame, uint64_t flow);

 private:
  // Of a frame: bytes in the text, and what of it can change.
  struct Made {
    const Lane* lane;
    uint32_t from, to, names_end;
    bool leans;                     // on names that earlier frames of the batch put into the sequence
    uint32_t event_from, event_to;  // the event that a flow can lead to; none: they are the same
    Texts::Step event;              // that
  };
  struct Name {
    InternedNames* of;
    uint32_t number;
  };
  void put_name(const Sequence& sequence, const ZoneLabel& label, Made& made);

  Perfetto& writer_;
  BegunLanes<Lane>::View lanes_;
  StepLabels labels_;
  unsigned thread_ = 0;
  bool taken_ = false;      // the owner has the text
  size_t names_taken_ = 0;  // of frames whose text was put, as long as all before were
  Output text_ = Output::in_memory();
  std::vector<Made> made_;
  std::vector<Name> names_;  // new ones, in the order of the text
  NumberSet own_names_;      // the same: sequence and number
};

}  // namespace ttc::tools

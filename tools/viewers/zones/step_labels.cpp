#include "tools/viewers/zones/step_labels.hpp"

namespace ttc::tools {

const ZoneLabels::Lane* StepLabels::lane_of(const FrameEvents& f) {
  for (const KnownLane& known : lanes_)
    if (known.names == &f.names && known.risc == f.risc && known.kind == f.core_kind && known.mode == f.mode)
      return known.lane;
  const ZoneLabels::Lane* const lane = labels_.find_lane(f);
  if (lane) lanes_.push_back({&f.names, f.core_kind, f.risc, f.mode, lane});
  return lane;
}

bool StepLabels::find(const FrameEvents& f, std::span<const ZoneStep> steps) {
  const ZoneLabels::Lane* const lane = lane_of(f);
  if (!lane) return false;
  found_.clear();
  for (const ZoneStep& step : steps) {
    if (step.marker == kNoMarker) return false;
    const bool ends = step.kind == ZoneStep::Kind::end;
    found_.push_back(ends ? nullptr : lane->known(f.markers[step.marker]));
    if (!ends && (!found_.back() || found_.back()->number >= end_)) return false;
  }
  return true;
}

}  // namespace ttc::tools

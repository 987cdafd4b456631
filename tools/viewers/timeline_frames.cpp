// Frames on their way through a Timeline: with their markers, or by what the thread that decoded them made of them.
#include <algorithm>

#include "tools/viewers/timeline.hpp"
#include "tools/viewers/zones/paired_frames.hpp"

namespace ttc::tools {

using collect::kHostTicksPerNs;

std::unique_ptr<FrameWork> Timeline::frame_work() const {
  return std::make_unique<PairedFrames>(writer_->shows_bounds(), writer_->text_maker(labels_));
}

std::span<const uint64_t> Timeline::frame_times(const Chip& chip, const FrameEvents& f) {
  if (f.work && !chip.cycles)
    if (const auto ns = static_cast<const PairedFrames*>(f.work)->ns(f.work_frame); !ns.empty()) return ns;
  converted_.resize(f.markers.size());
  if (chip.cycles) {
    const uint64_t mhz = std::max(chip.session.aiclk_mhz, 1u);
    for (size_t i = 0; i < converted_.size(); ++i) converted_[i] = f.markers[i].time_cycles * 1000 / mhz;
  } else {
    for (size_t i = 0; i < converted_.size(); ++i) converted_[i] = f.host_times[i].at / kHostTicksPerNs;
  }
  return converted_;
}

// What another thread made of the frame alone holds where nothing before it is open.
void Timeline::pair(Chip& chip, Lane& lane, TimelineFrame& frame) {
  const FrameEvents& f = frame.events;
  const bool bounds = writer_->shows_bounds() && !chip.cycles;
  if (f.work && lane.zones.open() == 0 && !frame.late) {
    const PairedFrames::Frame alone = static_cast<const PairedFrames*>(f.work)->of(f.work_frame);
    if (alone.whole) {
      frame.steps = alone.steps;
      if (bounds) frame.bounds = alone.bounds;
      return;
    }
  }
  frame.steps = lane.zones.of(f.markers, f.main_zone, frame.late);
  if (bounds) frame.bounds = chip.zone_bounds.of(f, frame.steps, lane.open);
}

void Timeline::frame(const FrameEvents& f) {
  Chip& chip = chip_of(f.chip);
  if (!chip.clock_reported) report_clock(f.chip, chip, f.host_times.empty() || f.host_times.front().at == 0);
  ns_ = frame_times(chip, f);
  note_epoch(chip, f, ns_.front());
  Lane& lane = lane_of(chip, f.core_x, f.core_y, f.risc, f.core_kind, f.mode);
  came(chip, ns_.front(), ns_.back());
  const bool late = ns_.front() < lane.last_ns;
  late_frames_ += late;
  TimelineFrame frame{f, ns_, {}, labels_.lane(f), lane.last_ns, late, texts_.of(f)};
  pair(chip, lane, frame);
  const Programs::Launch launch = chip.open_programs.take(f, lane.is.number, LaunchEnds::of(f, ns_),
                                                          !chip.cycles && !f.host_times.empty());
  frame.flow = launch.flow ? chip.first_flow + launch.flow : 0;
  frame.flow_marker = launch.flow_marker;
  find_addressed(chip, frame);
  writer_->frame(lane.is, frame);
  report_hardware(chip, lane, frame);
  const markers::Marker& first = f.markers.front();
  went(chip, lane, ns_.front(), ns_.back(),
       f.main_zone != 0 && first.id == f.main_zone && first.type == markers::MarkerType::zone_start);
}

bool Timeline::frame_alone(const FrameEvents& f) {
  auto& work = *static_cast<PairedFrames*>(f.work);
  const PairedFrames::Written* const written = work.written(f.work_frame);
  Chip& chip = chip_of(f.chip);
  if (!written || !chip.clock_reported || chip.cycles) return false;
  Lane& lane = lane_of(chip, f.core_x, f.core_y, f.risc, f.core_kind, f.mode);
  if (lane.zones.open() || written->first_ns < lane.last_ns ||
      !writer_->is_right(*work.text(), written->text))
    return false;
  note_epoch(chip, f, written->first_ns);
  came(chip, written->first_ns, written->last_ns);
  const Programs::Launch launch = chip.open_programs.take(f, lane.is.number, written->launch, true);
  writer_->frame_text(*work.text(), written->text, f, launch.flow ? chip.first_flow + launch.flow : 0);
  went(chip, lane, written->first_ns, written->last_ns, written->begins_launch);
  return true;
}

void Timeline::came(Chip& chip, uint64_t first_ns, uint64_t last_ns) {
  chip.first_ns = std::min(chip.first_ns, first_ns);
  chip.last_ns = std::max(chip.last_ns, last_ns);
}

void Timeline::went(Chip& chip, Lane& lane, uint64_t first_ns, uint64_t last_ns, bool begins_launch) {
  lane.last_ns = std::max(lane.last_ns, last_ns);
  if (begins_launch) count_launch(chip, lane, first_ns);
  if (chip.last_ns > chip.settled_ns + kSettleEveryNs) report_settled(chip);
}

}  // namespace ttc::tools

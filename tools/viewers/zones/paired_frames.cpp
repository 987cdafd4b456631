#include "tools/viewers/zones/paired_frames.hpp"

namespace ttc::tools {
namespace {

template <class T>
std::span<const T> part(const std::vector<T>& all, uint32_t from, uint32_t to) {
  return std::span(all).subspan(from, to - from);
}

template <class T>
void append(std::vector<T>& all, std::span<const T> more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

void PairedFrames::begin(unsigned thread) {
  steps_.clear(), bounds_.clear(), ns_.clear();
  written_count_ = 0;
  ends_.assign(1, {});
  zone_bounds_.clock_changed();
  if (text_) text_->begin(thread);
}

bool PairedFrames::frame(const FrameEvents& f) {
  frame_ns_.clear();
  for (const MarkerHostTime& time : f.host_times) frame_ns_.push_back(time.at / collect::kHostTicksPerNs);
  const std::span<const ZoneStep> steps = pairs_.of(f.markers, f.main_zone, false);
  const bool whole = pairs_.open() == 0;
  const bool timed = !f.host_times.empty();
  const std::span<const uint32_t> bounds =
      whole && wants_bounds_ && timed ? zone_bounds_.of(f, steps, open_) : std::span<const uint32_t>();
  bool has_text = false;
  if (whole && timed && text_) {
    if (written_count_ == written_.size()) written_.emplace_back();
    Written& written = written_[written_count_];
    written.launch.set(f, frame_ns_);
    has_text = text_->make(f, steps, frame_ns_, bounds, written.launch.kernel_begin.marker);
    if (has_text) note(f, written);
  }
  if (!has_text) {
    append<uint64_t>(ns_, frame_ns_);
    append(bounds_, bounds);
    if (whole) append(steps_, steps);
  }
  pairs_.forget_open();
  ends_.push_back({static_cast<uint32_t>(steps_.size()), static_cast<uint32_t>(bounds_.size()),
                   static_cast<uint32_t>(ns_.size()), written_count_, whole});
  return has_text;
}

void PairedFrames::note(const FrameEvents& f, Written& written) {
  const markers::Marker& first = f.markers.front();
  written.text = written_count_++;
  written.first_ns = frame_ns_.front(), written.last_ns = frame_ns_.back();
  written.begins_launch =
      f.main_zone != 0 && first.id == f.main_zone && first.type == markers::MarkerType::zone_start;
}

PairedFrames::Frame PairedFrames::of(uint32_t number) const {
  const Ends &from = ends_[number], &to = ends_[number + 1];
  if (from.written != to.written) return {};
  return {part(steps_, from.steps, to.steps), part(bounds_, from.bounds, to.bounds), to.whole};
}

std::span<const uint64_t> PairedFrames::ns(uint32_t number) const {
  return part(ns_, ends_[number].ns, ends_[number + 1].ns);
}

const PairedFrames::Written* PairedFrames::written(uint32_t number) const {
  const Ends &from = ends_[number], &to = ends_[number + 1];
  return from.written == to.written ? nullptr : &written_[from.written];
}

}  // namespace ttc::tools

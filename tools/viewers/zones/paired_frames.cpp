#include "tools/viewers/zones/paired_frames.hpp"

namespace ttc::tools {
namespace {

template <class T>
std::span<const T> part(const std::vector<T>& all, uint32_t from, uint32_t to) {
  return std::span(all).subspan(from, to - from);
}

}  // namespace

void PairedFrames::begin() {
  steps_.clear(), bounds_.clear(), ns_.clear();
  ends_.assign(1, {});
  zone_bounds_.clock_changed();
}

void PairedFrames::frame(const FrameEvents& f) {
  for (const MarkerHostTime& time : f.host_times) ns_.push_back(time.at / collect::kHostTicksPerNs);
  const std::span<const ZoneStep> steps = pairs_.of(f.markers, f.main_zone, false);
  const bool whole = pairs_.open() == 0;
  if (whole) {
    steps_.insert(steps_.end(), steps.begin(), steps.end());
    if (wants_bounds_ && !f.host_times.empty()) {
      const std::span<const uint32_t> bounds = zone_bounds_.of(f, steps, open_);
      bounds_.insert(bounds_.end(), bounds.begin(), bounds.end());
    }
  }
  pairs_.forget_open();
  ends_.push_back({static_cast<uint32_t>(steps_.size()), static_cast<uint32_t>(bounds_.size()),
                   static_cast<uint32_t>(ns_.size()), whole});
}

PairedFrames::Frame PairedFrames::of(uint32_t number) const {
  const Ends &from = ends_[number], &to = ends_[number + 1];
  return {part(steps_, from.steps, to.steps), part(bounds_, from.bounds, to.bounds), to.whole};
}

std::span<const uint64_t> PairedFrames::ns(uint32_t number) const {
  return part(ns_, ends_[number].ns, ends_[number + 1].ns);
}

}  // namespace ttc::tools

#include "collector/sampling/visibility.hpp"

#include <algorithm>

#include "ttcollect/clock_map.hpp"

namespace ttc::collect {

void Visibility::published(const ClockSampler::Place& place, uint64_t marker_time, uint64_t raw_ns) {
  if (++passed_over_ < every_) return;
  passed_over_ = 0;
  if (waiting_.size() == kMostWaiting) thin_out();
  waiting_.push_back({place, marker_time, raw_ns});
}

// Keeps every second marker that waits, so that no stretch of time is measured more often than another.
void Visibility::thin_out() {
  for (size_t i = 0; 2 * i < waiting_.size(); ++i) waiting_[i] = waiting_[2 * i];
  waiting_.resize(waiting_.size() / 2);
  every_ *= 2;
}

void Visibility::settle(size_t domain, const ClockHead& head, std::span<const ClockSegment> recent,
                        uint64_t raw_ns) {
  every_ = 1;
  ClockMap map;
  if (!recent.empty()) map.update(head, recent);
  const HostTime final_until = recent.empty() ? 0 : map.final_until();
  std::erase_if(waiting_, [&](const Waiting& w) {
    const bool old = w.raw_ns + kPatienceNs < raw_ns;
    if (w.place.domain != domain || w.raw_ns * kHostTicksPerNs >= final_until) {
      without_clock_ += old;
      return old;
    }
    const ClockMap::Converted at = map.at(w.marker_time, (w.raw_ns + 1) * kHostTicksPerNs);
    const uint64_t spread = w.place.reference ? 0 : head.tile_spread;
    if (at.quality.bound == kNoBound || spread == kNoBound) {
      ++without_clock_;
      return true;
    }
    const HostTime published = w.raw_ns * kHostTicksPerNs;
    take_((published - std::min(published, at.host)) / kHostTicksPerNs,
          (at.quality.bound + spread) / kHostTicksPerNs);
    return true;
  });
}

}  // namespace ttc::collect

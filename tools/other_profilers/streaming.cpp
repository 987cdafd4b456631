#include "tools/other_profilers/streaming.hpp"

#include <algorithm>

namespace ttc::other_profilers {
namespace {

constexpr size_t kTails = 24, kArmedWord = 48, kPlaceWord = 49, kStallWords = 50;
constexpr size_t kUnusedFrom = 5, kUnusedTo = 16;
constexpr uint32_t kHalf = uint32_t{1} << 31;  // counts that differ by more are not in order

}  // namespace

std::optional<StreamControl> read_stream_control(std::span<const uint32_t> words) {
  if (words.size() < kStreamControlWords || words[kArmedWord] > 1 || words[kPlaceWord] != 0)
    return std::nullopt;
  if (std::any_of(words.begin() + kUnusedFrom, words.begin() + kUnusedTo, [](uint32_t w) { return w != 0; }))
    return std::nullopt;
  StreamControl control;
  control.armed = words[kArmedWord] == 1;
  for (uint32_t r = 0; r < kStreamRiscs; ++r) {
    StreamControl::Lane& lane = control.lanes[r];
    lane = {words[r], words[kTails + r], words[kStallWords + r]};
    if (lane.fill() > (control.armed ? kStreamRingWords : kHalf)) return std::nullopt;
  }
  return control;
}

void StreamCore::look(const StreamControl& control) {
  armed_ = control.armed;
  const auto fell = [&](uint32_t r) { return control.lanes[r].tail - last_->lanes[r].tail > kHalf; };
  bool restarted = false;
  for (uint32_t r = 0; last_ && r < kStreamRiscs; ++r) restarted = restarted || fell(r);
  restarts_ += restarted;
  for (uint32_t r = 0; r < kStreamRiscs; ++r) {
    const StreamControl::Lane& now = control.lanes[r];
    StreamLane& lane = lanes_[r];
    const uint32_t passed = !last_ ? 0 : restarted ? now.tail : now.tail - last_->lanes[r].tail;
    lane.words += passed;
    lane.unseen += passed > kStreamRingWords;
    lane.stalls_seen += !last_ || restarted ? 0 : now.stalls - last_->lanes[r].stalls;
    lane.stalls = now.stalls;
    lane.overwritten = now.fill() > kStreamRingWords ? now.fill() - kStreamRingWords : 0;
    lane.fill = std::min(now.fill(), kStreamRingWords);
    lane.peak_fill = std::max(lane.peak_fill, lane.fill);
  }
  last_ = control;
}

}  // namespace ttc::other_profilers

// FIND (RECYCLE.md): the position at which each lane of a core continues, if launches were lost and frames cannot be counted.
#include <algorithm>
#include <utility>

#include "collector/recycle/core_recycle.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Expected;
using card::failed;

constexpr uint32_t kFindWords = 4096;  // of a core's logs in one step: other cores wait for it

}  // namespace

CoreRecycle CoreRecycle::find_place(Deps deps, const RecycleCore& core) {
  CoreRecycle r(std::move(deps), core);
  r.began_ns_ = r.lost_place_ns_ = r.deps_.reader.now_ns();
  r.lacks_frames_ = r.only_finds_place_ = true;
  for (uint32_t i = 0; i < device::kMaxRiscs; ++i) r.before_.index[i] = r.core_.lanes[i].pos;
  return r;
}

// Frames are lost, or no evidence decides between two readings. The lanes are examined until the end of each is certain.
Expected<CoreRecycle::Step> CoreRecycle::lose_place(std::string why) {
  report("no reading fits: " + why);
  why_ = std::move(why);
  lacks_frames_ = true;
  lost_place_ns_ = deps_.reader.now_ns();
  phase_ = Phase::settle;
  return Step::going;
}

Expected<CoreRecycle::Step> CoreRecycle::not_found() {
  if (deps_.reader.now_ns() - lost_place_ns_ < deps_.limits.find_within_ns) return Step::going;
  return end(Step::surprise, why_);
}

// The words up to an index only change when it goes back: they are read a piece a step.
Expected<bool> CoreRecycle::read_on() {
  uint32_t budget = kFindWords;
  for (; find_risc_ < core_.core.riscs; ++find_risc_) {
    std::vector<uint32_t>& words = result_.front[find_risc_];
    const uint32_t end = std::min(counts_.index[find_risc_], core_.capacity) & ~1u;
    const auto from = static_cast<uint32_t>(words.size());
    if (from >= end) continue;
    const uint32_t count = std::min(budget, end - from);
    if (count == 0) return false;
    std::vector<uint64_t> raw(count / 2);
    if (const Access a = deps_.reader.log(core_.core, find_risc_, from, raw); a != Access::ok)
      return failed(a);
    const auto* begin = reinterpret_cast<const uint32_t*>(raw.data());
    words.insert(words.end(), begin, begin + count);
    budget -= count;
    if (from + count < end) return false;
  }
  return true;
}

Expected<CoreRecycle::Step> CoreRecycle::look_for_place() {
  const Expected<bool> complete = read_on();
  if (!complete) return failed(complete.error());
  const Expected<ControlSample> after = sample_control();
  if (!after) return failed(after.error());
  bool back = gone_back(*after);
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) back = back || after->index[r] < counts_.index[r];
  if (back) return end(Step::rewound, {});
  if (!*complete) return Step::going;
  result_.lanes = {};
  if (find_lanes()) return take();
  phase_ = Phase::settle;
  return not_found();
}

// Each lane's place, by its own words and by BRISC's launch.
bool CoreRecycle::find_lanes() {
  for (uint32_t r = 0; r < core_.core.riscs; ++r) {
    const RecycleLane& lane = core_.lanes[r];
    LaneCase one;
    one.lane = lane.lane;
    one.ceiling = deps_.ceiling();
    one.digest = lane.digest;
    one.pos = lane.pos;
    one.index_before = before_.index[r];
    one.index_after = counts_.index[r];
    one.front = result_.front[r];
    const bool unused = one.index_after == 0 && lane.frames == 0;
    std::optional<LaneOutcome> found = place_found_again(one);
    if (!found) return false;
    if (unused) found->verdict = Verdict::untouched;
    result_.lanes[r] = std::move(*found);
    if (r != 0 && !ends_with_brisc(r)) return false;
  }
  return true;
}

// No finish is under way, so that the last frame of every lane is of the same launch, unless a lane had no room for it.
bool CoreRecycle::ends_with_brisc(uint32_t r) const {
  const LaneOutcome &brisc = result_.lanes[0], &mine = result_.lanes[r];
  if (brisc.frames.empty() || mine.frames.empty()) return true;
  if (may_drop(counts_.index[0]) || may_drop(counts_.index[r])) return true;
  return brisc.frames.back().host_id == mine.frames.back().host_id;
}

}  // namespace ttc::collect

// What the first frame of an epoch shows of what may have gone by unseen before it.
#pragma once
#include <span>

#include "collector/core/core_part.hpp"

namespace ttc::collect {

class EpochEntry : CorePart {
 public:
  explicit EpochEntry(const CorePart& part) : CorePart(part) {}

  // The first fresh frame of a lane in an epoch, with markers up to `until`.
  void enter(uint32_t risc, std::span<const uint32_t> frame, uint64_t until);
  // The time up to which markers may be missing in front of this frame.
  static uint64_t gap_end(const LaneState& lane, std::span<const uint32_t> frame, uint64_t after);
  // Whether the core was not polled for so long before `time` that an epoch can have begun and ended.
  bool out_of_sight_before(uint64_t time) const;
  // The time until which the epoch before this frame can have continued, if its first new marker is at `time`: a launch may have been
  // under way when the host reset the core.
  uint64_t earlier_until(std::span<const uint32_t> frame, uint64_t time) const;
  bool at_most_one_reset_since_known(uint64_t now_ns) const;

 private:
  bool one_launch(std::span<const uint32_t> frame) const;
  FirstFrame before_first_frame(uint32_t risc, std::span<const uint32_t> frame, uint64_t time) const;
  HostResets::Mark last_known() const;
  void account_older_launches();
};

}  // namespace ttc::collect

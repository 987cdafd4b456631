// Checks whether the log had room for all that the core pushed: launches that the core counted and whose frames are not in the log, and RISCs
// whose DROPPED bit shows lost markers.
#pragma once
#include "collector/core/core_part.hpp"

namespace ttc::collect {

class LogRoomCheck : CorePart {
 public:
  explicit LogRoomCheck(const CorePart& part) : CorePart(part) {}

  // For each RISC the time of the last frame that was delivered before this visit.
  using LastTimes = std::array<uint64_t, device::kMaxRiscs>;
  card::Access account(const ControlSample& snap, const LastTimes& before);
  // Counted for a few visits only, so that their frames may still come.
  bool unexplained_runs(const ControlSample& snap) const;

 private:
  bool runs_missing(const ControlSample& snap) const;
};

}  // namespace ttc::collect

// Recovers what a host reset rewound over, which is still in DRAM until new frames overwrite it from the front. Delivers what can be
// proven to follow the last delivered frame, and accounts for the rest.
#pragma once
#include "collector/core/firmware_mode.hpp"

namespace ttc::collect {

class ResetRecovery : CorePart {
 public:
  explicit ResetRecovery(const CorePart& part) : CorePart(part) {}

  // A host reset is over: ends the epoch.
  card::Access begin_epoch();
  // Words behind the cursors, as far as the indices of `snap`, which are the new epoch's, have not reached them.
  card::Access take_what_was_reset(const ControlSample& snap);
  // Proves, once that was done, that nothing of a lane is missing.
  FirmwareMode::Across prove_reset(bool in_time, bool idle) const;

 private:
  const LaneState* furthest_recovered() const;
};

}  // namespace ttc::collect

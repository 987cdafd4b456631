// Checks whether the firmware on the card is still the one that was attached to.
//
// A workload that opens the device loads firmware: L1 is cleared, then the host writes the DRAM address, the flat id and the
// cores per bank into every control vector, with indices and counts of 0 (tt-metal impl/profiler/profiler.cpp). Another build has
// its vector elsewhere. What the drain reads by the old layout is then meaningless, so these rules hold:
//
//   - The first words of an epoch are read only after the vector showed the attached firmware's identity: every firmware begins
//     with indices of 0, which is the begin of an epoch for the drain.
//   - After a poll that missed its deadline nothing is concluded from L1 before that: what ran meanwhile left its marks there, and
//     other firmware clears them.
//   - Without any news one core's vector is read every kCheckFirmwareEveryNs, in turn.
//
// Firmware that is loaded within that time, with the same identity words and before the host read results for the first
// time, is taken for the same firmware after a host reset. Opening a device takes seconds.
#include <algorithm>

#include "collector/core/epoch_entry.hpp"
#include "collector/drain/core_machine.hpp"
#include "collector/drain/core_recycling.hpp"
#include "collector/drain/reset_recovery.hpp"

namespace ttc::collect {

using card::Access;
using shm::LossCause;

Access CoreMachine::check_firmware() {
  const auto now = reader.identity(core.tile);
  if (!now) return now.error();
  const bool same = now->dram_address == dev.attachment.dram_base && now->flat_id == core.tile.flat_id &&
                    now->core_count_per_dram == dev.attachment.core_count_per_dram;
  // A results read sets these words; only a host that sets the profiler up clears them.
  dev.firmware_changed = dev.firmware_changed || !same || (core.firmware.read_by_host && !now->read_by_host);
  core.firmware.read_by_host = now->read_by_host;
  core.firmware.proven = !dev.firmware_changed;
  return Access::ok;
}

void CoreMachine::end_with_workload(uint64_t now_ns) {
  const ControlSample none;  // its indices cannot be read any more
  const bool in_time = EpochEntry(*this).at_most_one_reset_since_known(now_ns);
  core.rewind.noticed_ns = now_ns;
  core.rewind.after_ns = core.polls.before_ns;
  const Access access = ResetRecovery(*this).take_what_was_reset(none);
  if (core.recycling.under_way)
    for (uint32_t r = 0; r < core.tile.riscs; ++r)
      CoreRecycling(*this).account_unresolved(r, *core.recycling.under_way);
  InMode(*this)->publish_copies();
  core.account.begin_epoch(ResetRecovery(*this).prove_reset(in_time && access == Access::ok, false));
  core.account.end_at(cycles_at(now_ns));
}

Access CoreMachine::take_rest() {
  const Access a = InMode(*this)->take_rest();
  if (a == Access::suspect || a == Access::refused)
    for (uint32_t r = 0; r < core.tile.riscs; ++r) core.account.end_open(r, LossCause::unreadable);
  return a;
}

// A lane that never showed anything has nothing missing if the last poll that found nothing new was in time.
void CoreMachine::end(bool card_vanished, uint64_t ended_ns, uint64_t now_ns) {
  // If the mode is not known, nothing shows what L1 held.
  const bool out_of_sight =
      Polls::too_late(core.polls.caught_up.ns, now_ns) || (!dev.mode_known && may_accumulate());
  if (card_vanished) InMode(*this)->publish_copies();
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    const LaneState& lane = core.lanes[r];
    const bool in_use = lane.delivered || core.seen.host_end[r] > 0 || core.seen.stored[r] > 0;
    if (!card_vanished && core.polls.last_ns < ended_ns)
      core.account.end_open(r, LossCause::unreadable);
    else if (card_vanished && (in_use || out_of_sight))
      core.account.end_open(r, LossCause::card_gone);
    else if (core.seen.host_end[r] > lane.cursor)
      core.account.undelivered(r, LossCause::not_read, lane.digest.last_time, shm::kOpenEnd,
                               core.seen.host_end[r] - lane.cursor);
  }
}

}  // namespace ttc::collect

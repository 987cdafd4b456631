#include "collector/drain/reset_recovery.hpp"

#include <algorithm>
#include <utility>

#include "collector/core/firmware_mode.hpp"
#include "collector/drain/core_recycling.hpp"
#include "collector/drain/lane_recovery.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr int kSampleTries = 16;

}  // namespace

// The host writes the vector word by word; the first sample may be half old. Two equal samples in a row are
// taken as the new state.
Access ResetRecovery::begin_epoch() {
  core.polls.resets_checked = dev.resets.counted();
  read_clock(kCeilingAgeNs);
  auto snap = sample();
  for (int i = 0; i < kSampleTries && snap; ++i) {
    const auto again = sample();
    const bool same = again && again->host_end == snap->host_end && again->run_counter == snap->run_counter;
    snap = again;
    if (same) break;
  }
  if (!snap) return snap.error();
  if (const Access a = take_what_was_reset(*snap); a != Access::ok) return a;
  // The poll that noticed the reset came late: more than one epoch may have ended since the one before. No marker is missing only if the
  // core has not run since what was delivered.
  const auto was = core.rewind.late ? InMode(*this)->was_idle() : false;
  if (!was) return was.error();
  const bool idle = *was;
  if (const Access a = InMode(*this)->take_at_reset(*snap, prove_reset(!core.rewind.late, idle));
      a != Access::ok)
    return a;
  core.account.begin_epoch(prove_reset(!core.rewind.late, idle));
  core.seen = *snap;
  ++dev.counters.epochs;
  core.runs.begin_epoch();
  core.recycling.referee.see(snap->run_counter);
  core.landing.begin_epoch();
  core.epoch = {{snap->read_time_ns, dev.resets.counted()}, std::nullopt, true};
  core.polls.check_all = false;
  core.polls.proven_ns = snap->read_time_ns;
  core.rewind = {};
  core.firmware.proven = false;
  core.hosts.clear();  // older frames below must not pass for launches of this epoch
  core.notes |= shm::kNewEpoch;
  CoreRecycling(*this).forget_laps();
  for (LaneState& lane : core.lanes) lane.begin_epoch();
  return Access::ok;
}

// Takes what the host reset the indices over. What was taken once is not read again where a later lane cannot be read. To take a
// lane's frames lasts, and the new epoch may push meanwhile: lanes that never showed anything are examined first.
Access ResetRecovery::take_what_was_reset(const ControlSample& snap) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.lanes[r].recovery.taken || !LaneRecovery(*this).never_showed_any(r, snap)) continue;
    const auto nothing = LaneRecovery(*this).nothing_at_front(r);
    if (!nothing) return nothing.error();
    core.lanes[r].recovery.taken.emplace().evidence.nothing_announced = *nothing;
  }
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (core.lanes[r].recovery.taken) continue;
    Recovered recovered;
    if (const Access a = LaneRecovery(*this).recover(r, snap, recovered); a != Access::ok) return a;
    core.lanes[r].recovery.taken = recovered;
  }
  return Access::ok;
}

// The end of a launch pushes every RISC's frame. Where some came back that had not been read before the reset, lanes that do not
// reach the same launch may lack theirs: a sentinel was damaged, or the new epoch has overwritten it.
const LaneState* ResetRecovery::furthest_recovered() const {
  const LaneState* furthest = nullptr;
  if (!kind().counts_launches) return nullptr;
  for (const LaneState& lane : core.lanes)
    if (lane.recovery.chain_end != 0 && !lane.pushes_early &&
        (!furthest || markers::clock_difference(lane.digest.last_time, furthest->digest.last_time) > 0))
      furthest = &lane;
  return furthest;
}

FirmwareMode::Across ResetRecovery::prove_reset(bool in_time, bool idle) const {
  FirmwareMode::Across proofs;
  const LaneState* furthest = furthest_recovered();
  // What BRISC delivered last shows for every lane that the core has not run since, unless it came from the front of a log that an
  // epoch was missed in: then it shows that only for lanes that came as far.
  const auto& of_brisc = core.lanes[0].recovery.taken;
  const bool brisc_stood = !of_brisc || !of_brisc->behind_gap;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    const Recovered recovered = lane.recovery.taken.value_or(Recovered{});
    AcrossReset evidence = recovered.evidence;
    const bool came_as_far =
        furthest && lane.recovery.chain_end != 0 && lane.digest.host_id == furthest->digest.host_id;
    evidence.with_the_others =
        !furthest || !lane.delivered || came_as_far || recovered.sat_out_launch == furthest->digest.host_id;
    evidence.in_time_or_idle = in_time || (idle && (brisc_stood || came_as_far));
    proofs[r] = prove_across_one_reset(evidence);
  }
  return proofs;
}

}  // namespace ttc::collect

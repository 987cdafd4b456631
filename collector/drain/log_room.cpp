#include "collector/drain/log_room.hpp"

#include <algorithm>

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint32_t kUnexplainedVisits = 3;

}  // namespace

bool LogRoomCheck::unexplained_runs(const ControlSample& snap) const {
  return runs_missing(snap) && core.runs.missing_visits < kUnexplainedVisits;
}

// More runs were counted than frames of BRISC delivered, and none of them is in the log.
bool LogRoomCheck::runs_missing(const ControlSample& snap) const {
  // Accumulating firmware counts pushes, of whichever RISC.
  return kind_of(dev.attachment.mode).counts_launches && core.lanes[0].cursor >= snap.host_end[0] &&
         snap.run_counter > core.runs.delivered;
}

// Runs the core counted but whose frames are not in the log, and RISCs whose DROPPED bit shows lost markers.
Access LogRoomCheck::account(const ControlSample& snap, const LastTimes& before) {
  const bool missing = runs_missing(snap);
  core.runs.note_missing(missing);
  if (!near_full(snap) && !missing) return Access::ok;
  const auto dropped = reader.dropped(core.tile);
  if (!dropped) return dropped.error();
  uint32_t mask = *dropped;
  const bool stays_missing = core.runs.missing_visits >= kUnexplainedVisits;
  if (mask == 0 && stays_missing && near_full(snap)) mask = 1;  // the word can lose bits (5.7.8)
  // Otherwise a reset between the index and the push of these runs, or between two polls, hides their frames.
  core.account.keep_all(
      prove_counted_runs({.all_came = !missing,
                          .may_still_come = core.runs.missing_visits<kUnexplainedVisits, .dropped = mask != 0,
                                                                     .known = core.runs.missing_visits>
                                                kUnexplainedVisits}));
  const uint32_t runs = missing ? snap.run_counter - core.runs.delivered : 0;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    LogRoom room;
    room.not_said = !(mask >> r & 1);
    room.emptied = core.recycling.ended_ns != 0 && snap.host_end[r] + longest_frame() <= dev.log_words();
    // No marker is dropped while a whole buffer fits (before G3 another lane's full log counts, too), and a
    // backlog is taken up to there first.
    const bool before_drops = dev.attachment.layout->format.guaranteed_when_full &&
                              snap.host_end[r] > dev.roomy_until() && lane.cursor <= dev.roomy_until();
    const bool roomy_words_wait = before_drops && lane.cursor + 2 * device::kBufferWords <= dev.roomy_until();
    room.nothing_before = (lane.first_of_epoch() && lane.cursor < snap.host_end[r]) || roomy_words_wait;
    const auto had_room = prove_room(room);
    // The launch whose frame the log had room for only in part is counted as delivered.
    core.account.room(r, had_room, before_drops ? lane.digest.last_time : before[r], runs + 1);
    if (r == 0 && !had_room) dev.counters.dropped_runs = std::max<uint64_t>(dev.counters.dropped_runs, runs);
  }
  return Access::ok;
}

}  // namespace ttc::collect

#include "collector/core/epoch_entry.hpp"

#include <algorithm>
#include <utility>

namespace ttc::collect {
namespace {

uint64_t fw_end_time(std::span<const uint32_t> frame) {
  return markers::marker_time(frame[device::kFwEndWord], frame[device::kFwEndWord + 1]);
}

}  // namespace

// Whether the core was not polled for so long before `time` that an epoch can have begun and ended.
bool EpochEntry::out_of_sight_before(uint64_t time) const {
  // If a lane is later than others of its epoch, those show what became of the epoch before.
  const uint64_t seen_ns =
      core.epoch.entered ? std::max(core.polls.caught_up.ns, core.polls.proven_ns) : core.polls.caught_up.ns;
  // The rate that the card's clock really had then counts: a clock below its nominal rate takes longer for as many
  // cycles.
  const uint64_t deadline_ns = seen_ns + timing::kPollDeadlineNs;
  const bool unseen =
      deadline_ns < reader.now_ns() && markers::clock_difference(time, cycles_at(deadline_ns)) > 0;
  if (!unseen || is_tensix()) return unseen;
  return dev.resets.since(last_known(), reader.now_ns()) != 0;
}

// The host resets all cores at once. Where this one is polled rarely, the others count its resets from here on.
HostResets::Mark EpochEntry::last_known() const {
  return std::max(core.polls.caught_up, core.epoch.since);
}

bool EpochEntry::at_most_one_reset_since_known(uint64_t now_ns) const {
  if (!is_tensix()) return dev.resets.since(last_known(), now_ns).value_or(2) <= 1;
  return now_ns - std::max(core.polls.caught_up.ns, core.polls.proven_ns) <= timing::kPollDeadlineNs;
}

// A frame that holds one launch, whole. The others hold what filled a buffer, or a replay.
bool EpochEntry::one_launch(std::span<const uint32_t> frame) const {
  return frame[device::kFwEndWord] != device::kUnsetWord && kind().counts_launches;
}

// The time until which the epoch before this frame can have continued, if its first new marker is at `time`: a launch
// may have been under way when the host reset the core.
uint64_t EpochEntry::earlier_until(std::span<const uint32_t> frame, uint64_t time) const {
  return one_launch(frame) ? fw_end_time(frame) : time;
}

// What shows whether an epoch began and ended unnoticed before this frame, whose first new marker is at `time`.
FirstFrame EpochEntry::before_first_frame(uint32_t risc, std::span<const uint32_t> frame,
                                          uint64_t time) const {
  const LaneState& lane = core.lanes[risc];
  FirstFrame e;
  e.in_sight = !out_of_sight_before(earlier_until(frame, time));
  if (!lane.digest.known && !e.in_sight) e.host_never_read = !reader.host_has_read(core.tile).value_or(true);
  // Kernels that never end, as dispatch has them, show a host reset in no count: their lanes push whenever a buffer is full.
  const bool whole_launches = frame[device::kFwEndWord] != device::kUnsetWord;
  e.counts_launches = whole_launches || kind().accumulates || !lane.digest.known || core.runs.total != 0 ||
                      core.seen.run_counter != 0;
  if (e.counts_launches) return e;
  // Its last marker but padding is the end of the push's own zone.
  const size_t padded = markers::is_blank(frame[frame.size() - 2]) ? 4 : 2;
  const uint64_t last = markers::marker_time(frame[frame.size() - padded], frame[frame.size() - padded + 1]);
  e.pushes_often =
      2 * markers::clock_difference(time, lane.digest.last_time) <= markers::clock_difference(last, time);
  return e;
}

// The first fresh frame of a lane in an epoch. Cores are reset whole, so the first lane to come answers for all that come with
// the same launch, but for quick push, which is a lane's own affair.
void EpochEntry::enter(uint32_t risc, std::span<const uint32_t> frame, uint64_t until) {
  LaneState& lane = core.lanes[risc];
  const uint64_t time = markers::first_time(frame, lane.digest.last_time);
  const uint32_t host_id = frame[device::kIdHost];
  const uint32_t trace_count = lane.lane.format->trace.get(frame[device::kIdIdentity]);
  const bool quick_push = frame[device::kFwEndWord] == device::kUnsetWord;
  const bool launch = one_launch(frame);
  FirstFrame evidence;
  evidence.another_lane_joined =
      !quick_push && core.epoch.entered &&
      (!launch || (core.epoch.entered->host_id == host_id && core.epoch.entered->trace_count == trace_count));
  lane.entered_until = 0;
  core.account.end_of_drops(risc, time);
  if (!evidence.another_lane_joined) evidence = before_first_frame(risc, frame, time);
  const auto proof = prove_first_frame(evidence);
  if (!quick_push)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
      if (core.lanes[r].first_of_epoch()) core.account.keep(r, proof);
  core.account.deliver(risc, proof, gap_end(lane, frame, lane.digest.last_time), until);
  if (quick_push) return;
  lane.entered_until = launch ? fw_end_time(frame) : 0;
  const bool later = core.epoch.entered && markers::clock_difference(time, core.epoch.entered->begins) > 0;
  if (!evidence.another_lane_joined && (!core.epoch.entered || later))
    core.epoch.entered = Entered{host_id, trace_count, time, proof};
  account_older_launches();
}

// The words that a lane's log began with in the epoch may be those of an epoch that went by unseen, where a
// reset fell between a push's index and its words: then more of that epoch may be missing behind them.
void EpochEntry::account_older_launches() {
  if (core.epoch.entered->joined) return;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const uint64_t until = core.lanes[r].take_entered_until();
    if (until != 0 && markers::clock_difference(core.epoch.entered->begins, until) > 0)
      core.account.between(r, core.epoch.entered->joined, until, core.epoch.entered->begins);
  }
}

// The time up to which markers may be missing in front of this frame. If a lane can push in the middle of a run
// (RISCs with a NoC of their own, tt-metal kernel_profiler.hpp) the frame may be the second of its run: then what the
// first one held is between the run's start and this one's own markers.
uint64_t EpochEntry::gap_end(const LaneState& lane, std::span<const uint32_t> frame, uint64_t after) {
  if (lane.lane.mode == device::Mode::accumulate && frame.size() > device::kFirstCustomWord)
    return markers::first_custom_time(frame);
  if (lane.lane.risc > 1 && !lane.pushes_early) return markers::first_time(frame, after);
  const uint64_t first = markers::first_time(frame, 0);
  const uint64_t start = markers::start_time(frame);
  const bool ended = frame[device::kFwEndWord] != device::kUnsetWord;
  if (first != start || !ended) return first;
  return fw_end_time(frame);  // it has none
}

}  // namespace ttc::collect

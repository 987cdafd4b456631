// What a poll of a core's control vector shows, and what is remembered of it.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint32_t kCanaryEvery = 16;  // quiet polls

}  // namespace

// The front of an empty log, where one doubts, and then the vector.
Access Drain::look_at(CoreState& core, Look& look) {
  look.begun_ns = reader_.now_ns();
  const bool late = Polls::too_late(core.polls.last_ns, look.begun_ns);
  look.in_doubt =
      region_size_.known() && !core.rewind.pending() &&
      (late || core.polls.resets_checked != resets_.counted() || (core.polls.quiet + 1) % kCanaryEvery == 0);
  const auto front = look.in_doubt ? look_at_front(core) : Front::not_asked;
  if (!front) return front.error();
  const auto read = sample(core);
  if (!read) return read.error();
  look.front = *front;
  look.snapshot = *read;
  core.polls.note(look.begun_ns);
  if (late)
    for (LaneState& lane : core.lanes) lane.l1.unchecked = true;
  if (late && core.core.kind == markers::CoreKind::tensix) ++missed_poll_deadlines_;
  return Access::ok;
}

// Nothing new: has something come and gone since the poll before?
Access Drain::check_quiet(CoreState& core, const Look& look) {
  bool decided = true;
  if (core.epoch.last_run_unchecked && region_size_.known() && kind_of(attachment_.mode).counts_launches)
    if (const Access a = check_last_run(core, decided); a != Access::ok) return a;
  if (core.polls.late && !core.lanes[0].delivered)
    if (const Access a = check_never_seen(core, decided); a != Access::ok) return a;
  if (decided) core.polls.caught_up(look.begun_ns, resets_);
  return Access::ok;
}

bool Drain::rewound(const CoreState& core, const ControlSample& snap) const {
  if (snap.run_counter < core.seen.run_counter) return true;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] < core.seen.host_end[r]) return true;
  if (!kind_of(core).accumulates) return false;
  // Accumulating firmware that has pushed nothing yet. A push moves the index before it clears DEVICE_END, and the index is read
  // after DEVICE_END.
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.stored[r] < core.seen.stored[r] && snap.host_end[r] == 0 && snap.run_counter == 0) return true;
  return false;
}

bool Drain::words_wait(const CoreState& core, const ControlSample& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] > core.lanes[r].cursor) return true;
  return false;
}

bool Drain::has_news(const CoreState& core, const ControlSample& snap) const {
  return snap.run_counter != core.runs.counter || words_wait(core, snap);
}

// Replays are recorded on Tensix cores only.
device::Mode Drain::mode_of(const CoreState& core) const {
  const bool elsewhere =
      attachment_.mode == device::Mode::trace_only && core.core.kind != markers::CoreKind::tensix;
  return elsewhere ? device::Mode::normal : attachment_.mode;
}

// Until the mode is settled, what runs first may be accumulating firmware, whose buffers a host reset takes without a trace.
bool Drain::may_accumulate(const CoreState& core) const {
  if (kind_of(core).accumulates) return true;
  return !mode_settled_ && attachment_.layout->format.dispatch_core != 0 &&
         core.core.kind == markers::CoreKind::tensix;
}

Publisher::Core Drain::chunk_core(const CoreState& core, uint32_t run_counter, uint64_t read_time_ns,
                                  uint32_t notes) const {
  return {core.core.at.x,       core.core.at.y, core.core.kind, mode_of(core), core.core.flat_id,
          core.account.epoch(), run_counter,    read_time_ns,   notes};
}

void Drain::note_indices(CoreState& core, const ControlSample& snap) const {
  core.seen.host_end = snap.host_end;
  core.seen.run_counter = snap.run_counter;
  core.recycling.referee.see(snap.run_counter);
  core.landing.note(snap.host_end, snap.read_time_ns, reader_.now_ns());
}

}  // namespace ttc::collect

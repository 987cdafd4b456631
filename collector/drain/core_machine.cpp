#include "collector/drain/core_machine.hpp"

#include <algorithm>
#include <utility>

#include "collector/drain/core_recycling.hpp"
#include "collector/drain/delivery.hpp"
#include "collector/drain/firmware_finder.hpp"
#include "collector/drain/log_room.hpp"
#include "collector/drain/reset_recovery.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint32_t kCanaryEvery = 16;  // quiet polls

}  // namespace

Access CoreMachine::visit(uint64_t now_ns, bool& news) {
  const Polls before = core.polls;
  const bool had_canary = has_canary();
  news = core.recycling.under_way != nullptr;
  const Access a = news ? CoreRecycling(*this).go_on() : poll_and_take(now_ns, news);
  if (a != Access::ok) core.polls = before;  // what the poll was to show is still to be shown
  if (a != Access::ok || dev.firmware_changed) return a;
  count_resets(before.last_ns, had_canary);
  return InMode(*this)->note_begun_buffers();
}

Access CoreMachine::poll_and_take(uint64_t now_ns, bool& news) {
  const Polls before = core.polls;
  QuietCheck::Poll poll;
  if (const Access a = read(poll); a != Access::ok) return a;
  const ControlSample& snap = poll.sample;
  const bool back = rewound(snap);
  const bool in_question = (back && !core.rewind.pending()) || core.polls.late();
  if (in_question || (!core.firmware.proven && words_wait(snap))) {
    if (const Access a = check_firmware(); a != Access::ok || dev.firmware_changed) return a;
  }
  const bool stored_moved = snap.stored != core.seen.stored;
  if (back) {
    note_reset(false);
  } else {
    const auto l1 = InMode(*this)->check_l1(snap);
    if (!l1) return l1.error();
    if (*l1 == FirmwareMode::L1Check::moved_on) {  // as if it had not been polled
      core.polls = before;
      return news = true, Access::ok;
    }
    if (*l1 == FirmwareMode::L1Check::reset) note_reset(true);
    core.seen.stored = snap.stored;
  }
  if (core.rewind.pending()) {
    news = true;
    core.rewind.late = core.rewind.late || core.polls.late();  // another one may have followed it
    const bool wait = InMode(*this)->waits_until_reset_is_over() && !core.rewind.over(snap.read_time_ns);
    return wait ? Access::ok : ResetRecovery(*this).begin_epoch();
  }
  if (CoreRecycling(*this).provisional_moved(snap)) return CoreRecycling(*this).reopen(), Access::ok;
  return take(poll, now_ns, stored_moved, news);
}

// The poll is of the known epoch, or no evidence is against that.
Access CoreMachine::take(const QuietCheck::Poll& poll, uint64_t now_ns, bool stored_moved, bool& news) {
  const ControlSample& snap = poll.sample;
  news = has_news(snap);
  if (news) request_lines(core.lanes);
  core.polls.quiet = news ? 0 : core.polls.quiet + 1;
  if (poll.front == QuietCheck::Front::empty && core.lanes[0].delivered && kind().counts_launches)
    core.polls.note_caught_up(poll.begun_ns, dev.resets);
  if (poll.in_doubt && !words_wait(snap)) {  // a run can be counted after the indices were read
    if (const Access a = QuietCheck(*this).check_unseen_reset(poll.front); a != Access::ok) return a;
    if (core.rewind.pending()) return Access::ok;
  }
  if (!news)
    if (const Access a = QuietCheck(*this).conclude(poll); a != Access::ok) return a;
  if (const Access a = FirmwareFinder(*this).settle_mode(now_ns, news || stored_moved); a != Access::ok)
    return a;
  if (!news)
    if (const Access a = InMode(*this)->keep_copies(now_ns); a != Access::ok) return a;
  const bool may_lack =
      LogRoomCheck(*this).unexplained_runs(snap) || (dev.region_size.known() && near_full(snap));
  if (!news && !may_lack) return Access::ok;
  note_indices(snap);
  const auto known = FirmwareFinder(*this).layout_known(snap);
  if (!known) return known.error();
  if (!*known || dev.visit_lines == 0) return Access::ok;
  return take_words(poll, now_ns);
}

Access CoreMachine::take_words(const QuietCheck::Poll& poll, uint64_t now_ns) {
  const ControlSample& snap = poll.sample;
  LogRoomCheck::LastTimes before;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) before[r] = core.lanes[r].digest.last_time;
  if (const Access a = Delivery(*this).deliver(snap, now_ns); a != Access::ok) return a;
  if (core.rewind.pending()) return Access::ok;
  if (const Access a = InMode(*this)->keep_copies(now_ns); a != Access::ok) return a;
  core.runs.counter = snap.run_counter;
  if (!has_news(snap)) core.polls.note_caught_up(poll.begun_ns, dev.resets);
  if (const Access a = LogRoomCheck(*this).account(snap, before); a != Access::ok) return a;
  return CoreRecycling(*this).consider(snap);
}

// Reads the front of an empty log, if in doubt, and then the vector.
Access CoreMachine::read(QuietCheck::Poll& poll) {
  poll.begun_ns = reader.now_ns();
  const bool late = Polls::too_late(core.polls.last_ns, poll.begun_ns);
  poll.in_doubt = dev.region_size.known() && !core.rewind.pending() &&
                  (late || core.polls.resets_checked != dev.resets.counted() ||
                   (core.polls.quiet + 1) % kCanaryEvery == 0);
  const auto front = poll.in_doubt ? QuietCheck(*this).read_front() : QuietCheck::Front::not_read;
  if (!front) return front.error();
  const bool nothing_read = *front == QuietCheck::Front::not_read && !poll.in_doubt;
  const auto snap = sample(nothing_read ? std::optional(poll.begun_ns) : std::nullopt);
  if (!snap) return snap.error();
  poll.front = *front;
  poll.sample = *snap;
  core.polls.note(poll.begun_ns);
  if (late)
    for (LaneState& lane : core.lanes) lane.l1.unchecked = true;
  if (late && is_tensix()) ++dev.counters.missed_poll_deadlines;
  return Access::ok;
}

bool CoreMachine::rewound(const ControlSample& snap) {
  if (snap.run_counter < core.seen.run_counter) return true;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.host_end[r] < core.seen.host_end[r]) return true;
  return InMode(*this)->shows_reset(snap);
}

void CoreMachine::note_indices(const ControlSample& snap) const {
  core.seen.host_end = snap.host_end;
  core.seen.run_counter = snap.run_counter;
  core.recycling.referee.see(snap.run_counter);
  core.landing.note(snap.host_end, snap.read_time_ns, reader.now_ns());
}

bool CoreMachine::has_canary() const {
  return std::any_of(core.lanes.begin(), core.lanes.end(),
                     [](const LaneState& l) { return !l.canary.none(); });
}

// Counts resets of cores that are polled rarely. A core that never delivered anything shows no reset, where others
// have.
void CoreMachine::count_resets(uint64_t before_ns, bool had_canary) const {
  if (!is_tensix() || core.polls.last_ns == before_ns) return;
  const bool in_time = !Polls::too_late(before_ns, core.polls.last_ns);
  const bool each_shows =
      core.rewind.pending() ? !core.rewind.late : in_time || (had_canary && !core.polls.check_all);
  const bool delivered =
      std::any_of(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return l.delivered; });
  if (each_shows || delivered || dev.counters.programs == 0)
    dev.resets.polled(core.polls.last_ns, each_shows);
}

}  // namespace ttc::collect

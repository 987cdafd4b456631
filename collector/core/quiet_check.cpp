#include "collector/core/quiet_check.hpp"

#include <algorithm>

#include "collector/core/canaries.hpp"

namespace ttc::collect {
namespace {

using card::Access;

}  // namespace

// A poll without news: finds out whether an epoch has begun and ended since the poll before.
Access QuietCheck::conclude(const Poll& poll) {
  bool decided = true;
  if (core.epoch.last_run_unchecked && dev.region_size.known() &&
      kind_of(dev.attachment.mode).counts_launches)
    if (const Access a = check_last_run(decided); a != Access::ok) return a;
  if (core.polls.late() && !core.lanes[0].delivered)
    if (const Access a = check_never_seen(decided); a != Access::ok) return a;
  if (decided) core.polls.note_caught_up(poll.begun_ns, dev.resets);
  return Access::ok;
}

// No frame of this epoch was delivered: a frame at the front that is later than what was is of an epoch that
// has ended, or of this one. Examined before the indices are: they move before a frame lands, so the frame
// is of this epoch only if they show it. And a launch that begins while they are read was not there yet.
card::Expected<QuietCheck::Front> QuietCheck::read_front() {
  const auto begun = [](const LaneState& lane) { return lane.cursor != 0; };
  Front front = Front::not_read;
  if (std::any_of(core.lanes.begin(), core.lanes.end(), begun)) return front;
  for (uint32_t r = 0; r < device::kMaxRiscs && front != Front::frame; ++r) {
    if (!core.lanes[r].delivered || !core.lanes[r].digest.known) continue;
    const auto waits = frame_waits_at_front(r, FrontKinds::launches);
    if (!waits) return card::failed(waits.error());
    front = *waits ? Front::frame : Front::empty;
  }
  return front;
}

card::Expected<bool> QuietCheck::frame_waits_at_front(uint32_t risc, FrontKinds kinds) {
  std::array<uint64_t, 8> raw;
  if (const Access a = reader.log(core.tile, risc, 0, raw); a != Access::ok) return card::failed(a);
  const std::span<const uint32_t> words(reinterpret_cast<const uint32_t*>(raw.data()), 16);
  const LaneState& lane = core.lanes[risc];
  if (!markers::frame_starts(words, 0, lane.lane)) return false;
  const uint64_t known_until = lane.digest.known ? lane.digest.last_time : dev.attachment.begun_cycles;
  const bool quick_push = words[device::kFwEndWord] == device::kUnsetWord;
  if (words[device::kFwStartWord] == device::kUnsetWord || (quick_push && kinds == FrontKinds::launches))
    return false;
  const uint64_t time = markers::first_time(words, known_until);
  // A quick push is there before its index is, so that it may also be of the epoch that begins: it counts as one that waits, for
  // there is no proof that it does not.
  return markers::clock_difference(time, known_until) > 0 &&
         markers::clock_difference(time, ceiling().time) < 0;
}

// L1 holds the core's last run. When BRISC has closed it, a kernel took part in it, and it is later than what
// was delivered, it is not delivered. (BRISC's FW zone alone is no evidence: it also opens for launches that
// are not for this core.)
card::Expected<QuietCheck::LastRun> QuietCheck::read_last_run() {
  const auto brisc = reader.slots(core.tile, 0);
  if (!brisc) return card::failed(brisc.error());
  const uint64_t opened = brisc->time_of(device::kFwStartWord), closed = brisc->time_of(device::kFwEndWord);
  const markers::FrameDigest& digest = core.lanes[0].digest;
  const uint64_t polled = cycles_at(core.polls.proven_ns);  // when it was open then, no run came after
  if (closed == 0 || (!digest.known && !core.rewind.pending())) {
    const bool new_one = closed == 0 && opened != 0 && markers::clock_difference(opened, polled) > 0;
    return new_one ? LastRun::open : LastRun::delivered;
  }
  if (markers::clock_difference(closed, digest.known ? digest.last_time : polled) <= 0)
    return LastRun::delivered;
  bool kernel_ran = brisc->time_of(device::kKernelEndWord) != 0;
  for (uint32_t r = 1; r < core.tile.riscs && !kernel_ran; ++r) {
    const auto other = reader.slots(core.tile, r);
    if (!other) return card::failed(other.error());
    kernel_ran = other->time_of(device::kFwEndWord) != 0;
  }
  if (kernel_ran) return LastRun::undelivered;
  // A launch for other cores has cleared what an earlier one left: whether that was delivered is unknown.
  const bool cleared = opened != 0 && markers::clock_difference(opened, polled) > 0;
  return cleared ? LastRun::open : LastRun::delivered;
}

// The log is empty: a last run that was not delivered went by unseen. The vector is read again
// afterwards: the run may just be being pushed. Then the decision is left to the first frame, which shows how long the core
// was not polled.
Access QuietCheck::check_last_run(bool& decided) {
  core.epoch.last_run_unchecked = false;
  const auto run = read_last_run();
  if (!run) return run.error();
  QuietCore evidence{.none_since = *run == LastRun::delivered, .not_closed = *run == LastRun::open};
  if (!prove_quiet(evidence)) {
    const auto pushed = is_being_pushed();
    if (!pushed) return pushed.error();
    evidence.being_pushed = *pushed;
  }
  decided = !evidence.being_pushed;
  core.account.keep_all(prove_quiet(evidence));
  return Access::ok;
}

// The log is empty, no marker of this core was ever delivered, and this poll came late. What was stored in L1
// since the poll before, and is in no log, went by unseen: a closed run with a kernel, or a buffer that
// was begun again because a quick push has emptied it.
Access QuietCheck::check_never_seen(bool& decided) {
  const uint64_t before = cycles_at(core.polls.before_ns);
  bool ran = false, begun = false;
  for (uint32_t r = 0; r < core.tile.riscs && !ran; ++r) {
    const auto slots = reader.slots(core.tile, r, true);
    if (!slots) return slots.error();
    const auto since = [&](uint32_t word) { return slots->holds_later(word, before); };
    const bool closed = since(device::kKernelEndWord) && since(device::kFwEndWord);
    const bool open = slots->time_of(device::kFwStartWord) != 0 && slots->time_of(device::kFwEndWord) == 0;
    const bool opened_before = open && !since(device::kFwStartWord);
    ran = closed || (opened_before && since(device::kFirstCustomWord));
    // Firmware clears BRISC's slots, and then stores the start of the launch.
    const bool opening = r == 0 && slots->words.front() == device::kUnsetWord;
    begun = begun || opening || (open && !opened_before);
  }
  // A launch that has begun since has cleared what earlier ones left.
  if (!ran && begun && kind().counts_launches) decided = false;
  QuietCore evidence{.none_since = !ran, .uncounted = !kind().counts_launches};
  if (ran) evidence.host_never_read = !reader.host_has_read(core.tile).value_or(true);
  if (!prove_quiet(evidence)) {
    const auto pushed = is_being_pushed();
    if (!pushed) return pushed.error();
    evidence.being_pushed = *pushed;
    decided = !*pushed;
  }
  core.account.keep_all(prove_quiet(evidence));
  return Access::ok;
}

// Another core was reset, or this poll came late, and this one has no news. A push may have been made and
// reset, or be where one of the same length was before.
Access QuietCheck::check_unseen_reset(Front front) {
  const auto intact = front != Front::frame ? Canaries(*this).stand(core.polls.check_all) : false;
  if (!intact) return intact.error();
  core.polls.resets_checked = dev.resets.counted();
  if (!*intact) note_reset(true);
  return Access::ok;
}

}  // namespace ttc::collect

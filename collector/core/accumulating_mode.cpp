#include <algorithm>
#include <utility>

#include "collector/continuity/l1_words.hpp"
#include "collector/core/canaries.hpp"
#include "collector/core/firmware_mode.hpp"

namespace ttc::collect {
namespace {

using card::Access;

// A push begins so long after the last marker that it takes: BRISC starts it at the end of the launch, before anything else. A launch
// behind a host reset comes later than that, as the host reads results before it launches again (timing::kPollDeadlineNs).
constexpr int64_t kPushFollowsCycles = 20'000;

}  // namespace

// Firmware that has pushed no frame yet. A push moves the index before it clears DEVICE_END, and the index is read after DEVICE_END.
bool AccumulatingMode::shows_reset(const ControlSample& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (snap.stored[r] < core.seen.stored[r] && snap.host_end[r] == 0 && snap.run_counter == 0) return true;
  return false;
}

// A push takes what accumulated, from the first marker on. A frame up to `until` that begins with another one has a host reset in
// front of it.
std::optional<Proof> AccumulatingMode::frame_joins(uint32_t risc, std::span<const uint32_t> frame,
                                                   uint64_t until) {
  LaneState& lane = core.lanes[risc];
  // It was pushed before the buffer was begun that is known now. The proof of that buffer covers what is in front of it.
  if (lane.l1.canary != 0 && later(lane.l1.canary, until)) return lane.l1.joins;
  const std::optional<Proof> follows = joins(risc, frame);
  lane.l1.take_push(until);
  return follows;
}

// No counter shows a host reset: checks whether the buffers are still those of before. Every launch ends with BRISC's part, so while that is intact
// the others are read only where their first marker is not known yet.
card::Expected<FirmwareMode::L1Check> AccumulatingMode::check_l1(const ControlSample& snap) {
  const bool pushed = snap.run_counter != core.seen.run_counter;
  const bool all = pushed || snap.stored[0] != core.seen.stored[0];
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    if (snap.host_end[r] > lane.cursor) continue;  // the frame that was pushed shows it
    // A push clears DEVICE_END and counts. In the middle of a launch a reset clears that of the lanes that have ended, and the
    // launch may go on to push the others. A push under way has cleared it and not counted yet; its index may have moved before
    // an earlier poll, and is not 0, as behind a reset: the host writes the index first, and it is read last.
    const bool cleared = snap.stored[r] < core.seen.stored[r] && snap.host_end[r] <= core.seen.host_end[r];
    if (cleared && !pushed && snap.host_end[r] == 0) return L1Check::reset;
    if (cleared || (pushed && lane.l1.unchecked && snap.stored[r] <= kFirstMarker)) {
      const auto taken = take_tail(r, snap);
      if (!taken) return card::failed(taken.error());
      if (!*taken) return L1Check::moved_on;
      continue;
    }
    if (!may_have_stored(r)) lane.l1.unchecked = false;
    if (!lane.l1.unchecked && (snap.stored[r] <= kFirstMarker || (r != 0 && !all && lane.l1.canary != 0)))
      continue;
    const auto buffer = reader.first_marker(core.tile, r);
    if (!buffer) return card::failed(buffer.error());
    const uint64_t first = first_marker_time(*buffer);
    // If DEVICE_END is 0 and no frame was pushed, a host reset has cleared it.
    const bool holds = holds_marker(*buffer);
    const bool delivered = !holds || !later(first, known_until(r));
    if (delivered || first == lane.l1.canary) lane.l1.unchecked = false;
    if (!holds || first == lane.l1.canary) continue;
    const bool begun = lane.l1.canary == 0 && snap.stored[r] != 0 && joins(r, *buffer).has_value();
    const bool stands = pushed || begun || (delivered && lane.l1.canary == 0);
    if (!stands)
      if (const auto why = why_restarted(r, snap); !why || *why != L1Check::stands) return why;
    if (snap.stored[r] > kFirstMarker) begins(r, *buffer);
  }
  return L1Check::stands;
}

// A buffer was restarted, and the sample, which was read before it, shows no push. Either a host reset did it, or a push since the
// sample, which the counters show now: then nothing is concluded, and the core is polled again. Or the log had no room for a push: it
// moves no index, and an earlier poll, at which words waited, took its count; a reset would have cleared the lane's bit in DROPPED. Or
// the lane's buffer was empty, and a poll came late: then intact canaries in the log, read when what the indices announce has landed,
// show that no reset passed.
card::Expected<FirmwareMode::L1Check> AccumulatingMode::why_restarted(uint32_t risc,
                                                                      const ControlSample& snap) {
  LaneState& lane = core.lanes[risc];
  const auto now = sample();
  if (!now) return card::failed(now.error());
  if (now->only_grown_since(snap)) return L1Check::moved_on;
  const auto dropped = reader.dropped(core.tile);
  if (!dropped) return card::failed(dropped.error());
  const bool unmoved = now->host_end == snap.host_end && now->run_counter == snap.run_counter;
  if (*dropped >> risc & 1 && unmoved) {
    // What was copied of the buffer that had no room is delivered; the rest is in the interval of the full log.
    publish_rest(risc, std::exchange(lane.l1.rest, {}), lane.l1.joins);
    lane.l1.clear_known();
    return L1Check::stands;
  }
  const bool was_empty = lane.l1.canary == 0 && !lane.canary.none();
  if (!was_empty || !unmoved) return L1Check::reset;
  if (const Access a = wait_until_landed(); a != Access::ok) return card::failed(a);
  const auto same_epoch = Canaries(*this).stand(true);
  if (!same_epoch) return card::failed(same_epoch.error());
  if (!*same_epoch) return L1Check::reset;
  for (LaneState& each : core.lanes) each.l1.unchecked = false;
  return L1Check::stands;
}

Access AccumulatingMode::keep_copies(uint64_t now_ns) {
  if (!copy_is_due(now_ns)) return Access::ok;
  const auto before = reader.vector(core.tile);
  if (!before) return before.error();
  std::array<std::vector<uint32_t>, device::kMaxRiscs> buffers;
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    const uint32_t end = before->device_end[r];
    const bool grown = end != core.lanes[r].l1.rest.size() || before->run_counter != core.l1_copy.runs;
    if (end < kFirstMarker || !grown) continue;
    auto buffer = reader.buffer(core.tile, r);
    if (!buffer) return buffer.error();
    buffers[r] = std::move(*buffer);
  }
  const auto after = reader.vector(core.tile);
  if (!after) return after.error();
  if (!nothing_moved(*before, *after)) return Access::ok;  // a later visit comes when it is quieter
  core.l1_copy.runs = before->run_counter;
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    std::vector<uint32_t>& buffer = buffers[r];
    if (buffer.empty() || !markers::l1_holds_more(*before, r, mode(), buffer)) continue;
    // Frames that wait in the log come first: readers drop what is older than what they have.
    if (before->host_end[r] > core.lanes[r].cursor) continue;
    buffer.resize(markers::l1_words(*before, r, dev.attachment.layout->format, buffer));
    if (!holds_marker(buffer)) continue;
    begins(r, buffer);
    core.lanes[r].l1.rest = std::move(buffer);
  }
  return Access::ok;
}

// A lane's buffer as it was at one time. Firmware begins it again at its first marker, which is therefore read once more behind the rest:
// a drain that lost the CPU while it read has the front of one buffer and the back of the next. No value: each time it was begun again.
card::Expected<std::optional<std::vector<uint32_t>>> AccumulatingMode::whole_buffer(uint32_t risc) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    auto buffer = reader.buffer(core.tile, risc);
    if (!buffer) return card::failed(buffer.error());
    const auto again = reader.first_marker(core.tile, risc);
    if (!again) return card::failed(again.error());
    const bool held = holds_marker(*buffer);
    if (held == holds_marker(*again) && (!held || first_marker_time(*buffer) == first_marker_time(*again)))
      return std::optional(std::move(*buffer));
  }
  return std::optional<std::vector<uint32_t>>();
}

// In the epoch that has ended: no poll showed a push, whose index moves first and which is counted last, and after a host reset no frame
// came back from the log that none had shown.
bool AccumulatingMode::none_pushed() const {
  const bool unseen =
      core.rewind.pending() && (core.seen.host_end[0] != 0 || core.lanes[0].recovery.chain_end != 0);
  return core.seen.run_counter == 0 && !unseen;
}

// Firmware stores the zones of a push word by word, the end of the second one last, over those of the push before. All of the push has
// been stored if that end is not before the start of the first one.
bool AccumulatingMode::push_zones_are_whole(std::span<const uint32_t> buffer) const {
  const uint32_t high = buffer[device::kKernelEndWord], low = buffer[device::kKernelEndWord + 1];
  const uint64_t start = markers::marker_time(buffer[device::kFwStartWord], buffer[device::kFwStartWord + 1]);
  const uint64_t last = markers::marker_time(high, low);
  if (markers::is_blank(high) || low == device::kUnsetWord) return false;
  return !later(start, last) && !later(last, ceiling().time);
}

// A host reset clears every DEVICE_END and index: one that is not 0 shows that the core continued at once.
bool AccumulatingMode::has_run(const ControlSample& since_reset) const {
  for (uint32_t r = 0; r < core.tile.riscs; ++r)
    if (since_reset.stored[r] != 0 || since_reset.host_end[r] != 0) return true;
  return false;
}

// Delivers the words that stay in L1 after a host reset until the firmware begins again. Afterwards no marker that the lane stored
// before the reset is missing but what an interval holds. False: the lane was pushed since the sample, so that its buffer is behind
// words which wait in the log. It is not taken then, as readers drop what is older than what they have.
card::Expected<bool> AccumulatingMode::take_tail(uint32_t risc, const ControlSample& since) {
  LaneState& lane = core.lanes[risc];
  const auto read = whole_buffer(risc);
  if (!read) return card::failed(read.error());
  const bool whole = read->has_value();
  const std::vector<uint32_t> unknown(whole ? 0 : device::kBufferWords, device::kUnsetWord);
  const std::span<const uint32_t> now(whole ? **read : unknown);
  const std::vector<uint32_t> copy = std::exchange(lane.l1.rest, {});
  const uint64_t canary = lane.l1.canary;
  auto content = holds_marker(now) ? ascending(now, ceiling().time) : std::span<const uint32_t>();
  // No poll saw the lane begin this buffer: what is not later than what is known was left there by an earlier session.
  if (canary == 0 && !content.empty() && !later(last_marker_time(content), known_until(risc))) content = {};
  const uint64_t first = content.empty() ? 0 : first_marker_time(content);
  const bool same_buffer = whole && first == canary;
  bool waits_in_log = !whole;
  if (!same_buffer && !content.empty()) {
    const auto indices = sample();
    if (!indices) return card::failed(indices.error());
    waits_in_log = indices->host_end[risc] != since.host_end[risc];
  }
  if (waits_in_log) content = {};
  const bool may_be_of_the_new_epoch = core.rewind.pending() && !same_buffer && has_run(since);
  const std::optional<Proof> follows = joins(risc, content, !may_be_of_the_new_epoch);
  // The zones of a push are in BRISC's slots alone, until the next push takes them, or the first launch after a reset clears them.
  const uint64_t complete = known_until(risc);
  const uint64_t slot_time = markers::marker_time(now[device::kFwStartWord], now[device::kFwStartWord + 1]);
  const bool none_stored = markers::is_blank(now[device::kFwStartWord]);
  const bool in_part = !none_stored && !push_zones_are_whole(now);
  const bool of_last_push =
      !none_stored && !in_part && markers::clock_difference(slot_time, complete) < kPushFollowsCycles;
  // Slots with a later push show that its frames went to a log that was never read: no poll showed the reset in between.
  if (risc == 0)
    core.account.keep(risc, prove_push_zones({.no_push = none_pushed(), .slots_hold_it = of_last_push}));
  if (canary != 0 && !same_buffer) publish_rest(risc, copy, lane.l1.joins);
  // If the buffer was restarted, what was stored behind the copy is gone.
  core.account.keep(
      risc, prove_l1_tail({.begins_with_canary = same_buffer, .nothing_before = whole && canary == 0}));
  std::vector<uint32_t> rest(content.begin(), content.end());
  if (in_part && !rest.empty())
    std::fill(rest.begin() + device::kFwStartWord, rest.begin() + kFirstMarker, device::kUnsetWord);
  publish_rest(risc, rest, follows);
  if (risc == 0 && in_part) core.account.keep(risc, prove_push_zones({}));
  const bool unchecked = lane.l1.unchecked && waits_in_log;
  lane.l1.clear_known();
  lane.l1.unchecked = unchecked;
  return !waits_in_log;
}

// Takes the tails of the lanes that are not in `pushed`; adds those that were pushed since the sample.
Access AccumulatingMode::take_tails(const ControlSample& since, uint32_t& pushed) {
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    if (pushed >> r & 1 || !may_have_stored(r)) continue;
    const auto taken = take_tail(r, since);
    if (!taken) return taken.error();
    pushed |= uint32_t{!*taken} << r;
  }
  return Access::ok;
}

Access AccumulatingMode::take_at_reset(const ControlSample& snap, const Across& across) {
  uint32_t pushed = 0;  // bit r: a push of lane r has taken its buffer to the log of the epoch that begins
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    core.account.keep(r, across[r]);
    if (snap.host_end[r] == 0) continue;
    pushed |= uint32_t{1} << r;
    // What the old epoch had stored last may have been overwritten before the push.
    core.account.keep(r, prove_l1_tail({}));
  }
  // The zones of the old epoch's last push were in slots that the new epoch may have cleared.
  if (pushed & 1) core.account.keep(0, prove_push_zones({.no_push = none_pushed()}));
  if (const Access a = take_tails(snap, pushed); a != Access::ok) return a;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    core.lanes[r].recovery.taken->evidence.l1_shows_end = !(pushed >> r & 1);
  return Access::ok;
}

Access AccumulatingMode::take_rest() {
  core.l1_copy.kept_ns = 0;
  if (const Access a = keep_copies(~uint64_t{0}); a != Access::ok) return a;
  const auto now = sample();
  if (!now) return now.error();
  uint32_t pushed = 0;
  return take_tails(*now, pushed);
}

void AccumulatingMode::publish_copies() {
  for (uint32_t r = 0; r < core.tile.riscs; ++r)
    publish_rest(r, core.lanes[r].l1.rest, core.lanes[r].l1.joins);
}

}  // namespace ttc::collect

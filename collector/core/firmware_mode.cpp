#include "collector/core/firmware_mode.hpp"

#include <algorithm>
#include <utility>

#include "collector/continuity/l1_words.hpp"
#include "collector/core/quiet_check.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kCopyEveryNs = 10'000'000;
constexpr uint64_t kCopyFirstNs = 1'000'000;  // where there is no copy yet, or a poll came late

}  // namespace

InMode::Any InMode::of(const CorePart& part) {
  const FirmwareKind kind = part.kind();
  if (kind.accumulates) return Any(std::in_place_type<AccumulatingMode>, part);
  if (kind.keeps_l1) return Any(std::in_place_type<TraceOnlyMode>, part);
  if (part.may_accumulate()) return Any(std::in_place_type<UnknownMode>, part);
  return Any(std::in_place_type<NormalMode>, part);
}

card::Expected<bool> NormalMode::was_idle() {
  const auto run = QuietCheck(*this).read_last_run();
  if (!run) return card::failed(run.error());
  return *run == QuietCheck::LastRun::delivered;
}

// A marker at the buffer's front that the tile can have stored. A card that was reset keeps what is in its L1, and its clock begins
// again: a time that is still to come is of before.
bool L1Markers::holds_marker(std::span<const uint32_t> buffer) const {
  if (!begins_with_marker(buffer)) return false;
  const uint64_t first = first_marker_time(buffer);
  if (later(first, ceiling().time)) read_clock(kCeilingAgeNs);  // the clock may have jumped ahead
  return !later(first, ceiling().time);
}

// An Ethernet core may have a control vector and no buffers: those are read only where it stored something.
bool L1Markers::may_have_stored(uint32_t risc) const {
  const LaneState& lane = core.lanes[risc];
  return is_tensix() || lane.delivered || lane.l1.canary != 0 || !lane.l1.rest.empty() ||
         core.seen.stored[risc] != 0;
}

// The time until which the lane's account is complete, or when collecting began.
uint64_t L1Markers::known_until(uint32_t risc) const {
  const uint64_t complete = core.account.complete_until(risc);
  return complete != 0 ? complete : dev.attachment.begun_cycles;
}

// Does a buffer, or a frame that was pushed from one, follow what was delivered? `may_be_first`: without a known canary it counts as the
// first since then if the core was polled in time.
std::optional<Proof> L1Markers::joins(uint32_t risc, std::span<const uint32_t> buffer,
                                      bool may_be_first) const {
  const LaneState& lane = core.lanes[risc];
  if (buffer.size() <= kFirstMarker || !markers::is_marker(buffer[kFirstMarker]))
    return prove_l1_tail({.holds_none = true});
  const uint64_t first = first_marker_time(buffer);
  L1Tail evidence;
  evidence.begins_with_canary = lane.l1.joins && first == lane.l1.canary;
  evidence.nothing_before = !later(first, known_until(risc));
  // The past of a core whose host has read results is unknown at the core's first poll.
  const bool late =
      lane.l1.unchecked || core.rewind.late || Polls::too_late(core.polls.last_ns, reader.now_ns());
  if (lane.l1.canary == 0 && !evidence.nothing_before && may_be_first)
    evidence.nothing_before = !late || !reader.host_has_read(core.tile).value_or(true);
  return prove_l1_tail(evidence);
}

// The buffer that has been begun since the last push, or since the one before was delivered.
void L1Markers::begins(uint32_t risc, std::span<const uint32_t> buffer) {
  LaneState& lane = core.lanes[risc];
  const uint64_t first = first_marker_time(buffer);
  if (first == lane.l1.canary) {
    lane.l1.unchecked = false;
    return;
  }
  lane.l1.begin(first, joins(risc, buffer));
  if (!same_first_marker(lane.l1.rest, buffer)) lane.l1.rest.clear();
}

// A push leaves its own zone in the slots, and under it the markers it took: two frames, so that these
// do not seem left over from before.
void L1Markers::publish_rest(uint32_t risc, const std::vector<uint32_t>& rest,
                             const std::optional<Proof>& follows) {
  constexpr auto kSlots = device::kFwStartWord;
  if (rest.size() < kFirstMarker || !later(last_marker_time(rest), core.account.complete_until(risc))) return;
  const bool has_markers = rest.size() > kFirstMarker && kind().accumulates;
  if (has_markers)
    core.account.deliver(risc, follows, first_marker_time(rest), core.account.complete_until(risc));
  const auto time_at = [&](uint32_t word) { return markers::marker_time(rest[word], rest[word + 1]); };
  const bool ends_with_push = has_markers && !markers::is_blank(rest[kSlots]) &&
                              markers::clock_difference(time_at(kSlots), time_at(kFirstMarker)) > 0;
  // Markers of one buffer follow each other.
  const auto in_buffer = has_markers ? prove_l1_tail({.nothing_before = true}) : follows;
  if (!in_buffer) return;
  if (!ends_with_push) return publish_frame_of_rest(risc, rest, *in_buffer);
  std::vector<uint32_t> pushed(rest);
  std::fill(pushed.begin() + kSlots, pushed.begin() + kFirstMarker, device::kUnsetWord);
  publish_frame_of_rest(risc, pushed, *in_buffer);
  publish_frame_of_rest(risc, {rest.begin(), rest.begin() + kFirstMarker}, *in_buffer);
}

void L1Markers::publish_frame_of_rest(uint32_t risc, const std::vector<uint32_t>& rest,
                                      const Proof& in_buffer) {
  LaneState& lane = core.lanes[risc];
  const uint64_t until = last_marker_time(rest);
  if (core.account.complete_until(risc) != 0 && !later(until, core.account.complete_until(risc))) return;
  core.account.extend(risc, in_buffer, until);
  lane.delivered = true;
  const uint64_t bytes = Publisher::kHeadBytes + (4 * rest.size() + 7) / 8 * 8;
  uint64_t* slot = publisher.claim(bytes);
  std::vector<uint64_t> copy((rest.size() + 1) / 2);
  std::copy(rest.begin(), rest.end(), reinterpret_cast<uint32_t*>(copy.data()));
  shm::store_bytes(slot + Publisher::kHeadBytes / 8, copy.data(), 8 * copy.size());
  announce_names();
  const Publisher::Span span{static_cast<uint8_t>(risc), 0,           static_cast<uint32_t>(rest.size()),
                             Publisher::kHeadBytes,      lane.digest, shm::SpanSource::l1_buffer};
  publisher.publish_words(slot, bytes, chunk_core(core.runs.counter, reader.now_ns(), 0), {&span, 1});
  ++dev.counters.frames;
}

// Called at the end of a visit: a buffer that has been begun is recognised by its first marker. A lane without one was therefore empty
// at the last poll.
Access L1Markers::note_begun_buffers() {
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    const bool waits = core.seen.host_end[r] > lane.cursor;
    if (core.seen.stored[r] <= kFirstMarker || (waits ? lane.l1.next_canary : lane.l1.canary) != 0) continue;
    const auto read = reader.first_marker(core.tile, r);
    if (!read) return read.error();
    const std::span<const uint32_t> buffer(*read);
    if (!holds_marker(buffer)) continue;
    const uint64_t first = first_marker_time(buffer);
    if (!waits)
      begins(r, buffer);
    else if (first != lane.l1.canary)
      lane.l1.next_canary = first;
  }
  return Access::ok;
}

bool L1Markers::copy_is_due(uint64_t now_ns) {
  bool urgent = core.polls.late();
  for (uint32_t r = 0; r < core.tile.riscs; ++r)
    urgent = urgent || (core.seen.stored[r] > kFirstMarker && core.lanes[r].l1.rest.empty());
  if (now_ns - core.l1_copy.kept_ns < (urgent ? kCopyFirstNs : kCopyEveryNs)) return false;
  core.l1_copy.kept_ns = now_ns;
  return true;
}

bool L1Markers::nothing_moved(const markers::ControlVector& before, const markers::ControlVector& after) {
  return after.device_end == before.device_end && after.host_end == before.host_end &&
         after.trace_status == before.trace_status;
}

// Was the core in the replay that it was in when it was last polled?
card::Expected<bool> TraceOnlyMode::was_idle() {
  const auto slots = reader.slots(core.tile, 0);
  if (!slots) return card::failed(slots.error());
  const uint64_t began = slots->time_of(device::kFwStartWord);
  return began == 0 || !later(began, cycles_at(core.polls.proven_ns));
}

Access TraceOnlyMode::keep_copies(uint64_t now_ns) {
  if (!copy_is_due(now_ns)) return Access::ok;
  const auto before = reader.vector(core.tile);
  if (!before) return before.error();
  auto buffer = reader.buffer(core.tile, 0);
  if (!buffer) return buffer.error();
  const auto after = reader.vector(core.tile);
  if (!after) return after.error();
  if (!nothing_moved(*before, *after)) return Access::ok;  // a later visit comes when it is quieter
  if (!markers::l1_holds_more(*before, 0, mode(), *buffer)) return Access::ok;
  buffer->resize(markers::l1_words(*before, 0, dev.attachment.layout->format, *buffer));
  core.lanes[0].l1.rest = std::move(*buffer);
  return Access::ok;
}

Access TraceOnlyMode::take_rest() {
  core.l1_copy.kept_ns = 0;
  if (const Access a = keep_copies(~uint64_t{0}); a != Access::ok) return a;
  publish_copies();
  return Access::ok;
}

void TraceOnlyMode::publish_copies() {
  for (uint32_t r = 0; r < core.tile.riscs; ++r)
    publish_rest(r, std::exchange(core.lanes[r].l1.rest, {}), prove_l1_tail({.last_of_replay = true}));
}

// The core may be one that accumulates, and stores no marker now: a lane whose buffer is none, or is older than what is known, lost none
// in between. What is newer is decided when the mode is.
card::Expected<FirmwareMode::L1Check> UnknownMode::check_l1(const ControlSample& snap) {
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    // Cleared, and not by a push: a host reset may have taken what was stored.
    const bool cleared = snap.stored[r] < core.seen.stored[r] && snap.host_end[r] <= core.seen.host_end[r];
    lane.l1.unchecked = lane.l1.unchecked || cleared;
    if (!lane.l1.unchecked || snap.stored[r] != 0) continue;
    const auto buffer = reader.first_marker(core.tile, r);
    if (!buffer) return card::failed(buffer.error());
    const uint64_t first = first_marker_time(*buffer);
    lane.l1.unchecked = holds_marker(*buffer) && first != lane.l1.canary && later(first, known_until(r));
  }
  return L1Check::stands;
}

// The mode never showed. A lane whose buffer begins with a marker that nothing shows to be delivered may lack all that it holds.
Access UnknownMode::take_rest() {
  for (uint32_t r = 0; r < core.tile.riscs; ++r) {
    const auto buffer = reader.first_marker(core.tile, r);
    if (!buffer) return buffer.error();
    const bool delivered = !later(first_marker_time(*buffer), known_until(r));
    core.account.keep(r, prove_l1_tail({.nothing_before = delivered, .holds_none = !holds_marker(*buffer)}));
  }
  return Access::ok;
}

}  // namespace ttc::collect

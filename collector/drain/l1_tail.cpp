// Modes of the firmware that keep words in L1 for long: a replay's last frame (trace-only), or launches that
// accumulate until a buffer is nearly full. What is there is taken when collecting ends, and when the host
// resets the indices over it; for the latter, a copy is kept while the firmware goes on, because afterwards
// nothing says how much of a buffer was valid.
//
// A copy may come to the log later all the same: readers drop what a lane's L1 chunk already brought.
//
// The markers of a buffer ascend in time from the first one on, and a launch restarts the buffer only after a push or a host
// reset. So the first marker is the canary of what accumulates: while it stands, nothing in front of the buffer's end is missing.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kKeepEveryNs = 10'000'000;
constexpr uint64_t kKeepFirstNs = 1'000'000;  // where there is no copy yet, or a poll came late

// A push begins so long after the last marker that it takes: BRISC starts it at the end of the launch, before anything else.
constexpr int64_t kPushFollowsCycles = 20'000;

constexpr auto kHead = device::kFirstCustomWord;

uint64_t last_time(std::span<const uint32_t> buffer) {
  using namespace markers;
  uint64_t last = marker_time(buffer[device::kFwStartWord], buffer[device::kFwStartWord + 1]);
  const auto take = [&](const Packet& p) {
    if (p.timed() &&
        (last == 0 || is_blank(buffer[device::kFwStartWord]) || clock_difference(p.time(), last) > 0))
      last = p.time();
    return Walking::on;
  };
  for (const size_t slot : {device::kFwEndWord, device::kKernelStartWord, device::kKernelEndWord})
    if (const Packet p = packet_at(buffer, slot); p.words != 0) take(p);
  for_each_packet(buffer, device::kFirstCustomWord, take);
  return last;
}

// What accumulating firmware stores, but padding: it has no payloads.
bool is_short(uint32_t high) {
  return markers::is_marker(high) && !markers::is_blank(high) &&
         markers::packet_words(markers::packet_type(high)) == 2;
}

bool later(uint64_t a, uint64_t b) {
  return markers::clock_difference(a, b) > 0;
}
bool same_first_marker(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  return a.size() > kHead && b.size() > kHead && a[kHead] == b[kHead] && a[kHead + 1] == b[kHead + 1];
}

// The buffer up to its last marker in ascending order: behind that are words of before. `buffer` holds a marker.
std::span<const uint32_t> ascending(std::span<const uint32_t> buffer, uint64_t latest) {
  uint64_t last = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
  size_t end = kHead + 2;
  for (; end + 2 <= buffer.size() && markers::is_marker(buffer[end]); end += 2) {
    if (markers::is_blank(buffer[end])) continue;
    const uint64_t time = markers::marker_time(buffer[end], buffer[end + 1]);
    if (!is_short(buffer[end]) || !later(time, last) || later(time, latest)) break;
    last = time;
  }
  return buffer.first(end);
}

}  // namespace

// A marker at the buffer's front that the tile can have stored. A card that was reset keeps what is in its L1, and its clock begins
// again: a time that is still to come is of before.
bool Drain::holds_marker(std::span<const uint32_t> buffer) {
  if (buffer.size() <= kHead + 1 || !is_short(buffer[kHead])) return false;
  const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
  if (later(first, ceiling().time)) read_clock(kCeilingAgeNs);  // the clock may have jumped ahead
  return !later(first, ceiling().time);
}

// Until when the lane's account is complete, or when collecting began.
uint64_t Drain::known_until(const CoreState& core, uint32_t risc) const {
  const uint64_t complete = core.account.complete_until(risc);
  return complete != 0 ? complete : attachment_.begun_cycles;
}

// Does a buffer, or a frame that was pushed from one, follow what was delivered?
std::optional<Proof> Drain::l1_joins(const CoreState& core, uint32_t risc, std::span<const uint32_t> buffer) {
  const LaneState& lane = core.lanes[risc];
  if (buffer.size() <= kHead || !markers::is_marker(buffer[kHead]))
    return prove_l1_tail({.holds_none = true});
  const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
  L1Tail evidence;
  evidence.begins_with_canary = lane.l1.joins && first == lane.l1.canary;
  evidence.nothing_before = !later(first, known_until(core, risc));
  // At its first poll nothing is known of a core whose host has read results.
  const bool late =
      lane.l1.unchecked || core.rewind.late || Polls::too_late(core.polls.last_ns, reader_.now_ns());
  if (lane.l1.canary == 0 && !evidence.nothing_before)
    evidence.nothing_before = !late || !reader_.host_has_read(core.core).value_or(true);
  return prove_l1_tail(evidence);
}

// The buffer that has been begun since the last push, or since the one before was delivered.
void Drain::l1_begins(CoreState& core, uint32_t risc, std::span<const uint32_t> buffer) {
  LaneState& lane = core.lanes[risc];
  const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
  if (first == lane.l1.canary) {
    lane.l1.unchecked = false;
    return;
  }
  lane.l1.begin(first, l1_joins(core, risc, buffer));
  if (!same_first_marker(lane.l1.rest, buffer)) lane.l1.rest.clear();
}

// A push takes what accumulated, from the first marker on. A frame up to `until` that begins with another one has a host reset in
// front of it.
std::optional<Proof> Drain::frame_joins_l1(CoreState& core, uint32_t risc, std::span<const uint32_t> frame,
                                           uint64_t until) {
  LaneState& lane = core.lanes[risc];
  if (lane.l1.canary != 0 && later(lane.l1.canary, until))  // it was pushed before that buffer was begun
    return prove_l1_tail({.nothing_before = true});
  const std::optional<Proof> joins = l1_joins(core, risc, frame);
  lane.l1.take_push(until);
  return joins;
}

// No counter shows a host reset: are the buffers still those of before? Every launch ends with BRISC's part, so while that stands
// the others are read only where their first marker is not known yet.
card::Expected<Drain::L1Check> Drain::check_l1(CoreState& core, const ControlSample& snap) {
  const bool pushed = snap.run_counter != core.seen.run_counter;
  const bool all = pushed || snap.stored[0] != core.seen.stored[0];
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    if (snap.host_end[r] > lane.cursor) continue;  // the frame that was pushed shows it
    // A push clears DEVICE_END and counts. In the middle of a launch a reset clears that of the lanes that have ended, and the
    // launch may go on to push the others.
    const bool cleared = snap.stored[r] < core.seen.stored[r] && snap.host_end[r] <= core.seen.host_end[r];
    if (cleared && !pushed) return L1Check::reset;
    if (cleared || (pushed && lane.l1.unchecked && snap.stored[r] <= kHead)) {
      if (const Access a = take_l1_tail(core, r); a != Access::ok) return card::failed(a);
      continue;
    }
    if (!may_have_stored(core, r)) lane.l1.unchecked = false;
    if (!lane.l1.unchecked && (snap.stored[r] <= kHead || (r != 0 && !all && lane.l1.canary != 0))) continue;
    const auto read = reader_.first_marker(core.core, r);
    if (!read) return card::failed(read.error());
    const std::span<const uint32_t> buffer(*read);
    const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
    // Where DEVICE_END is 0 and nothing was pushed, a host reset has cleared it.
    const bool holds = holds_marker(buffer);
    const bool delivered = !holds || !later(first, known_until(core, r));
    if (delivered || first == lane.l1.canary) lane.l1.unchecked = false;
    if (!holds || first == lane.l1.canary) continue;
    const bool begins = lane.l1.canary == 0 && snap.stored[r] != 0 && l1_joins(core, r, buffer).has_value();
    const bool stands = pushed || begins || (delivered && lane.l1.canary == 0);
    if (!stands)
      if (const auto why = why_restarted(core, r, snap); !why || *why != L1Check::stands) return why;
    if (snap.stored[r] > kHead) l1_begins(core, r, buffer);
  }
  return L1Check::stands;
}

// A buffer was restarted, and the sample, which was read before it, shows no push. Either a host reset did it, or a push since the
// sample, which the counters show now: then nothing is concluded, and the core is polled again. Or the lane's buffer was empty, and a
// poll came late: then intact canaries in the log, read when what the indices announce has landed, show that no reset passed.
card::Expected<Drain::L1Check> Drain::why_restarted(CoreState& core, uint32_t risc,
                                                    const ControlSample& snap) {
  const LaneState& lane = core.lanes[risc];
  const auto now = sample(core);
  if (!now) return card::failed(now.error());
  if (now->only_grown_since(snap)) return L1Check::moved_on;
  const bool was_empty = lane.l1.canary == 0 && !lane.canary.none();
  if (!was_empty || now->host_end != snap.host_end || now->run_counter != snap.run_counter)
    return L1Check::reset;
  if (const Access a = wait_until_landed(core); a != Access::ok) return card::failed(a);
  const auto same_epoch = canaries_stand(core, true);
  if (!same_epoch) return card::failed(same_epoch.error());
  if (!*same_epoch) return L1Check::reset;
  for (LaneState& each : core.lanes) each.l1.unchecked = false;
  return L1Check::stands;
}

// At the end of a visit: a buffer that has been begun is known by its first marker. A lane without one was therefore empty at the last
// poll.
Access Drain::note_begun_buffers(CoreState& core) {
  if (!may_accumulate(core)) return Access::ok;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    const bool waits = core.seen.host_end[r] > lane.cursor;
    if (core.seen.stored[r] <= kHead || (waits ? lane.l1.next_canary : lane.l1.canary) != 0) continue;
    const auto read = reader_.first_marker(core.core, r);
    if (!read) return read.error();
    const std::span<const uint32_t> buffer(*read);
    if (!holds_marker(buffer)) continue;
    const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
    if (!waits)
      l1_begins(core, r, buffer);
    else if (first != lane.l1.canary)
      lane.l1.next_canary = first;
  }
  return Access::ok;
}

// An Ethernet core may have a control vector and no buffers: those are read only where it stored something.
bool Drain::may_have_stored(const CoreState& core, uint32_t risc) const {
  const LaneState& lane = core.lanes[risc];
  return core.core.kind == markers::CoreKind::tensix || lane.delivered || lane.l1.canary != 0 ||
         !lane.l1.rest.empty() || core.seen.stored[risc] != 0;
}

// The core may be one that accumulates, and stores nothing now: a lane whose buffer is none, or is older than what is known, lost none
// in between. What is newer is decided when the mode is.
Access Drain::check_l1_before_mode(CoreState& core, const ControlSample& snap) {
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    LaneState& lane = core.lanes[r];
    // Cleared, and not by a push: a host reset may have taken what was stored.
    const bool cleared = snap.stored[r] < core.seen.stored[r] && snap.host_end[r] <= core.seen.host_end[r];
    lane.l1.unchecked = lane.l1.unchecked || cleared;
    if (!lane.l1.unchecked || snap.stored[r] != 0) continue;
    const auto read = reader_.first_marker(core.core, r);
    if (!read) return read.error();
    const std::span<const uint32_t> buffer(*read);
    const uint64_t first = markers::marker_time(buffer[kHead], buffer[kHead + 1]);
    lane.l1.unchecked = holds_marker(buffer) && first != lane.l1.canary && later(first, known_until(core, r));
  }
  return Access::ok;
}

card::Expected<Drain::L1Check> Drain::notice_l1_reset(CoreState& core, const ControlSample& snap) {
  L1Check found = L1Check::stands;
  if (kind_of(core).accumulates) {
    const auto check = check_l1(core, snap);
    if (!check || *check == L1Check::moved_on) return check;
    found = *check;
    if (found == L1Check::reset) note_reset(core, true);
  } else if (may_accumulate(core)) {
    if (const Access a = check_l1_before_mode(core, snap); a != Access::ok) return card::failed(a);
  }
  core.seen.stored = snap.stored;
  return found;
}

// Buffers that are valid and not yet in the log, when nothing moved while they were read.
Access Drain::keep_l1(CoreState& core, uint64_t now_ns) {
  if (!kind_of(core).keeps_l1) return Access::ok;
  const bool accumulates = kind_of(core).accumulates;
  bool urgent = core.polls.late;
  for (uint32_t r = 0; r < core.core.riscs; ++r)
    urgent = urgent || (core.seen.stored[r] > kHead && core.lanes[r].l1.rest.empty());
  if (now_ns - core.l1_copy.kept_ns < (urgent ? kKeepFirstNs : kKeepEveryNs)) return Access::ok;
  core.l1_copy.kept_ns = now_ns;
  const auto read = reader_.vector(core.core);
  if (!read) return read.error();
  const markers::ControlVector& before = *read;
  std::array<std::vector<uint32_t>, device::kMaxRiscs> buffers;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    const uint32_t end = before.device_end[r];
    const bool grown = end != core.lanes[r].l1.rest.size() || before.run_counter != core.l1_copy.runs;
    if (accumulates ? end < kHead || !grown : r != 0) continue;
    auto buffer = reader_.buffer(core.core, r);
    if (!buffer) return buffer.error();
    buffers[r] = std::move(*buffer);
  }
  const auto after = reader_.vector(core.core);
  if (!after) return after.error();
  if (after->device_end != before.device_end || after->host_end != before.host_end ||
      after->trace_status != before.trace_status)
    return Access::ok;  // a later visit comes when it is quieter
  core.l1_copy.runs = before.run_counter;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    if (buffers[r].empty() || !markers::l1_holds_more(before, r, mode_of(core), buffers[r])) continue;
    // Frames that wait in the log come first: readers drop what is older than what they have.
    if (accumulates && before.host_end[r] > core.lanes[r].cursor) continue;
    buffers[r].resize(markers::l1_words(before, r, attachment_.layout->format, buffers[r]));
    if (accumulates) {
      if (!holds_marker(buffers[r])) continue;
      l1_begins(core, r, buffers[r]);
    }
    core.lanes[r].l1.rest = std::move(buffers[r]);
  }
  return Access::ok;
}

// After a host reset the words stay in L1 until the firmware begins again. Delivers them; afterwards nothing that the lane stored
// before the reset is missing but what an interval holds.
Access Drain::take_l1_tail(CoreState& core, uint32_t risc) {
  LaneState& lane = core.lanes[risc];
  const auto read = reader_.buffer(core.core, risc);
  if (!read) return read.error();
  const std::span<const uint32_t> now(*read);
  const std::vector<uint32_t> copy = std::exchange(lane.l1.rest, {});
  const uint64_t canary = lane.l1.canary;
  const auto content = holds_marker(now) ? ascending(now, ceiling().time) : std::span<const uint32_t>();
  const uint64_t first = content.empty() ? 0 : markers::marker_time(content[kHead], content[kHead + 1]);
  const std::optional<Proof> joins = l1_joins(core, risc, content);
  // The zones of a push are in BRISC's slots alone, until the next push takes them, or the first launch after a reset clears them.
  const uint64_t complete = known_until(core, risc);
  const uint64_t slot_time = markers::marker_time(now[device::kFwStartWord], now[device::kFwStartWord + 1]);
  const bool of_last_push = !markers::is_blank(now[device::kFwStartWord]) &&
                            markers::clock_difference(slot_time, complete) < kPushFollowsCycles;
  if (risc == 0 && core.rewind.pending())
    core.account.keep(
        risc, prove_push_zones({.no_push = core.seen.run_counter == 0, .slots_hold_it = of_last_push}));
  const bool same_buffer = first == canary;
  if (canary != 0 && !same_buffer) publish_rest(core, risc, copy, lane.l1.joins);
  // Where it was restarted, what was stored behind the copy is gone.
  core.account.keep(risc, prove_l1_tail({.begins_with_canary = same_buffer, .nothing_before = canary == 0}));
  publish_rest(core, risc, {content.begin(), content.end()}, joins);
  lane.l1.clear_known();
  return Access::ok;
}

// `pushed`: bit r: a push of lane r has taken its buffer to the log of the epoch that begins.
Access Drain::publish_l1_rest(CoreState& core, uint32_t pushed) {
  if (!kind_of(core).keeps_l1) return Access::ok;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    if ((pushed >> r & 1) || !may_have_stored(core, r)) continue;
    if (!kind_of(core).accumulates)
      publish_rest(core, r, std::exchange(core.lanes[r].l1.rest, {}),
                   prove_l1_tail({.last_of_replay = true}));
    else if (const Access a = take_l1_tail(core, r); a != Access::ok)
      return a;
  }
  return Access::ok;
}

// A push leaves its own zone in the slots, and under it the markers it took: two frames, so that these
// do not seem left over from before.
void Drain::publish_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest,
                         const std::optional<Proof>& joins) {
  constexpr auto kSlots = device::kFwStartWord;
  if (rest.size() < kHead || !later(last_time(rest), core.account.complete_until(risc))) return;
  const bool has_markers = rest.size() > kHead && kind_of(core).accumulates;
  if (has_markers)
    core.account.deliver(risc, joins, markers::marker_time(rest[kHead], rest[kHead + 1]),
                         core.account.complete_until(risc));
  const auto time_at = [&](uint32_t word) { return markers::marker_time(rest[word], rest[word + 1]); };
  const bool ends_with_push = has_markers && !markers::is_blank(rest[kSlots]) &&
                              markers::clock_difference(time_at(kSlots), time_at(kHead)) > 0;
  // Markers of one buffer follow each other.
  const auto in_buffer = has_markers ? prove_l1_tail({.nothing_before = true}) : joins;
  if (!in_buffer) return;
  if (!ends_with_push) return publish_frame_of_rest(core, risc, rest, *in_buffer);
  std::vector<uint32_t> pushed(rest);
  std::fill(pushed.begin() + kSlots, pushed.begin() + kHead, device::kUnsetWord);
  publish_frame_of_rest(core, risc, pushed, *in_buffer);
  publish_frame_of_rest(core, risc, {rest.begin(), rest.begin() + kHead}, *in_buffer);
}

void Drain::publish_frame_of_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest,
                                  const Proof& in_buffer) {
  LaneState& lane = core.lanes[risc];
  const uint64_t until = last_time(rest);
  if (core.account.complete_until(risc) != 0 && !later(until, core.account.complete_until(risc))) return;
  core.account.extend(risc, in_buffer, until);
  lane.delivered = true;
  const uint64_t bytes = Publisher::kHeadBytes + (4 * rest.size() + 7) / 8 * 8;
  uint64_t* slot = publisher_.claim(bytes);
  std::vector<uint64_t> copy((rest.size() + 1) / 2);
  std::copy(rest.begin(), rest.end(), reinterpret_cast<uint32_t*>(copy.data()));
  shm::store_bytes(slot + Publisher::kHeadBytes / 8, copy.data(), 8 * copy.size());
  if (options_.before_publish) options_.before_publish();
  const Publisher::Span span{static_cast<uint8_t>(risc), 0,           static_cast<uint32_t>(rest.size()),
                             Publisher::kHeadBytes,      lane.digest, shm::SpanSource::l1_buffer};
  publisher_.publish_words(slot, bytes, chunk_core(core, core.runs.counter, reader_.now_ns(), 0), {&span, 1});
  ++frames_;
}

}  // namespace ttc::collect

// Modes of the firmware that keep words in L1 for long: a replay's last frame (trace-only), or launches that
// accumulate until a buffer is nearly full. What is there is taken when collecting ends, and when the host
// resets the indices over it; for the latter, a copy is kept while the firmware goes on, because afterwards
// nothing says how much of a buffer was valid.
//
// A copy may come to the log later all the same: readers drop what a lane's L1 chunk already brought.
#include <algorithm>
#include <utility>

#include "collector/drain/drain.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;

constexpr uint64_t kKeepEveryNs = 10'000'000;
constexpr uint64_t kKeepFirstNs = 1'000'000;  // where there is no copy yet, or a look came late

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

}  // namespace

Access Drain::read_vector(const CoreState& core, markers::ControlVector& vector) {
  const device::Format& f = attachment_.layout->format;
  std::vector<uint64_t> raw(f.control_words / 2);
  Access a = card_.aim(Window::control, core.core.at, core.core.control_address);
  if (a == Access::ok)
    a = card_.copy(Window::control, core.core.control_address & (card::kWindowBytes - 1), raw);
  if (a != Access::ok) return a;
  vector = markers::parse_control_vector({reinterpret_cast<const uint32_t*>(raw.data()), f.control_words},
                                         *attachment_.layout);
  return Access::ok;
}

Access Drain::read_buffer(const CoreState& core, uint32_t risc, std::vector<uint32_t>& words) {
  std::array<uint64_t, device::kBufferWords / 2> raw;
  const uint32_t address = core.core.buffer_address + 4 * risc * device::kBufferWords;
  Access a = card_.aim(Window::control, core.core.at, address);
  if (a == Access::ok) a = card_.copy(Window::control, address & (card::kWindowBytes - 1), raw);
  if (a != Access::ok) return a;
  const auto* from = reinterpret_cast<const uint32_t*>(raw.data());
  words.assign(from, from + device::kBufferWords);
  return Access::ok;
}

// An accumulating lane whose DEVICE_END went back and whose index stays was reset: what its buffer held and
// no copy has is gone. A push moves the index first, but the vector was read before; so the next look
// decides.
Access Drain::watch_l1(CoreState& core, const Snapshot& snap) {
  if (mode_of(core) != device::Mode::accumulate) return Access::ok;
  const uint32_t first = attachment_.layout->format.device_end, last = first + device::kMaxRiscs;
  std::array<uint32_t, 68> words{};
  const ControlPart part{first & ~1u, ((last + 1) & ~1u) - (first & ~1u)};
  if (const Access a = read_part(core, part, words.data()); a != Access::ok) return a;
  const uint32_t dropped = std::exchange(core.l1_dropped, 0);
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    L1Look& before = core.l1_looks[r];
    if ((dropped >> r & 1) && snap.host_end[r] <= before.index && !near_full(snap)) l1_was_reset(core, r);
    const uint32_t end = words[first + r];
    const bool drops = end < before.end;
    if (drops) core.l1_dropped |= 1u << r;
    before = {end, drops ? before.index : snap.host_end[r]};
  }
  return Access::ok;
}

// The next frame, or the next copy, says until when.
void Drain::l1_was_reset(CoreState& core, uint32_t risc) {
  LaneState& lane = core.lanes[risc];
  publish_rest(core, risc, std::exchange(lane.l1_rest, {}));
  losses_.open(where(core, risc), shm::LossCause::host_reset, known_until(lane), 0);
  lane.first_of_epoch = true;
}

// A push takes what accumulated, from the first marker on. One that begins behind the copy's first has a
// reset in front of it.
void Drain::compare_with_l1(CoreState& core, uint32_t risc, std::span<const uint32_t> frame,
                            const markers::FrameDigest& until) {
  constexpr auto kHead = device::kFirstCustomWord;
  LaneState& lane = core.lanes[risc];
  const std::vector<uint32_t>& rest = lane.l1_rest;
  if (mode_of(core) != device::Mode::accumulate || rest.size() <= kHead || frame.size() <= kHead) return;
  const uint64_t kept = markers::marker_time(rest[kHead], rest[kHead + 1]);
  const uint64_t first = markers::first_custom_time(frame);
  if (markers::clock_difference(until.last_time, last_time(rest)) < 0) return;  // older than the copy
  if (markers::clock_difference(first, kept) > 0 && markers::clock_difference(kept, known_until(lane)) > 0) {
    losses_.open(where(core, risc), shm::LossCause::host_reset, known_until(lane), 0);
    losses_.close(where(core, risc), shm::LossCause::host_reset, first);
  }
  lane.l1_rest.clear();
}

// The latest time that is known of a lane, from its log or from L1.
uint64_t Drain::known_until(const LaneState& lane) const {
  const uint64_t logged = lane.digest.known ? lane.digest.last_time : attachment_.begun_cycles;
  return lane.l1_until != 0 && markers::clock_difference(lane.l1_until, logged) > 0 ? lane.l1_until : logged;
}

// Buffers that are valid and not yet in the log, when nothing moved while they were read.
Access Drain::keep_l1(CoreState& core, uint64_t now_ns) {
  if (mode_of(core) == device::Mode::normal) return Access::ok;
  bool urgent = core.looked_late;
  for (uint32_t r = 0; r < core.core.riscs; ++r)
    urgent = urgent || (core.l1_looks[r].end > device::kFirstCustomWord && core.lanes[r].l1_rest.empty());
  if (now_ns - core.l1_kept_ns < (urgent ? kKeepFirstNs : kKeepEveryNs)) return Access::ok;
  core.l1_kept_ns = now_ns;
  markers::ControlVector before, after;
  if (const Access a = read_vector(core, before); a != Access::ok) return a;
  std::array<std::vector<uint32_t>, device::kMaxRiscs> buffers;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    const uint32_t end = before.device_end[r];
    const bool grown = end != core.lanes[r].l1_rest.size() || before.run_counter != core.l1_runs;
    const bool accumulates = mode_of(core) == device::Mode::accumulate;
    if (accumulates ? end < device::kFirstCustomWord || !grown : r != 0) continue;
    if (const Access a = read_buffer(core, r, buffers[r]); a != Access::ok) return a;
  }
  if (const Access a = read_vector(core, after); a != Access::ok) return a;
  if (after.device_end != before.device_end || after.host_end != before.host_end ||
      after.trace_status != before.trace_status)
    return Access::ok;  // a later visit comes when it is quieter
  const bool pushed = before.run_counter != core.l1_runs;
  core.l1_runs = before.run_counter;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    if (buffers[r].empty() || !markers::l1_holds_more(before, r, mode_of(core), buffers[r])) continue;
    // Frames that wait in the log come first: readers drop what is older than what they have.
    if (mode_of(core) == device::Mode::accumulate && before.host_end[r] > core.lanes[r].cursor) continue;
    buffers[r].resize(markers::l1_words(before, r, attachment_.layout->format, buffers[r]));
    if (!pushed && mode_of(core) == device::Mode::accumulate) {
      account_begun_anew(core, r, buffers[r]);
      core.l1_late_ns = 0;
    }
    core.lanes[r].l1_rest = std::move(buffers[r]);
  }
  return Access::ok;
}

// Resets of an accumulating core that has pushed nothing yet show in no index: its buffer begins anew without
// a push.
void Drain::account_begun_anew(CoreState& core, uint32_t risc, std::span<const uint32_t> now) {
  constexpr auto kHead = device::kFirstCustomWord;
  const LaneState& lane = core.lanes[risc];
  const std::span<const uint32_t> rest(lane.l1_rest);
  if (now.size() <= kHead || !is_short(now[kHead])) return;
  const uint64_t first = markers::marker_time(now[kHead], now[kHead + 1]);
  uint64_t last = known_until(lane);
  if (rest.size() > kHead) {
    if (now.size() >= rest.size() && std::equal(rest.begin() + kHead, rest.end(), now.begin() + kHead))
      return;
    last = last_time(rest);
  } else if (!losses_.is_open(where(core, risc), shm::LossCause::host_reset)) {
    const bool late =
        core.l1_late_ns != 0 && markers::clock_difference(first, device_time_.at(core.l1_late_ns)) > 0;
    if (lane.delivered ? !late : !host_has_read(core)) return;
  }
  losses_.open(where(core, risc), shm::LossCause::host_reset, last, 0);
  losses_.close(where(core, risc), shm::LossCause::host_reset, first);
  publish_rest(core, risc, lane.l1_rest);
}

// After a reset the words are still in L1 until the firmware begins again. What came behind the kept ones is
// added; where it has begun again already, what stood behind them may be gone, and what stands there is
// taken.
Access Drain::extend_l1_rest(CoreState& core, uint32_t risc) {
  if (mode_of(core) != device::Mode::accumulate) return Access::ok;
  std::vector<uint32_t>& rest = core.lanes[risc].l1_rest;
  std::vector<uint32_t> now;
  if (const Access a = read_buffer(core, risc, now); a != Access::ok) return a;
  constexpr auto kHead = device::kFirstCustomWord;
  uint64_t last = rest.size() > kHead ? last_time(rest) : 0;
  if (rest.size() <= kHead || !std::equal(rest.begin() + kHead, rest.end(), now.begin() + kHead)) {
    const LaneState& lane = core.lanes[risc];
    for (const uint64_t time :
         {lane.digest.known ? lane.digest.last_time : attachment_.begun_cycles, lane.l1_until})
      if (last == 0 || (time != 0 && markers::clock_difference(time, last) > 0)) last = time;
    const uint64_t first = markers::marker_time(now[kHead], now[kHead + 1]);
    if (!is_short(now[kHead]) || markers::clock_difference(first, last) <= 0) return Access::ok;
    // Only a reset takes what no push has taken to the log, and this began before there was one, or before a
    // look that came so late that one could have gone by unseen.
    const uint64_t unseen_since = core.rewound_ns != 0   ? core.rewound_after_ns
                                  : !host_has_read(core) ? 0
                                                         : core.l1_late_ns;
    const bool began_before =
        unseen_since == 0 || markers::clock_difference(first, device_time_.at(unseen_since)) < 0;
    if (!began_before) {
      losses_.open(where(core, risc), shm::LossCause::host_reset, last, 0);
      losses_.close(where(core, risc), shm::LossCause::host_reset, first);
    }
    publish_rest(core, risc, rest);
    rest.assign(now.begin(), now.begin() + kHead);
  }
  for (size_t w = rest.size(); w + 2 <= now.size() && markers::is_marker(now[w]); w = rest.size()) {
    const uint64_t time = markers::marker_time(now[w], now[w + 1]);
    if (!markers::is_blank(now[w]) && (!is_short(now[w]) || markers::clock_difference(time, last) <= 0))
      break;
    if (!markers::is_blank(now[w])) last = time;
    rest.insert(rest.end(), {now[w], now[w + 1]});
  }
  return Access::ok;
}

Access Drain::publish_l1_rest(CoreState& core) {
  if (mode_of(core) == device::Mode::normal) return Access::ok;
  for (uint32_t r = 0; r < core.core.riscs; ++r) {
    if (const Access a = extend_l1_rest(core, r); a != Access::ok) return a;
    publish_rest(core, r, std::exchange(core.lanes[r].l1_rest, {}));
  }
  return Access::ok;
}

// A push leaves its own zone in the slots, and under it the markers it took: two frames, lest these seem
// left over from before.
void Drain::publish_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest) {
  constexpr auto kHead = device::kFirstCustomWord, kSlots = device::kFwStartWord;
  const auto time_at = [&](uint32_t word) { return markers::marker_time(rest[word], rest[word + 1]); };
  const bool ends_with_push = mode_of(core) == device::Mode::accumulate && rest.size() > kHead &&
                              !markers::is_blank(rest[kSlots]) &&
                              markers::clock_difference(time_at(kSlots), time_at(kHead)) > 0;
  if (!ends_with_push) return publish_frame_of_rest(core, risc, rest);
  std::vector<uint32_t> pushed(rest);
  std::fill(pushed.begin() + kSlots, pushed.begin() + kHead, device::kUnsetWord);
  publish_frame_of_rest(core, risc, pushed);
  publish_frame_of_rest(core, risc, {rest.begin(), rest.begin() + kHead});
}

void Drain::publish_frame_of_rest(CoreState& core, uint32_t risc, const std::vector<uint32_t>& rest) {
  LaneState& lane = core.lanes[risc];
  if (rest.size() < device::kFirstCustomWord) return;
  const uint64_t until = last_time(rest);
  if (lane.digest.known && markers::clock_difference(until, lane.digest.last_time) <= 0) return;
  if (lane.l1_until != 0 && markers::clock_difference(until, lane.l1_until) <= 0) return;
  lane.l1_until = until;
  lane.delivered = true;
  const uint64_t bytes = Publisher::kHeadBytes + (4 * rest.size() + 7) / 8 * 8;
  uint64_t* slot = publisher_.claim(bytes);
  std::vector<uint64_t> copy((rest.size() + 1) / 2);
  std::copy(rest.begin(), rest.end(), reinterpret_cast<uint32_t*>(copy.data()));
  shm::store_bytes(slot + Publisher::kHeadBytes / 8, copy.data(), 8 * copy.size());
  if (options_.before_publish) options_.before_publish();
  const Publisher::Span span{static_cast<uint8_t>(risc), 0,           static_cast<uint32_t>(rest.size()),
                             Publisher::kHeadBytes,      lane.digest, shm::SpanSource::l1_buffer};
  publisher_.publish_words(slot, bytes, chunk_core(core, core.run_counter, attachment_.clock(), 0),
                           {&span, 1});
  ++frames_;
}

}  // namespace ttc::collect

#include "firmware_markers/frame.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "firmware_markers/packets.hpp"
#include "packet_pair.hpp"

namespace ttc::markers {
namespace {

using namespace device;

constexpr size_t kOverrunWords = 4;  // a last packet may reach so far into the next RISC's buffer

// Follows the times of one frame the way the decoder does: guaranteed markers against the FW start, customs
// against the custom before.
class Times {
 public:
  Times(const FrameDigest& previous, const Ceiling& ceiling, const Lane& lane, bool sat_out)
      : previous_(previous),
        ceiling_(ceiling),
        sat_out_(sat_out),
        slots_enclose_(lane.mode == Mode::normal),
        slots_stay_(lane.mode == Mode::trace_only),
        latest_(previous.known ? previous.last_time : 0) {}

  void guaranteed(std::span<const uint32_t> frame, bool same_launch) {
    const auto slots = frame.subspan(kFwStartWord, 8);
    if (!same_launch && guaranteed_in_order(Slots(slots.data()))) return;
    start_ = latest_;
    set_customs_latest(latest_);
    for (unsigned slot = 0; slot < 4; ++slot) {
      const uint32_t high = slots[2 * slot], low = slots[2 * slot + 1];
      if (is_blank(high)) continue;
      ++seen_;
      uint64_t time = marker_time(high, low);
      const bool duplicate = (same_launch || slots_stay_) && previous_.guaranteed[2 * slot] == high &&
                             previous_.guaranteed[2 * slot + 1] == low;
      if (duplicate) {
        if (previous_.repaired_slots >> slot & 1) time = repaired(time), repaired_slots_ |= 1u << slot;
      } else {
        if ((latest_ != 0 && looks_rolled_over(time, slot == 0 ? latest_ : start_)) ||
            (slot == 0 && start_time(frame) != time))
          time = repaired(time), repaired_slots_ |= 1u << slot;
        check(time);
      }
      if (slot == 1) fw_end_ = time, has_fw_end_ = true;
      if (slot == 0) {
        start_ = time;
        set_customs_latest(
            same_launch && clock_difference(previous_.last_time, time) > 0 ? previous_.last_time : time);
      }
      if (latest_ == 0 || clock_difference(time, latest_) > 0) latest_ = time;
    }
  }

  // Returns the end of the zone starts and ends in order of time, none later than the FW end. Each is between the
  // FW start and end, both of which are new: so it is new itself.
  size_t zones(std::span<const uint32_t> words, size_t begin) {
    if (!in_order_) return begin;
    size_t pos = begin;
    PairOf64 before = customs_latest_;
    const PairOf64 end = {fw_end_, fw_end_};
    for (; pos + 4 <= words.size(); pos += 4) {
      const PairOf64 packets = load_pair(words.data() + pos);
      const PairOf64 times = times_of(packets);
      const PairOf64 earlier = __builtin_shufflevector(before, times, 1, 2);
      if (any_odd(odd_types(packets) | odd_if_negative((times - earlier) | (end - times)))) break;
      before = times;
    }
    customs_latest_ = before;
    seen_ += (pos - begin) / 2;
    return pos;
  }
  // The last one of them was the damaged sentinel of the next frame.
  void take_back() {
    --seen_;
    customs_latest_[1] = customs_latest_[0];
  }

  void custom(uint32_t high, uint32_t low) {
    if (sat_out_ || is_blank(high)) return;
    ++seen_;
    if (packet_type(high) == kZoneTotal) return;  // its low word is no time
    uint64_t time = marker_time(high, low);
    if (looks_rolled_over(time, customs_latest_[1])) time = repaired(time);
    check(time);
    if (has_fw_end_ && slots_enclose_ && clock_difference(time, fw_end_) > 0) hold_ = false;
    if (clock_difference(time, customs_latest_[1]) > 0) set_customs_latest(time);
  }

  bool hold() const { return hold_; }
  size_t seen() const { return seen_; }
  uint32_t repaired_slots() const { return repaired_slots_; }
  uint64_t latest() const {
    return clock_difference(customs_latest_[1], latest_) > 0 ? customs_latest_[1] : latest_;
  }

 private:
  void set_customs_latest(uint64_t time) { customs_latest_ = PairOf64{time, time}; }

  // True if the slots are in the order of a launch and both ends are later than everything known.
  bool guaranteed_in_order(const Slots& slots) {
    const uint64_t start = slots.fw_start(), end = slots.fw_end();
    if (ceiling_.known || !slots_enclose_ || !slots.in_order(latest_) || start == latest_ ||
        clock_difference(end, latest_) <= 0)
      return false;
    in_order_ = has_fw_end_ = true;
    start_ = start;
    latest_ = fw_end_ = end;
    set_customs_latest(start);
    seen_ = 4;
    return true;
  }

  void check(uint64_t time) {
    if (previous_.known && previous_.last_time != 0 && clock_difference(time, previous_.last_time) <= 0)
      hold_ = false;
    if (ceiling_.known && clock_difference(time, ceiling_.time) >= 0) hold_ = false;
  }

  const FrameDigest& previous_;
  const Ceiling& ceiling_;
  bool sat_out_;
  bool slots_enclose_;  // the FW zone holds all customs; where frames hold many launches it is an older push
  bool slots_stay_;     // until another replay has written them
  bool hold_ = true;
  size_t seen_ = 0;
  uint32_t repaired_slots_ = 0;
  uint64_t fw_end_ = 0;
  bool has_fw_end_ = false;
  uint64_t start_ = 0;
  uint64_t latest_;
  PairOf64 customs_latest_ = {};  // time without the last of the zones, and with it
  bool in_order_ = false;
};

// Whether words[at] is a marker that has a time.
bool has_time(std::span<const uint32_t> words, size_t at) {
  return at + 2 <= words.size() && is_marker(words[at]) && !is_blank(words[at]) &&
         packet_type(words[at]) != kZoneTotal;
}

// `time`, repaired where the earliest of the markers at `followers` shows that it had rolled over.
uint64_t judged_by(std::initializer_list<size_t> followers, std::span<const uint32_t> words, uint64_t time) {
  uint64_t next = time;
  for (const size_t at : followers) {
    if (!has_time(words, at)) continue;
    const uint64_t follower = marker_time(words[at], words[at + 1]);
    if (next == time || clock_difference(follower, next) < 0) next = follower;
  }
  return rolled_over_before(time, next) ? repaired(time) : time;
}

}  // namespace

uint64_t start_time(std::span<const uint32_t> frame) {
  return judged_by({kKernelStartWord, kFwEndWord, kFirstCustomWord}, frame,
                   marker_time(frame[kFwStartWord], frame[kFwStartWord + 1]));
}

uint64_t first_custom_time(std::span<const uint32_t> frame) {
  const size_t next = kFirstCustomWord + packet_words(packet_type(frame[kFirstCustomWord]));
  return judged_by({next}, frame, marker_time(frame[kFirstCustomWord], frame[kFirstCustomWord + 1]));
}

uint64_t first_time(std::span<const uint32_t> frame, uint64_t after) {
  const uint64_t start = start_time(frame);
  const bool start_is_new = after != 0 && clock_difference(start, after) > 0;
  const bool has_custom = has_time(frame, kFirstCustomWord);
  if ((start_is_new && !is_blank(frame[kFwStartWord])) || !has_custom) return start;
  return first_custom_time(frame);
}

namespace {

// A RISC's sums are once each behind everything else of a frame. Repeated ones behind them are older.
class SumsOnce {
 public:
  // Gets a frame's packets in order. True: this packet can be of the same frame.
  bool take(uint32_t high) {
    if (is_blank(high)) return true;
    if (packet_type(high) != kZoneTotal) return count_ == 0;
    return count_ < kSums && std::exchange(last_, high) != high && ++count_;
  }

 private:
  uint32_t last_ = 0;
  uint32_t count_ = 0;
};

// Padding closes a frame; other blank words are slots of an older one.
Walking at_blank(const Packet& blank) {
  return blank.low == 0 ? Walking::ends_here : Walking::ended_here;
}

// Returns where the markers of a frame that begin at word `pos` stop being markers, or words.size(). Only a frame of
// one launch is closed by padding.
size_t markers_end(std::span<const uint32_t> words, size_t pos, const Lane& lane) {
  SumsOnce sums;
  return for_each_packet(words, pos, [&](const Packet& packet) {
    if (packet.blank() && lane.mode == Mode::normal) return at_blank(packet);
    return sums.take(packet.high) ? Walking::on : Walking::ended_here;
  });
}

// Returns where the markers of a fresh frame stop being later than one another, or pass the frame's own FW end.
size_t times_end(std::span<const uint32_t> words, size_t at, const Lane& lane, uint64_t latest) {
  const auto slot_time = [&](size_t slot) { return marker_time(words[at + slot], words[at + slot + 1]); };
  const bool has_end = words[at + kFwEndWord] != kUnsetWord && lane.mode == Mode::normal;
  const uint64_t fw_end = has_end ? slot_time(kFwEndWord) : 0;
  // No time to go by, but a sum of cycles cannot exceed the run it was taken in.
  const auto sum_holds = [&](uint32_t sum) {
    return has_end && sum <= clock_difference(fw_end, slot_time(kFwStartWord));
  };
  SumsOnce sums;
  return for_each_packet(words, at + kFirstCustomWord, [&](const Packet& packet) {
    if (packet.at - at >= kBufferWords + kOverrunWords) return Walking::ended_here;
    if (packet.blank()) return at_blank(packet);
    if (!sums.take(packet.high)) return Walking::ended_here;
    if (!packet.timed()) return sum_holds(packet.low) ? Walking::on : Walking::ended_here;
    const uint64_t time = packet.time();
    if (clock_difference(time, latest) <= 0 || (has_end && clock_difference(time, fw_end) >= 0))
      return Walking::ended_here;
    latest = time;
    return Walking::on;
  });
}

}  // namespace

size_t sat_out_frame_end(std::span<const uint32_t> words, size_t at, const Lane& lane) {
  if (!frame_starts(words, at, lane) || !lane.sat_out(words.data() + at)) return 0;
  return markers_end(words, at + kFirstCustomWord, lane);
}

size_t recovered_frame(std::span<const uint32_t> words, size_t at, const Lane& lane, const Ceiling& ceiling,
                       FrameDigest& digest) {
  if (!digest.known || !frame_starts(words, at, lane)) return 0;
  const auto holds_until = [&](size_t end) {
    FrameDigest next = digest;
    VerifiedFrame frame;
    if (detail::verify_frame(words.first(end), at, lane, ceiling, next, frame) != end - at) return false;
    digest = next;
    return true;
  };
  // Followed by another frame: its length is known as in any log.
  const size_t by_syntax = markers_end(words, at + kFirstCustomWord, lane);
  if (frame_starts(words, by_syntax, lane) && holds_until(by_syntax)) return by_syntax - at;
  if (lane.sat_out(words.data() + at)) return 0;  // the last one, without a time: it holds no marker
  const uint64_t start = marker_time(words[at + kFwStartWord], words[at + kFwStartWord + 1]);
  const uint64_t latest = clock_difference(start, digest.last_time) > 0 ? start : digest.last_time;
  const size_t by_time = times_end(words, at, lane, latest);
  // A frame that adds no time of its own is one that was there before.
  const FrameDigest before = digest;
  if (!holds_until(by_time)) return 0;
  if (digest.last_time != before.last_time) return by_time - at;
  digest = before;
  return 0;
}

size_t without_sums(std::span<const uint32_t> frame) {
  size_t end = frame.size();
  const auto untimed = [&](uint32_t high) { return is_blank(high) || packet_type(high) == kZoneTotal; };
  while (end >= kFirstCustomWord + 2 && is_marker(frame[end - 2]) && untimed(frame[end - 2])) end -= 2;
  return end;
}

namespace {

bool is_of_launch(std::span<const uint32_t> words, size_t at, const FrameDigest& digest) {
  return words[at + kIdHost] == digest.host_id && words[at + kFwStartWord] == digest.guaranteed[0] &&
         words[at + kFwStartWord + 1] == digest.guaranteed[1];
}

// A lane may push while a launch runs, but the frame with its end is the launch's last (tt-metal
// kernel_profiler.hpp): what looks the same behind it are bytes of before. In the other modes an end is
// written many times.
bool launch_is_over(const Lane& lane, const FrameDigest& digest) {
  return lane.mode == Mode::normal && digest.guaranteed[kFwEndWord - kFwStartWord] != kUnsetWord;
}

}  // namespace

namespace detail {

bool head_is_fresh(std::span<const uint32_t> words, size_t at, const Lane& lane, const FrameDigest& digest) {
  const uint32_t high = words[at + kFwStartWord], low = words[at + kFwStartWord + 1];
  if (is_of_launch(words, at, digest)) return !launch_is_over(lane, digest);
  if (digest.last_time == 0) return true;
  const uint64_t time = marker_time(high, low);
  return clock_difference(looks_rolled_over(time, digest.last_time) ? repaired(time) : time,
                          digest.last_time) > 0;
}

size_t verify_frame(std::span<const uint32_t> words, size_t at, const Lane& lane, const Ceiling& ceiling,
                    FrameDigest& digest, VerifiedFrame& frame) {
  const bool sat_out = lane.sat_out(words.data() + at);
  if (digest.known && !sat_out && is_of_launch(words, at, digest) && launch_is_over(lane, digest)) return 0;
  Times times(digest, ceiling, lane, sat_out);
  times.guaranteed(words.subspan(at), digest.known && digest.host_id == words[at + kIdHost]);
  bool has_payload = false;
  size_t pos = at + kFirstCustomWord;
  uint32_t length = 2;  // of the last packet
  while (pos < words.size()) {
    const size_t zones_begin = pos;
    pos = times.zones(words, pos);
    if (pos != zones_begin) length = 2;
    if (pos - at > kBufferWords + kOverrunWords) return 0;
    if (pos == words.size() || frame_starts(words, pos, lane)) break;
    const uint32_t high = words[pos];
    if (!is_marker(high)) {
      // What looked like the last marker may be the damaged sentinel of the next frame.
      if (pos < at + kFirstCustomWord + 2 || length != 2 || !frame_starts_damaged(words, pos - 2, lane))
        return 0;
      if (pos != zones_begin) times.take_back();
      pos -= 2;
      break;
    }
    // A branch that is foreseen, so that the next marker need not wait for the length of this one.
    length = 2;
    if (high >> 29 != 4) [[unlikely]] {
      length = packet_words(packet_type(high));
      // A marker of any type may have overwritten the sentinel, also one that would have a payload.
      if (length != 2 && frame_starts_damaged(words, pos, lane)) break;
    }
    if (length == 0 || pos + length > words.size()) return 0;
    // The last marker before a damaged sentinel is another RISC's: its time is no proof here.
    const bool foreign = length == 2 && pos + 2 < words.size() && !is_marker(words[pos + 2]) &&
                         frame_starts_damaged(words, pos, lane);
    if (!foreign) {
      has_payload = has_payload || length > 2 || packet_type(high) == kZoneTotal;
      times.custom(high, words[pos + 1]);
    }
    pos += length;
    if (pos - at > kBufferWords + kOverrunWords) return 0;
  }
  if (!times.hold()) return 0;
  frame = {words.subspan(at, pos - at), pos, static_cast<uint32_t>(times.seen()), sat_out, has_payload};
  std::copy_n(words.begin() + static_cast<ptrdiff_t>(at + kFwStartWord), 8, digest.guaranteed);
  digest.last_time = times.latest();
  digest.repaired_slots = times.repaired_slots();
  digest.host_id = words[at + kIdHost];
  digest.trailing_words = static_cast<uint32_t>(pos - at);
  digest.known = 1;
  return pos - at;
}

}  // namespace detail
}  // namespace ttc::markers

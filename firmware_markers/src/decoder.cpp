#include "firmware_markers/decoder.hpp"

#include <algorithm>
#include <cstring>

#include "packet_pair.hpp"
#include "wide_frames.hpp"

namespace ttc::markers {
namespace {
using namespace device;

// Two grow-by-copy arrays without value initialisation: a batch is written before it is read.
template <class T>
void grow(std::unique_ptr<T[]>& array, size_t used, size_t capacity) {
  auto larger = std::make_unique_for_overwrite<T[]>(capacity);
  if (used) std::memcpy(larger.get(), array.get(), used * sizeof(T));
  array = std::move(larger);
}

// In two stores. Bits 12 to 30 of the high word are id and type as they lie in a Marker.
static_assert(offsetof(Marker, id) == 8 && offsetof(Marker, type) == 10 && offsetof(Marker, flags) == 11);
void put(Marker* to, uint64_t time, uint32_t high, uint32_t flags) {
  const uint64_t rest = (high >> 12 & 0x7ffffu) | flags << 24;
  std::memcpy(static_cast<void*>(to), &time, 8);
  std::memcpy(reinterpret_cast<char*>(to) + 8, &rest, 8);
}

// Does the same for two markers at a time.
void put(Marker* to, PairOf64 packets, uint32_t flags) {
  const PairOf64 times = times_of(packets);
  const PairOf64 rests = (packets >> 44 & 0x7ffffu) | uint64_t{flags} << 24;
  const PairOf64 first = __builtin_shufflevector(times, rests, 0, 2);
  const PairOf64 second = __builtin_shufflevector(times, rests, 1, 3);
  std::memcpy(static_cast<void*>(to), &first, 16);
  std::memcpy(static_cast<void*>(to + 1), &second, 16);
}

}  // namespace

std::string_view to_string(MarkerType type) {
  constexpr std::string_view kNames[] = {"ZONE_START", "ZONE_END", "ZONE_TOTAL",
                                         "TS_DATA",    "TS_EVENT", "TS_DATA_16B"};
  return kNames[static_cast<size_t>(type)];
}

void Anomalies::add(const Anomalies& o) {
  unparsable_words += o.unparsable_words;
  resyncs += o.resyncs;
  damaged_sentinels += o.damaged_sentinels;
  overrun_frames += o.overrun_frames;
  truncated_packets += o.truncated_packets;
  unknown_packets += o.unknown_packets;
  stale_markers += o.stale_markers;
  duplicate_markers += o.duplicate_markers;
  repaired_times += o.repaired_times;
  backward_times += o.backward_times;
}

void Batch::reserve(size_t words) {
  // A marker takes two words, a payload follows one; what is used counts as two words a marker.
  const size_t need =
      words + size_t{2} * std::max({marker_count_, payload_count_, frame_count_}) + 2 * kMarkersBeyond;
  if (need <= capacity_words_) return;
  const size_t capacity = std::max(need, 2 * capacity_words_);
  grow(frames_, frame_count_, capacity / 2);
  grow(markers_, marker_count_, capacity / 2);
  grow(payloads_, payload_count_, capacity / 2);
  capacity_words_ = capacity;
}

size_t LaneDecoder::resync(std::span<const uint32_t> words, size_t at) {
  ++anomalies_.resyncs;
  size_t pos = at;
  do {
    pos = std::min(pos + 2, words.size());
  } while (pos < words.size() && !frame_starts(words, pos, lane_));
  anomalies_.unparsable_words += pos - at;
  return pos;
}

// The path of an ordinary frame is inlined into decode(): short frames cost what is done once a frame. What
// is out of the ordinary stays out of line, so that it takes no registers from the rest.
[[gnu::always_inline]] inline void LaneDecoder::decode_guaranteed(std::span<const uint32_t> frame,
                                                                  uint64_t& start, uint64_t& last,
                                                                  bool same_launch, Batch& out) {
  const Slots slots(frame.data() + kFwStartWord);
  if (same_launch || !slots.in_order(last)) [[unlikely]]
    return decode_odd_guaranteed(frame, start, last, same_launch, out);
  Marker* const first = out.markers_.get() + out.marker_count_;
  put(first, slots.fw, kGuaranteed);
  put(first + 2, slots.kernel, kGuaranteed);
  out.marker_count_ += 4;
  start = slots.fw_start();
  last = slots.fw_end();
  previous_.repaired_slots = 0;
}

[[gnu::noinline]] void LaneDecoder::decode_odd_guaranteed(std::span<const uint32_t> frame,
                                                          uint64_t& start_out, uint64_t& last_out,
                                                          bool same_launch, Batch& out) {
  const uint32_t* const slots = frame.data() + kFwStartWord;
  uint64_t start = start_out, last = last_out;  // not references: markers could alias them
  Marker* const first = out.markers_.get() + out.marker_count_;
  Marker* next = first;
  uint32_t repaired_slots = 0;
  // Trace-only firmware leaves the slots as they are until another replay has written them.
  const bool may_be_old = same_launch || lane_.mode == device::Mode::trace_only;
  for (unsigned slot = 0; slot < 4; ++slot) {
    const uint32_t high = slots[2 * slot];
    const uint32_t low = slots[2 * slot + 1];
    if (is_blank(high)) continue;  // unset, or a start with id and high time 0: the host ignores that too
    uint64_t time = marker_time(high, low);
    uint32_t flags = kGuaranteed;
    if (may_be_old && previous_.guaranteed[2 * slot] == high && previous_.guaranteed[2 * slot + 1] == low) {
      flags |= kDuplicate;
      ++anomalies_.duplicate_markers;
      if (previous_.repaired_slots >> slot & 1)
        time = repaired(time), flags |= kRepaired, repaired_slots |= 1u << slot;
    } else if ((last != 0 && looks_rolled_over(time, slot == 0 ? last : start)) ||
               (slot == 0 && start_time(frame) != time)) {
      time = repaired(time);
      flags |= kRepaired;
      repaired_slots |= 1u << slot;
      ++anomalies_.repaired_times;
    }
    if (slot == 0) start = time;
    if (last == 0 || clock_difference(time, last) > 0) last = time;
    put(next++, time, high, flags);
  }
  out.marker_count_ += static_cast<uint32_t>(next - first);
  start_out = start;
  last_out = last;
  previous_.repaired_slots = repaired_slots;
}

// Words are read once, in order, and a mispredicted end of a frame keeps the processor from running ahead:
// words are prefetched. Any distance from 256 to 2048 words works.
constexpr size_t kPrefetchWords = 512;

struct LaneDecoder::Customs {
  uint64_t start;  // of the launch
  PairOf64
      latest;  // time without the last marker, and with it; a vector, so that it is not stored in two halves
  Marker* next;  // and read as one, which waits for both
  bool stale;
};

// Zone starts and ends in order of time, which is nearly all there is. Where they end.
[[gnu::always_inline]] inline size_t LaneDecoder::decode_zones(std::span<const uint32_t> words, size_t begin,
                                                               Customs& customs) {
  const uint32_t* const w = words.data();
  size_t pos = begin;
  Marker* next = customs.next;
  PairOf64 before = customs.latest;
  for (; pos + 4 <= words.size(); pos += 4, next += 2) {
    __builtin_prefetch(w + pos + kPrefetchWords);
    const PairOf64 packets = load_pair(w + pos);
    const PairOf64 times = times_of(packets);
    const PairOf64 earlier = __builtin_shufflevector(before, times, 1, 2);
    if (any_odd(odd_types(packets) | odd_if_negative(times - earlier))) break;
    put(next, packets, 0);
    before = times;
  }
  customs.latest = before;
  customs.next = next;
  return pos;
}

[[gnu::always_inline]] inline size_t LaneDecoder::decode_customs(std::span<const uint32_t> words, size_t at,
                                                                 Customs& customs, Batch& out) {
  size_t pos = at + kFirstCustomWord;
  do {
    const size_t zones_begin = pos;
    if (!customs.stale) pos = decode_zones(words, pos, customs);
    next_starts_ = frame_starts(words, pos, lane_);
    if (next_starts_ || pos + 2 > words.size()) break;
    if (!is_marker(words[pos])) {
      // Damaged: decode() resyncs from here and counts, unless it is the next frame whose damaged sentinel
      // was taken for a zone.
      if (pos != zones_begin && frame_starts_damaged(words, pos - 2, lane_)) {
        --customs.next;
        customs.latest[1] = customs.latest[0];
        pos -= 2;
      }
      break;
    }
  } while (decode_packet(words, pos, customs, out));
  if (pos + 1 == words.size()) pos = words.size(), ++anomalies_.truncated_packets;  // an odd word: no marker
  out.marker_count_ = static_cast<uint32_t>(customs.next - out.markers_.get());
  return pos;
}

// Any packet. False where the customs end although the word at `pos` is one of a marker.
[[gnu::noinline]] bool LaneDecoder::decode_packet(std::span<const uint32_t> words, size_t& pos,
                                                  Customs& customs, Batch& out) {
  const uint32_t* const packet = words.data() + pos;
  const uint32_t high = packet[0], low = packet[1];
  if (frame_starts_damaged(words, pos, lane_)) return false;
  if (is_blank(high)) {
    pos += 2;
    return true;
  }
  const uint32_t type = packet_type(high);
  const uint32_t length = packet_words(type);
  if (length == 0) {
    ++anomalies_.unknown_packets;
    return false;
  }
  if (pos + length > words.size()) {
    ++anomalies_.truncated_packets;
    pos = words.size();
    return false;
  }
  uint64_t time = marker_time(high, low);
  uint8_t flags = 0;
  uint32_t payload = 0;
  if (type == kZoneTotal) {
    payload = out.payload_count_;
    out.payloads_[out.payload_count_++] = low;
    time = customs.start;
    if (customs.stale) flags = kStale, ++anomalies_.stale_markers;
  } else {
    flags = judge_time(time, customs);
    if (length > 2) payload = out.payload_count_;
    for (uint32_t i = 2; i < length; i += 2)
      out.payloads_[out.payload_count_++] = uint64_t{packet[i]} << 32 | packet[i + 1];
  }
  *customs.next++ = {time, static_cast<uint16_t>(packet_id(high)), static_cast<MarkerType>(type), flags,
                     payload};
  pos += length;
  return true;
}

// Flags of a custom marker by its time, which is repaired where it had rolled over.
uint8_t LaneDecoder::judge_time(uint64_t& time, Customs& customs) {
  if (customs.stale) {
    ++anomalies_.stale_markers;
    return kStale;
  }
  uint8_t flags = 0;
  if (looks_rolled_over(time, customs.latest[1])) {
    time = repaired(time);
    flags = kRepaired;
    ++anomalies_.repaired_times;
  } else if (clock_difference(time, customs.latest[1]) < 0) {
    if (clock_difference(time, customs.start) < 0) {  // older than its own launch
      ++anomalies_.stale_markers;
      return kStale;
    }
    ++anomalies_.backward_times;
  }
  if (clock_difference(time, customs.latest[1]) > 0) customs.latest[1] = time;
  return flags;
}

[[gnu::always_inline]] inline size_t LaneDecoder::decode_frame(std::span<const uint32_t> words, size_t at,
                                                               Batch& out) {
  const uint32_t* head = words.data() + at;
  const uint32_t host_id = head[kIdHost];  // the whole word: a launch's, whatever fields it has
  const bool sat_out = lane_.sat_out(head);
  const bool same_launch = previous_.known && previous_.host_id == host_id;
  const uint32_t first_marker = out.marker_count_;

  uint64_t last = previous_.known ? previous_.last_time : 0;
  if (!previous_.known && is_blank(head[kFwStartWord]) && at + kFirstCustomWord + 2 <= words.size())
    last = first_custom_time(words.subspan(at));
  uint64_t start = last;
  decode_guaranteed(words.subspan(at), start, last, same_launch, out);
  // Custom markers are ordered among themselves: FW END and KERNEL END are later than all of them.
  uint64_t before = sat_out ? last : start;
  if (same_launch && !sat_out && clock_difference(previous_.last_time, start) > 0)
    before = previous_.last_time;
  // The end of a push that is stored behind it comes first in the next frame, here that of the next replay.
  if (lane_.format->quick_push_ends_late && lane_.mode == device::Mode::trace_only && previous_.known)
    start = before = previous_.last_time;
  Customs customs{start, {before, before}, out.markers_.get() + out.marker_count_, sat_out};
  const size_t end = decode_customs(words, at, customs, out);
  if (clock_difference(customs.latest[1], last) > 0) last = customs.latest[1];

  Frame& frame = out.frames_[out.frame_count_++];
  frame.host_id = lane_.format->host_id.get(host_id);
  // One frame of accumulating firmware spans many replays: its counter is none of them.
  const bool of_one_replay = lane_.mode != device::Mode::accumulate;
  frame.trace_counter = of_one_replay ? static_cast<uint16_t>(lane_.format->trace.get(head[kIdIdentity])) : 0;
  frame.risc = lane_.risc;
  frame.sat_out = sat_out;
  frame.first_marker = first_marker;
  frame.marker_count = out.marker_count_ - first_marker;
  frame.first_word = static_cast<uint32_t>(at);
  const size_t length = end - at;
  if (length > kBufferWords) ++anomalies_.overrun_frames;
  // A push of a full buffer had no room for its own pair: the last zone is the user's.
  if (length < kBufferWords && !sat_out && head[kFwEndWord] == kUnsetWord) flag_quick_push(frame, out);
  std::memcpy(previous_.guaranteed, head + kFwStartWord, sizeof previous_.guaranteed);
  previous_.last_time = last;
  previous_.host_id = host_id;
  previous_.trailing_words = static_cast<uint32_t>(length);
  previous_.known = 1;
  return end;
}

// A frame pushed in the middle of a run has no FW end yet and closes with the firmware's own zone pair, which
// can thus be named even where the note log does not have its string.
void LaneDecoder::flag_quick_push(const Frame& frame, Batch& out) {
  if (frame.marker_count < 2) return;
  Marker* end = out.markers_.get() + out.marker_count_ - 1;
  Marker* start = end - 1;
  if (start->type != MarkerType::zone_start || end->type != MarkerType::zone_end || start->id != end->id)
    return;
  if ((start->flags | end->flags) & (kGuaranteed | kStale)) return;
  start->flags |= kQuickPush;
  end->flags |= kQuickPush;
}

// What the processor's widest vectors take. Words that are mostly odd are tried less often.
size_t LaneDecoder::decode_ordinary(std::span<const uint32_t> words, size_t at, Batch& out) {
  OrdinaryFrames frames{lane_,
                        previous_,
                        out.markers_.get(),
                        out.frames_.get(),
                        out.payloads_.get(),
                        out.marker_count_,
                        out.frame_count_,
                        out.payload_count_};
  const size_t end = take_ordinary(path_)(words, at, frames);
  out.marker_count_ = frames.marker_count;
  out.frame_count_ = frames.frame_count;
  out.payload_count_ = frames.payload_count;
  anomalies_.overrun_frames += frames.overrun_frames;
  if (end != at) next_starts_ = false;
  return end;
}

void LaneDecoder::decode(std::span<const uint32_t> words, Batch& out) {
  out.reserve(words.size());
  size_t at = 0;
  next_starts_ = false;
  constexpr unsigned kMostTries = 4, kPause = 32;  // in vain; frames
  const bool wide = path_ != DecodePath::portable;
  for (unsigned in_vain = 0, frame = 0; at < words.size(); ++frame) {
    if (wide && (in_vain < kMostTries || frame % kPause == 0)) {
      const size_t end = decode_ordinary(words, at, out);
      in_vain = end == at ? in_vain + 1 : 0;
      at = end;
      if (at == words.size()) break;
    }
    if (!next_starts_ && !frame_starts(words, at, lane_)) {
      if (!frame_starts_damaged(words, at, lane_)) {
        at = resync(words, at);
        continue;
      }
      ++anomalies_.damaged_sentinels;
    }
    at = decode_frame(words, at, out);
  }
}

void LaneDecoder::decode_buffer(std::span<const uint32_t> words, Batch& out) {
  if (words.size() < kFirstCustomWord) return;
  out.reserve(words.size());
  next_starts_ = false;
  decode_frame(words, 0, out);
}

}  // namespace ttc::markers

// Columns of a block back to the words of its lanes.
#include <algorithm>
#include <cstring>

#include "collector/capture/key_codec.hpp"
#include "collector/capture/lane_columns.hpp"
#include "collector/capture/packet_keys.hpp"

namespace ttc::collect {

using markers::kClockMask;
using namespace packet_keys;

namespace {

// Checks of a shape in a file that every key describes a packet.
void check_packets(std::span<const uint32_t> keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t length = markers::packet_words(markers::packet_type(keys[i]));
    if (!markers::is_marker(keys[i]) || length == 0 || (i < 4 && length != 2) ||
        (keys[i] & ~kKeyMask) > static_cast<uint32_t>(TimeKind::total))
      throw BlockError("a shape holds what is no packet");
  }
}

}  // namespace

ColumnDecoder::ColumnDecoder(const SectionViews& s, ColumnMemory& m)
    : shapes_(m.shapes),
      items_(s[Section::items], "items"),
      shape_sizes_(s[Section::shape_sizes], "shape sizes"),
      long_(s[Section::times_long], "long times"),
      low_(s[Section::times_low]),
      high_(s[Section::times_high]),
      keys_(s.keyed ? take_keys(s[Section::shape_keys], m.keys)
                    : take_planes(s[Section::shape_keys], "shape keys", m.keys)),
      identities_(take_planes(s[Section::identities], "identities", m.identities)),
      host_ids_(take_planes(s[Section::host_ids], "host ids", m.host_ids)),
      starts_(take_planes(s[Section::starts], "starts", m.starts)),
      sums_(take_planes(s[Section::sums], "sums", m.sums)),
      payload_(take_planes(s[Section::payload], "payload", m.payload)),
      raw_(take_planes(s[Section::raw], "raw words", m.raw)) {
  shapes_.clear();
  if (low_.size() != high_.size()) throw BlockError("its two sections of times differ in length");
  if (identities_.size() != host_ids_.size())
    throw BlockError("its identities and host ids differ in number");
}

uint32_t ColumnDecoder::next_of(std::span<const uint32_t> column, size_t& at, const char* name) const {
  if (at == column.size()) throw BlockError(std::string("its section of ") + name + " is too short");
  return column[at++];
}

const Shape& ColumnDecoder::next_shape(uint64_t code) {
  const uint64_t shape = code - 1;
  if (shape < shapes_.size()) return shapes_[shape];
  if (shape != shapes_.size()) throw BlockError("it names a shape that was not defined");
  const uint64_t customs = shape_sizes_.varint();
  if (customs > keys_.size() || keys_.size() - key_at_ < customs + 4)
    throw BlockError("its section of shape keys is too short");
  const auto keys = keys_.subspan(key_at_, customs + 4);
  const bool zones = only_zones(keys);
  if (!zones) check_packets(keys);
  shapes_.push_back(measured(keys, zones));
  shapes_.back().first_key = static_cast<uint32_t>(key_at_);
  key_at_ += customs + 4;
  return shapes_.back();
}

uint64_t ColumnDecoder::take_time(LanePast& past) {
  if (time_at_ == low_.size()) throw BlockError("its sections of times are too short");
  const uint32_t brief = low_[time_at_] | uint32_t{high_[time_at_]} << 8;
  ++time_at_;
  const uint64_t step = brief == kShortEscape ? static_cast<uint64_t>(unzigzag(long_.varint())) : brief;
  return past.time = (past.time + step) & kClockMask;
}

uint64_t ColumnDecoder::take_start(LanePast& past) {
  const uint32_t brief = next_of(starts_, start_at_, "starts");
  const uint64_t step = brief == kStartEscape ? static_cast<uint64_t>(unzigzag(long_.varint())) : brief;
  return past.time = (past.time + step) & kClockMask;
}

void ColumnDecoder::take_packet(uint32_t*& at, uint32_t key, LanePast& past) {
  switch (kind_of(key)) {
    case TimeKind::timed: {
      const uint64_t time = take_time(past);
      at[0] = first_word_of(key) | static_cast<uint32_t>(time >> 32);
      at[1] = static_cast<uint32_t>(time);
      break;
    }
    case TimeKind::blank:
      at[0] = device::kUnsetWord, at[1] = 0;
      break;
    case TimeKind::unset:
      at[0] = at[1] = device::kUnsetWord;
      break;
    case TimeKind::total:
      at[0] = first_word_of(key), at[1] = next_of(sums_, sum_at_, "sums");
      break;
  }
  const uint32_t length = markers::packet_words(markers::packet_type(key));
  for (uint32_t i = 2; i < length; ++i) at[i] = next_of(payload_, payload_at_, "payload");
  at += length;
}

// All packets of such a frame are two words with a time; those behind the first follow each other in the
// sections of times.
void ColumnDecoder::take_plain(uint32_t* words, const Shape& shape, LanePast& past) {
  const uint32_t* keys = keys_.data() + shape.first_key;
  const uint8_t *low = low_.data() + time_at_, *high = high_.data() + time_at_;
  uint64_t time = take_start(past);
  const auto put = [](uint32_t* at, uint32_t key, uint64_t t) {
    at[0] = key | (static_cast<uint32_t>(t >> 32) & ~kKeyMask);
    at[1] = static_cast<uint32_t>(t);
  };
  const auto next = [&](uint32_t i) {
    const uint32_t brief = low[i] | uint32_t{high[i]} << 8;
    if (brief == kShortEscape) [[unlikely]]
      return time += static_cast<uint64_t>(unzigzag(long_.varint()));
    return time += brief;
  };
  put(words + device::kFwStartWord, keys[0], time);
  put(words + device::kKernelStartWord, keys[2], next(0));
  uint32_t* at = words + device::kFirstCustomWord;
  for (uint32_t i = 0; i < shape.customs; ++i, at += 2) put(at, keys[4 + i], next(1 + i));
  put(words + device::kKernelEndWord, keys[3], next(shape.customs + 1));
  put(words + device::kFwEndWord, keys[1], next(shape.customs + 2));
  past.time = time & kClockMask;
  time_at_ += shape.customs + 3;
}

void ColumnDecoder::take_frame(uint32_t* words, const Shape& shape, LanePast& past) {
  if (frame_at_ == identities_.size()) throw BlockError("its section of identities is too short");
  words[0] = words[1] = 0;
  words[device::kIdIdentity] = past.identity ^= identities_[frame_at_];
  words[device::kIdHost] = past.host_id += host_ids_[frame_at_++];
  if (shape.plain && low_.size() - time_at_ >= shape.customs + 3) {
    take_plain(words, shape, past);
  } else {
    const uint32_t* keys = keys_.data() + shape.first_key;
    uint32_t* at = words + device::kFwStartWord;
    if (kind_of(keys[0]) == TimeKind::timed) {
      const uint64_t time = take_start(past);
      at[0] = first_word_of(keys[0]) | static_cast<uint32_t>(time >> 32);
      at[1] = static_cast<uint32_t>(time);
    } else {
      take_packet(at, keys[0], past);
    }
    take_packet(at = words + device::kKernelStartWord, keys[2], past);
    at = words + device::kFirstCustomWord;
    for (uint32_t i = 0; i < shape.customs; ++i) take_packet(at, keys[4 + i], past);
    take_packet(at = words + device::kKernelEndWord, keys[3], past);
    take_packet(at = words + device::kFwEndWord, keys[1], past);
  }
  std::memcpy(past.guaranteed, words + device::kFwStartWord, sizeof past.guaranteed);
  past.any_frame = true;
}

void ColumnDecoder::decode(std::span<uint32_t> words, LanePast& past) {
  size_t last_frame = 0;
  for (size_t at = 0; at < words.size();) {
    const size_t left = words.size() - at;
    if (const uint64_t code = items_.varint()) {
      const Shape& shape = next_shape(code);
      if (shape.words > left) throw BlockError("a frame is longer than its span");
      take_frame(words.data() + at, shape, past);
      last_frame = at;
      at += shape.words;
      continue;
    }
    const uint64_t run = items_.varint();
    if (run == 0 || run > left || run > raw_.size() - raw_at_)
      throw BlockError("a run of raw words is longer than its span");
    std::memcpy(words.data() + at, raw_.data() + raw_at_, run * 4);
    raw_at_ += run;
    at += run;
  }
  past.trailing_words = static_cast<uint32_t>(words.size() - last_frame);
}

void ColumnDecoder::finish() const {
  if (items_.left() || shape_sizes_.left() || long_.left() || time_at_ != low_.size() ||
      key_at_ != keys_.size() || frame_at_ != identities_.size() || start_at_ != starts_.size() ||
      sum_at_ != sums_.size() || payload_at_ != payload_.size() || raw_at_ != raw_.size())
    throw BlockError("its sections hold more than its chunks do");
}

}  // namespace ttc::collect

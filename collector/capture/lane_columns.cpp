#include "collector/capture/lane_columns.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "collector/capture/packet_keys.hpp"

namespace ttc::collect {

using markers::kClockMask;
using namespace packet_keys;

void put_varint(SectionBytes& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

uint64_t SectionReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
    const uint8_t byte = *at_++;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  fail();
}

void SectionReader::fail() const {
  throw BlockError(std::string("its section of ") + name_ + " is too short");
}

void put_planes(SectionBytes& to, std::span<const uint32_t> values) {
  const size_t n = values.size(), begin = to.size();
  to.resize(begin + 4 * n);
  for (unsigned byte = 0; byte < 4; ++byte) {
    uint8_t* plane = to.data() + begin + byte * n;
    for (size_t i = 0; i < n; ++i) plane[i] = static_cast<uint8_t>(values[i] >> 8 * byte);
  }
}

std::span<const uint32_t> take_planes(std::span<const uint8_t> bytes, const char* name,
                                      Scratch<uint32_t>& to) {
  if (bytes.size() % 4)
    throw BlockError(std::string("its section of ") + name + " is no whole number of words");
  const size_t n = bytes.size() / 4;
  const std::span<uint32_t> values = to.take(n);
  const uint8_t* p = bytes.data();
  for (size_t i = 0; i < n; ++i)
    values[i] = p[i] | uint32_t{p[n + i]} << 8 | uint32_t{p[2 * n + i]} << 16 | uint32_t{p[3 * n + i]} << 24;
  return values;
}

std::array<uint8_t, 64> LanePast::digest() const {
  markers::FrameDigest d;
  if (any_frame) {
    std::memcpy(d.guaranteed, guaranteed, sizeof d.guaranteed);
    d.last_time = time;
    d.host_id = host_id;
    d.trailing_words = trailing_words;
    d.known = 1;
  }
  std::array<uint8_t, 64> bytes;
  std::memcpy(bytes.data(), &d, sizeof d);
  return bytes;
}

size_t ShapeTable::add(std::span<const uint32_t> keys) {
  Shape s = measured(keys, only_zones(keys));
  s.first_key = static_cast<uint32_t>(keys_.size());
  keys_.insert(keys_.end(), keys.begin(), keys.end());
  shapes_.push_back(s);
  return shapes_.size() - 1;
}

void ShapeFinder::grow() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.shape == kFree) continue;
    size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].shape != kFree) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

// --- words to columns

void ColumnEncoder::reserve(size_t words) {
  low_.resize(times_ + words / 2 + 4);
  high_.resize(times_ + words / 2 + 4);
}

bool ColumnEncoder::fits(const uint32_t* words, size_t left, const Shape& shape) const {
  if (left < shape.words || (left >= shape.words + 2 && !sentinel_at(words + shape.words)) ||
      left == shape.words + 1)
    return false;
  const uint32_t* keys = shapes_.keys(shape);
  if (shape.plain) {
    uint32_t differ = 0;
    for (unsigned i = 0; i < 4; ++i) differ |= (words[4 + 2 * i] ^ keys[i]) & kKeyMask;
    const uint32_t* custom = words + device::kFirstCustomWord;
    for (uint32_t i = 0; i < shape.customs; ++i) differ |= (custom[2 * i] ^ keys[4 + i]) & kKeyMask;
    return differ == 0;
  }
  for (unsigned i = 0; i < 4; ++i)
    if (key_of(words[4 + 2 * i], words[5 + 2 * i]) != keys[i]) return false;
  const uint32_t* at = words + device::kFirstCustomWord;
  for (uint32_t i = 0; i < shape.customs; ++i) {
    if (key_of(at[0], at[1]) != keys[4 + i]) return false;
    at += markers::packet_words(markers::packet_type(at[0]));
  }
  return true;
}

// Leaves the keys of the frame at `words` in parsed_. False: there is none.
bool ColumnEncoder::parse(const uint32_t* words, size_t left) {
  if (left < device::kFirstCustomWord || !sentinel_at(words)) return false;
  if (parsed_.size() < left / 2) parsed_.resize(left);
  uint32_t* key = parsed_.data();
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t high = words[4 + 2 * i];
    // A slot holds two words whatever its type: one that would need payload is no slot.
    if (!markers::is_marker(high) || markers::packet_words(markers::packet_type(high)) != 2) return false;
    *key++ = key_of(high, words[5 + 2 * i]);
  }
  markers::for_each_packet({words, left}, device::kFirstCustomWord, [&](const markers::Packet& p) {
    *key++ = is_zone(p.high) ? p.high & kKeyMask : key_of(p.high, p.low);
    return markers::Walking::on;
  });
  parsed_keys_ = static_cast<size_t>(key - parsed_.data());
  return true;
}

size_t ColumnEncoder::shape_of_parsed() {
  const std::span<const uint32_t> keys(parsed_.data(), parsed_keys_);
  const auto fresh = static_cast<uint32_t>(shapes_.size());
  const uint32_t shape =
      by_hash_.find_or(XXH3_64bits(keys.data(), keys.size_bytes()), fresh, [&](uint32_t i) {
        const Shape& s = shapes_.at(i);
        return s.customs + 4 == keys.size() && std::equal(keys.begin(), keys.end(), shapes_.keys(s));
      });
  if (shape != fresh) return shape;
  shapes_.add(keys);
  follower_.push_back(shape);
  put_varint(s_[Section::shape_sizes], keys.size() - 4);
  return shape;
}

void ColumnEncoder::use(size_t shape) {
  if (last_shape_ != kNoShape && last_shape_ < follower_.size())
    follower_[last_shape_] = static_cast<uint32_t>(shape);
  last_shape_ = shape;
  put_varint(s_[Section::items], shape + 1);
}

// The shape of the frame that begins at `words`; null when none does. What came last and what followed it
// then are tried before the table.
const Shape* ColumnEncoder::shape_at(const uint32_t* words, size_t left) {
  if (left < device::kFirstCustomWord || !sentinel_at(words)) return nullptr;
  size_t shape = kNoShape;
  if (shapes_.size() != 0) {
    if (const size_t likely = follower_[last_shape_]; fits(words, left, shapes_.at(likely)))
      shape = likely;
    else if (fits(words, left, shapes_.at(last_shape_)))
      shape = last_shape_;
  }
  if (shape == kNoShape) {
    if (!parse(words, left)) return nullptr;
    shape = shape_of_parsed();
  }
  use(shape);
  return &shapes_.at(shape);
}

// Tracks the earliest and latest time only. Times in between cannot be outside: steps that go back are never short.
void ColumnEncoder::met(uint64_t time) {
  earliest_ = std::min(earliest_, time);
  latest_ = std::max(latest_, time);
}

void ColumnEncoder::put_time(uint64_t time, LanePast& past) {
  const uint64_t step = (time - past.time) & kClockMask;
  const auto brief = static_cast<uint32_t>(std::min<uint64_t>(step, kShortEscape));
  const uint64_t before = past.time;
  past.time = time;
  low_[times_] = static_cast<uint8_t>(brief);
  high_[times_++] = static_cast<uint8_t>(brief >> 8);
  if (brief == kShortEscape) [[unlikely]] {
    put_varint(s_[Section::times_long], zigzag(markers::clock_difference(step, 0)));
    met(time);
    if (before) met(before);
  }
}

// Does what put_time() does, for all packets of a plain frame but the first.
void ColumnEncoder::put_plain_times(const uint32_t* words, const Shape& shape, LanePast& past) {
  uint8_t *low = low_.data() + times_, *high = high_.data() + times_;
  uint64_t last = past.time;
  const auto put = [&](const uint32_t* at) {
    const uint64_t time = markers::marker_time(at[0], at[1]);
    const uint64_t step = (time - last) & kClockMask;
    if (step >= kShortEscape) [[unlikely]] {
      put_varint(s_[Section::times_long], zigzag(markers::clock_difference(step, 0)));
      met(time);
      if (last) met(last);
    }
    last = time;
    const auto brief = static_cast<uint32_t>(std::min<uint64_t>(step, kShortEscape));
    *low++ = static_cast<uint8_t>(brief);
    *high++ = static_cast<uint8_t>(brief >> 8);
  };
  put(words + device::kKernelStartWord);
  const uint32_t* at = words + device::kFirstCustomWord;
  for (uint32_t i = 0; i < shape.customs; ++i, at += 2) put(at);
  put(words + device::kKernelEndWord);
  put(words + device::kFwEndWord);
  past.time = last;
  times_ += shape.customs + 3;
}

void ColumnEncoder::put_start(uint64_t time, LanePast& past) {
  const uint64_t step = (time - past.time) & kClockMask;
  past.time = time;
  starts_.push_back(static_cast<uint32_t>(std::min<uint64_t>(step, kStartEscape)));
  if (step >= kStartEscape) put_varint(s_[Section::times_long], zigzag(markers::clock_difference(step, 0)));
}

void ColumnEncoder::put_packet(const uint32_t* words, uint32_t key, LanePast& past) {
  switch (kind_of(key)) {
    case TimeKind::timed:
      put_time(markers::marker_time(words[0], words[1]), past);
      break;
    case TimeKind::total:
      sums_.push_back(words[1]);
      break;
    default:
      break;
  }
  for (uint32_t i = 2; i < markers::packet_words(markers::packet_type(key)); ++i)
    payload_.push_back(words[i]);
}

// In the order of time: FW start, KERNEL start, the customs, KERNEL end, FW end.
void ColumnEncoder::put_frame(const uint32_t* words, const Shape& shape, LanePast& past) {
  const uint32_t* keys = shapes_.keys(shape);
  identities_.push_back(words[device::kIdIdentity] ^ past.identity);
  host_ids_.push_back(words[device::kIdHost] - past.host_id);
  past.identity = words[device::kIdIdentity];
  past.host_id = words[device::kIdHost];
  if (kind_of(keys[0]) == TimeKind::timed)
    put_start(markers::marker_time(words[4], words[5]), past);
  else
    put_packet(words + device::kFwStartWord, keys[0], past);
  const uint64_t start = past.time;
  if (kind_of(keys[0]) == TimeKind::timed) met(start);
  if (shape.plain) {
    put_plain_times(words, shape, past);
  } else {
    put_packet(words + device::kKernelStartWord, keys[2], past);
    const uint32_t* at = words + device::kFirstCustomWord;
    for (uint32_t i = 0; i < shape.customs; ++i) {
      put_packet(at, keys[4 + i], past);
      at += markers::packet_words(markers::packet_type(keys[4 + i]));
    }
    put_packet(words + device::kKernelEndWord, keys[3], past);
    put_packet(words + device::kFwEndWord, keys[1], past);
  }
  markers_ += shape.markers;
  if (shape.markers) met(past.time);
  if (past.time < start) met(0), met(kClockMask);  // the counter wrapped, or times went back
  std::memcpy(past.guaranteed, words + device::kFwStartWord, sizeof past.guaranteed);
  past.any_frame = true;
}

void ColumnEncoder::encode(std::span<const uint32_t> words, LanePast& past) {
  size_t last_frame = 0;
  for (size_t at = 0; at < words.size();) {
    const size_t left = words.size() - at;
    if (const Shape* shape = shape_at(words.data() + at, left)) {
      put_frame(words.data() + at, *shape, past);
      last_frame = at;
      at += shape->words;
      continue;
    }
    size_t end = at + 1;  // until the next pair of zeros that may begin a frame
    while (end < words.size() && !(end + 2 <= words.size() && sentinel_at(words.data() + end))) ++end;
    put_varint(s_[Section::items], 0);
    put_varint(s_[Section::items], end - at);
    raw_.insert(raw_.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                words.begin() + static_cast<std::ptrdiff_t>(end));
    at = end;
  }
  past.trailing_words = static_cast<uint32_t>(words.size() - last_frame);
}

void ColumnEncoder::finish() {
  s_.keys = shapes_.take_keys();
  put_planes(s_[Section::identities], identities_);
  put_planes(s_[Section::host_ids], host_ids_);
  put_planes(s_[Section::starts], starts_);
  put_planes(s_[Section::sums], sums_);
  put_planes(s_[Section::payload], payload_);
  put_planes(s_[Section::raw], raw_);
  low_.resize(times_);
  high_.resize(times_);
  s_[Section::times_low] = std::move(low_);
  s_[Section::times_high] = std::move(high_);
}

}  // namespace ttc::collect

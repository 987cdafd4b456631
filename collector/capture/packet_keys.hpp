// A packet's key: what is common to all packets that look like it. Frames of equal keys have one shape (lane_columns.hpp).
#pragma once
#include <cstdint>
#include <span>

#include "collector/capture/lane_columns.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect::packet_keys {

inline constexpr uint32_t kKeyMask = 0xfffff000;  // valid bit, type and id
inline constexpr uint32_t kShortEscape = 0xffff;  // in times_low and times_high: the time is in times_long
inline constexpr uint32_t kStartEscape = 0xffffffff;
inline constexpr size_t kNoShape = ~size_t{0};

inline TimeKind kind_of(uint32_t key) {
  return static_cast<TimeKind>(key & ~kKeyMask);
}
inline uint32_t first_word_of(uint32_t key) {
  return key & kKeyMask;
}

// What is common to all packets that look like this one.
inline uint32_t key_of(uint32_t high, uint32_t low) {
  if (high == device::kUnsetWord && (low == 0 || low == device::kUnsetWord))
    return high | static_cast<uint32_t>(low ? TimeKind::unset : TimeKind::blank);
  if (markers::packet_type(high) == device::kZoneTotal && (high & ~kKeyMask) == 0)
    return high | static_cast<uint32_t>(TimeKind::total);
  return high & kKeyMask;
}

// True where a zone starts or ends, which most packets do: two words and a time, whatever else is in the first one.
inline bool is_zone(uint32_t high) {
  return high >> 29 == 4 && high != device::kUnsetWord;
}

// All of them are such, and their times are kept.
inline bool only_zones(std::span<const uint32_t> keys) {
  constexpr uint32_t kFixed = 0xe0000000 | ~kKeyMask, kZone = 0x80000000;
  static_assert(device::kUnsetWord == kZone);
  uint32_t differ = 0;
  bool unset = false;
  for (const uint32_t key : keys) {
    differ |= (key & kFixed) ^ kZone;
    unset |= key == kZone;
  }
  return differ == 0 && !unset;
}

// All of a shape but where its keys are. `zones`: they are only_zones().
inline Shape measured(std::span<const uint32_t> keys, bool zones) {
  Shape s;
  s.customs = static_cast<uint32_t>(keys.size() - 4);
  s.words = device::kFirstCustomWord;
  s.plain = true;
  if (zones) {
    s.words += 2 * s.customs;
    s.markers = s.customs + 4;
    return s;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t length = markers::packet_words(markers::packet_type(keys[i]));
    const TimeKind kind = kind_of(keys[i]);
    if (i >= 4) s.words += length;
    if (kind != TimeKind::timed || length != 2 || keys[i] == device::kUnsetWord) s.plain = false;
    s.markers += kind == TimeKind::timed || kind == TimeKind::total;
  }
  return s;
}

inline bool sentinel_at(const uint32_t* words) {
  return words[0] == 0 && words[1] == 0;
}

inline uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace ttc::collect::packet_keys

// Frames of firmware, word by word: two words of padding, identity, host id, the four fixed slots, then markers.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "firmware_markers/device/format.hpp"

namespace ttc::test {

using Words = std::vector<uint32_t>;
using Time = std::optional<uint64_t>;  // none: a slot that firmware has not written

// A zone with its two times, in cycles of the card.
struct FrameZone {
  uint32_t id;
  Time start, end;
};

inline void put_marker(Words& to, uint32_t type, uint32_t id, Time time) {
  to.push_back(time ? device::marker_high(type, id, static_cast<uint32_t>(*time >> 32)) : device::kUnsetWord);
  to.push_back(time ? static_cast<uint32_t>(*time) : device::kUnsetWord);
}

inline void put_zone(Words& to, const FrameZone& zone) {
  put_marker(to, device::kZoneStart, zone.id, zone.start);
  put_marker(to, device::kZoneEnd, zone.id, zone.end);
}

inline Words frame_words(uint32_t identity, uint32_t host_id, const FrameZone& firmware,
                         const FrameZone& kernel) {
  Words words{0, 0, identity, host_id};
  put_zone(words, firmware);
  put_zone(words, kernel);
  return words;
}

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace ttc::test

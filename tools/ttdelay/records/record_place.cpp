#include "tools/ttdelay/records/record_place.hpp"

namespace ttc::delay {
namespace {

constexpr uint32_t kFeedbackBits = 7;  // reads, writes, atomics

}  // namespace

std::optional<DelayWords> words_at(std::span<const uint32_t> l1, uint32_t base, const RecordPlace& place) {
  if (place.address < base || place.address % 4 != 0) return std::nullopt;
  const size_t at = (place.address - base) / 4;
  if (at + (place.words ? 4 : 1) > l1.size()) return std::nullopt;
  if (place.words) return DelayWords{{l1[at], l1[at + 1], l1[at + 2]}, l1[at + 3]};
  const uint32_t word = l1[at];
  return DelayWords{{word & 0xff, word >> 8 & 0xff, word >> 16 & 0xff}, word >> 24};
}

std::vector<RecordPlace> places_of(std::span<const uint32_t> l1, uint32_t base, const DelayMasks& masks) {
  std::vector<RecordPlace> places;
  if (masks == DelayMasks{}) return places;
  for (uint32_t i = 0; i < l1.size(); ++i)
    for (const bool words : {true, false}) {
      const RecordPlace place{base + 4 * i, words};
      const auto found = words_at(l1, base, place);
      if (found && found->masks == masks && found->feedback <= kFeedbackBits) places.push_back(place);
    }
  return places;
}

}  // namespace ttc::delay

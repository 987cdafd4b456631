// Finds the debug delays' record in L1 by its required content: with delays configured, the record of each delayed core holds
// exactly its masks, and that of every other core zeros. The addresses differ between builds of tt-metal and are not printed by any.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ttc::delay {

using DelayMasks = std::array<uint32_t, 3>;  // of reads, writes, atomics; bit i: processor i waits

// Four bytes until 2025, four words since: the masks, then the feedback (tt-metal dev_msgs.h).
struct RecordPlace {
  uint32_t address = 0;
  bool words = true;
};

struct DelayWords {
  DelayMasks masks{};
  uint32_t feedback = 0;
};

// `l1`: words of L1 from `base` on, which is aligned to 4. Nothing where the place is not within them.
std::optional<DelayWords> words_at(std::span<const uint32_t> l1, uint32_t base, const RecordPlace& place);

// Candidates for the record of a core whose masks are `masks`. None for masks of zeros, which fit almost everywhere.
std::vector<RecordPlace> places_of(std::span<const uint32_t> l1, uint32_t base, const DelayMasks& masks);

}  // namespace ttc::delay

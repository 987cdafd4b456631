// Ways in which an emulated card may differ from what is assumed of chips, their clocks and their driver, one bit each. So each
// assumption of an observer can be broken alone; `tools/ttemu/contradictions.hpp` has the table for users.
#pragma once
#include <cstdint>

namespace ttc::card {

enum class Contradiction : uint32_t {
  clock_back = 1u << 0,        // every kBackEveryNs the clocks fall back by kBackCycles
  tile_rates = 1u << 1,        // tiles of odd y count kFasterPpm faster
  tile_stops = 1u << 2,        // tiles of odd y stop for the last quarter of every kStopEvery cycles
  wall_latch = 1u << 3,        // the latched high half of the wall clock is always 0
  wall_high = 1u << 4,         // the live high half is the latched one
  timer_rate = 1u << 5,        // the reference timer counts 1 % too slowly
  timer_latch = 1u << 6,       // a load of its low half does not latch the high half
  node_id = 1u << 7,           // a tile's node id has x and y the wrong way round
  fused_off_unsaid = 1u << 8,  // the interface of a fused-off tile does not report that it is
  dram_numbering = 1u << 9,    // bank i is where bank i + 1 should be
  few_windows = 1u << 10,      // one window in all
  stale_loads = 1u << 11,      // every second copy of a place in L1 returns what the one before it did
  reset_unseen = 1u << 12,     // a reset cuts no process off
  aiclk_wrong = 1u << 13,      // telemetry names a clock 10 % too fast
};

inline constexpr uint64_t kBackEveryNs = 250'000'000;
inline constexpr uint64_t kBackCycles = 1'000'000;
inline constexpr uint64_t kFasterPpm = 20;
inline constexpr uint64_t kStopEvery = 200'000'000;

constexpr bool has(uint32_t set, Contradiction one) {
  return (set & static_cast<uint32_t>(one)) != 0;
}

}  // namespace ttc::card

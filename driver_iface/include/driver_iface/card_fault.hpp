// What can go wrong on an emulated card, as data: which tile, from when, how often. The access layer of the
// emulator acts on it; observers cannot tell it from silicon that misbehaves (driver sheet 5, 12.5).
#pragma once
#include <cstdint>

#include "driver_iface/arch.hpp"

namespace ttc::card {

enum class FaultKind : uint32_t {
  torn_copy,  // a copy of L1 holds words from before and after a change, mixed
  all_ones,   // loads of a tile return 0xFFFFFFFF
  hung_read,  // one load takes long
  reset,      // the card is reset: memory lost, clock restarted, everyone attached is out for good
  unplug,     // the card goes away without a word
  no_window,  // opening is refused: all windows are taken
  roll_over,  // the low word of the wall clock rolls over between two register loads
  kinds
};

// Plain data: it lies in the page that card and observers share.
struct CardFault {
  FaultKind kind = FaultKind::all_ones;
  uint32_t every_tile = 1;  // or only `tile`
  Coord tile;
  uint16_t reserved = 0;
  // When it begins: nanoseconds since the first observer was let in (no_window: since the card was made), or
  // round trips of all observers together, which do not depend on how fast anything runs.
  uint64_t after = 0;
  uint64_t after_is_round_trips = 0;
  uint64_t for_ns = 0;     // how long; 0: for good
  uint64_t every = 1;      // torn_copy, hung_read: one of so many, picked by `seed`
  uint64_t wait_ns = 0;    // hung_read: how long; torn_copy: at most so long for a change to happen
  uint64_t all_ones = 0;   // hung_read: it ends with 0xFFFFFFFF, as an endpoint that does not respond does
  uint64_t observers = 0;  // no_window: so many are let in before
  uint64_t notice_ns = 0;  // reset: announced so long before; it comes at once when no observer is left
  uint64_t cycles = 0;     // roll_over: a load of the high half so shortly before the roll-over meets it
  uint64_t seed = 1;
};

inline constexpr uint32_t kMaxFaults = 16;

}  // namespace ttc::card

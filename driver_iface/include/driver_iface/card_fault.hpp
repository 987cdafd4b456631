// What can go wrong on an emulated card, as data: which tile, from when, how often. The access layer of the
// emulator acts on it. An observer reads what it would read from silicon that misbehaves: reads that stall and
// return 0xFFFFFFFF (tt-umd device/pcie/device_memcpy.cpp), a reset that ends all file descriptors, a card
// that is unplugged (tt-kmd chardev.c, memory.c).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "driver_iface/arch.hpp"

namespace ttc::card {

enum class FaultKind : uint32_t {
  torn_copy,   // a copy of L1 holds words from before and after a change, mixed
  all_ones,    // loads of a tile return 0xFFFFFFFF
  hung_read,   // one load takes long
  reset,       // the card is reset: memory lost, clock restarted, everyone attached is out for good
  unplug,      // the card goes away without a word
  no_window,   // opening is refused: all windows are taken
  roll_over,   // the low word of the wall clock rolls over between two register loads
  stolen_cpu,  // the card has answered, and the thread that loaded has no CPU for a while
  kinds
};

// Plain data: it is in the page that card and observers share (emu/emu_page.hpp).
struct CardFault {
  FaultKind kind = FaultKind::all_ones;
  uint32_t every_tile = 1;  // or only `tile`
  Coord tile;
  uint16_t reserved = 0;
  // When it begins: nanoseconds since the first observer was let in (no_window: since the card was made), or
  // round trips of all observers together, which do not depend on how fast anything runs.
  uint64_t after = 0;
  uint64_t after_is_round_trips = 0;
  uint64_t for_ns = 0;   // how long; 0: for good
  uint64_t every = 1;    // torn_copy, hung_read, stolen_cpu: one of so many, picked by `seed`
  uint64_t wait_ns = 0;  // hung_read, stolen_cpu: how long; torn_copy: at most so long for a change to happen
  uint64_t all_ones = 0;   // hung_read: it ends with 0xFFFFFFFF, as an endpoint that does not respond does
  uint64_t observers = 0;  // no_window: so many are let in before
  uint64_t notice_ns = 0;  // reset: announced so long before; it comes at once when no observer is left
  uint64_t cycles = 0;  // roll_over: a load of the high half at most so long before the roll-over triggers it
  uint64_t seed = 1;
};
static_assert(offsetof(CardFault, kind) == 0 && offsetof(CardFault, every_tile) == 4 &&
              offsetof(CardFault, tile) == 8 && offsetof(CardFault, reserved) == 10 &&
              offsetof(CardFault, after) == 16 && offsetof(CardFault, after_is_round_trips) == 24 &&
              offsetof(CardFault, for_ns) == 32 && offsetof(CardFault, every) == 40 &&
              offsetof(CardFault, wait_ns) == 48 && offsetof(CardFault, all_ones) == 56 &&
              offsetof(CardFault, observers) == 64 && offsetof(CardFault, notice_ns) == 72 &&
              offsetof(CardFault, cycles) == 80 && offsetof(CardFault, seed) == 88 &&
              sizeof(CardFault) == 96 && std::is_standard_layout_v<CardFault>);

inline constexpr uint32_t kMaxFaults = 16;

}  // namespace ttc::card

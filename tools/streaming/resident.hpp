// The control block of a core on which a part of tt-metal's streaming profiler stays while it captures: its clock's sampler and the relay of
// Ethernet cores, each on an idle Ethernet core (tt-metal streaming_profiler_common.h, ResidentCtrl; device_programs.cpp). Heartbeats show
// the host that the core runs; it sets a stop word, and the core a done word when nothing is under way any more. Relays on DRAM cores have such a block
// as well, in memory that observers may not aim at.
#pragma once
#include <cstdint>

#include "driver_iface/emulated_card.hpp"

namespace ttc::streaming {

inline constexpr uint32_t kAwaitingAcks = 0xD09D0000, kDone = 0xD09E0000;

class Resident {
 public:
  // The block is between the stage buffers and two sockets' configurations, at the end of an Ethernet core's L1.
  Resident(card::EmulatedCard& card, card::Coord tile, uint64_t hz);
  void beat(uint64_t clock);  // what it did until then; a clock that has restarted continues the count
  void close();

  card::Coord tile() const { return tile_; }
  uint32_t address() const { return address_; }

 private:
  enum Word : uint32_t { done, heartbeat, go, sync_tail, sync_head, dropped, stop };
  void set(Word word, uint32_t value) { card_.store(tile_, address_ + 4 * word, value); }

  card::EmulatedCard& card_;
  card::Coord tile_;
  uint32_t address_;
  uint64_t turn_cycles_, sync_cycles_, begun_, last_;
};

}  // namespace ttc::streaming

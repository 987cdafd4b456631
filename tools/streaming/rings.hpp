// The data of tt-metal's streaming profiler of 2026 in the L1 of a Tensix core, for observers that only read it: a vector of 64 control
// words and a ring of 512 words for each RISC, of one producer and one consumer (tt-metal streaming_profiler_common.h@01f9c2c,
// kernel_profiler_streaming.hpp@7e2fcd5, spsc_packet.h@19c1904; the merged layout, in which word 48 arms the producers;
// docs/reference/streaming-profiler.md). The relay that empties the rings is a model: it takes what it finds and keeps nothing.
#pragma once
#include <array>
#include <cstdint>

#include "driver_iface/emulated_card.hpp"

namespace ttc::streaming {

inline constexpr uint32_t kRiscs = 5, kControlWords = 64, kRingWords = 512, kRingBytes = 4 * kRingWords;
inline constexpr uint32_t kHeads = 0, kTimerHigh = 16, kTails = 24, kArmed = 48, kStalls = 50;
// The control word of each RISC's runtime id.
inline constexpr std::array<uint32_t, kRiscs> kProgram{21, 22, 23, 29, 30};

enum class Relay : uint8_t {
  quick,  // takes a lane's words as soon as a quarter of its ring is full
  slow,   // takes them when the producer has waited: it counts that, and a stall's zone follows
  none    // there is none: producers are not armed and overwrite what was not taken
};

class Rings {
 public:
  // `control_address`: of the vector in the tile's L1; the rings follow it.
  Rings(card::EmulatedCard& card, card::Coord tile, uint32_t control_address, Relay relay);

  // RISC `risc` begins a launch of `program`: what follows is absolute again.
  void launch(uint32_t risc, uint32_t program);
  // A zone that is over. `id`: 27 bits.
  void zone(uint32_t risc, uint32_t id, uint64_t begin, uint64_t end);
  void kernel_end(uint32_t risc) { publish(risc); }
  // The relay's last sweep; producers are disarmed.
  void close();

  uint64_t stalls() const { return stalls_; }

 private:
  struct Lane {
    uint32_t written = 0, published = 0, head = 0;  // words so far
    uint32_t timer_high = 0;
    uint64_t cursor = 0;
    bool timer_known = false, cursor_known = false;
  };
  void set(uint32_t word, uint32_t value) { card_.store(tile_, control_ + 4 * word, value); }
  void put(uint32_t risc, uint32_t word);
  void make_room(uint32_t risc, uint64_t now);
  void packet(uint32_t risc, uint32_t id, uint64_t begin, uint64_t end);
  void publish(uint32_t risc);
  void take(uint32_t risc);

  card::EmulatedCard& card_;
  card::Coord tile_;
  uint32_t control_;
  Relay relay_;
  std::array<Lane, kRiscs> lanes_;
  uint64_t stalls_ = 0;
};

}  // namespace ttc::streaming

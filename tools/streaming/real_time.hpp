// The data of tt-metal's real-time profiler in the L1 of the Tensix core that it has reserved: a record for each program, in a ring of
// 4,096 slots of 64 bytes behind the indices (tt-metal REALTIME_PROFILER.md@01c8afe). Its address differs between versions.
#pragma once
#include <cstdint>

#include "driver_iface/emulated_card.hpp"

namespace ttc::streaming {

inline constexpr uint32_t kRealTimeAddress = 0x100000;  // of this emulation
inline constexpr uint32_t kSlots = 4096, kSlotBytes = 64, kHeadBytes = 64;
inline constexpr uint32_t kSyncHeader = 0xFFFFFFFF;
inline constexpr uint64_t kSyncNs = 50'000'000;  // between sync records

class RealTime {
 public:
  RealTime(card::EmulatedCard& card, card::Coord reserved, uint64_t hz);
  void program(uint32_t runtime_id, uint64_t begin, uint64_t end);
  void close();  // the terminate word

  card::Coord reserved() const { return tile_; }
  uint32_t written() const { return written_; }

 private:
  void record(uint32_t runtime_id, uint32_t header, uint64_t begin, uint64_t end);
  void set(uint32_t offset, uint32_t value) { card_.store(tile_, kRealTimeAddress + offset, value); }

  card::EmulatedCard& card_;
  card::Coord tile_;
  uint64_t sync_cycles_, synced_ = 0;
  uint32_t written_ = 0;
};

}  // namespace ttc::streaming

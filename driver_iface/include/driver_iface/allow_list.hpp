// What an observer may read of a chip; everything else is refused before anything is loaded. The one place:
// the kernel-driver card checks it before every aim and every load, the emulated card records violations of it.
// Source: tt-umd issues 1673, 2981 and 3419, device/arch/*_implementation.hpp. Hazards: docs/reference/driver.md.
//
// Left out on purpose: TDMA (0xFFB11000, a read stalls for 700 ms and can take the host down), interrupt and overlay
// blocks, core-local RAM, core PCs, counters, everything of ARC, PCIe, L2CPU, security and router tiles.
#pragma once
#include <cstdint>
#include <variant>

#include "driver_iface/arch.hpp"

namespace ttc::card {

inline constexpr uint64_t kRegisterWindow = 0xFFA00000;  // window-aligned base below the tile registers
inline constexpr uint64_t kWallClockLow = 0xFFB121F0;    // a load latches the high half
inline constexpr uint64_t kWallClockHigh = 0xFFB121F4;   // live
inline constexpr uint64_t kWallClockLatched = 0xFFB121F8;

// Registers of a Tensix or Ethernet tile that may be loaded.
bool register_readable(const Arch& arch, uint64_t address);

// What may be loaded once more at attaching, to learn which tiles there are; never afterwards. Of Tensix and
// Ethernet tiles, harvested ones included: node id and configuration of the network interface, which answers
// there too. Of Blackhole's ARC tile: the address of its telemetry, and the telemetry.
inline constexpr uint64_t kNiuConfig = 0xFFB20100;
inline constexpr uint32_t kNiuTileOff = 1u << 12;            // firmware sets it on harvested tiles
inline constexpr uint64_t kArcTelemetryValues = 0x80030430;  // each holds a pointer into ARC's memory
inline constexpr uint64_t kArcTelemetryTable = 0x80030434;
inline constexpr uint64_t kArcMemory = 0x10000000;
inline constexpr uint64_t kArcMemoryBytes = 0x80000;
bool identity_readable(const Arch& arch, Coord tile, uint64_t address);

// The count-from-reset timer in Blackhole's PCIe tile: the chip's constant reference. A load of the low half latches the high one;
// the low half wraps in 86 s. Which of the two PCIe tiles of the grid is in use differs between boards, so either may be aimed
// at where it is. Source: tt-metal tt_metal/impl/streaming_profiler/sync/host_sync.cpp@bf10e58. Never loaded on silicon by us: a
// card of the kernel driver permits it on request only (OpenOptions::reference_timer), the emulated card always.
inline constexpr uint64_t kTimerBlock = 0xFFFFFFFFF0000000;
inline constexpr uint64_t kTimerLow = kTimerBlock + 0xA8;
inline constexpr uint64_t kTimerHigh = kTimerBlock + 0xAC;
inline constexpr uint64_t kTimerHz = 50'000'000;
bool timer_readable(const Arch& arch, Coord tile, uint64_t address);

enum class Refusal : uint8_t { forbidden_tile, harvested_tile, outside_memory };

// What a 2 MiB window gives access to.
struct Reach {
  TileKind kind = TileKind::none;
  uint64_t base = 0;      // tile address at window offset 0
  uint64_t readable = 0;  // bytes of memory from there on; 0: registers, checked load by load
};

// May a window be aimed at the 2 MiB of the tile that hold `address`?
std::variant<Reach, Refusal> reach_of(const Arch& arch, Coord tile, bool harvested, uint64_t address);

}  // namespace ttc::card

#include "driver_iface/allow_list.hpp"

#include <algorithm>

namespace ttc::card {

bool register_readable(const Arch& arch, uint64_t address) {
  return address == kWallClockLow || address == kWallClockHigh || address == kWallClockLatched ||
         address == arch.node_id_address;
}

bool identity_readable(const Arch& arch, Coord tile, uint64_t address) {
  if (address % 4) return false;
  switch (arch.kind_at(tile)) {
    case TileKind::tensix:
    case TileKind::ethernet:
      return address == arch.node_id_address || address == kNiuConfig;
    case TileKind::arc:
      return arch.name == "blackhole" && (address == kArcTelemetryValues || address == kArcTelemetryTable ||
                                          (address >= kArcMemory && address < kArcMemory + kArcMemoryBytes));
    default:
      return false;
  }
}

bool timer_readable(const Arch& arch, Coord tile, uint64_t address) {
  return arch.name == "blackhole" && arch.kind_at(tile) == TileKind::pcie &&
         (address == kTimerLow || address == kTimerHigh);
}

std::variant<Reach, Refusal> reach_of(const Arch& arch, Coord tile, bool harvested, uint64_t address) {
  const TileKind kind = arch.kind_at(tile);
  const bool has_l1 = kind == TileKind::tensix || kind == TileKind::ethernet;
  if (!has_l1 && kind != TileKind::dram) return Refusal::forbidden_tile;
  if (harvested) return Refusal::harvested_tile;
  const uint64_t base = address & ~(kWindowBytes - 1);
  if (kind == TileKind::dram) {
    if (address >= arch.channel_bytes) return Refusal::outside_memory;
    return Reach{kind, base, std::min(kWindowBytes, arch.channel_bytes - base)};
  }
  const uint64_t l1 = kind == TileKind::tensix ? arch.tensix_l1_bytes : arch.ethernet_l1_bytes;
  if (address < l1) return Reach{kind, base, l1};
  if (base == kRegisterWindow) return Reach{kind, base, 0};
  return Refusal::outside_memory;
}

}  // namespace ttc::card

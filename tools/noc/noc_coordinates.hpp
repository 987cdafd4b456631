// Converts the coordinates that a core used to address an event of the NoC to NOC0 physical ones.
//
//   Wormhole    workers at 18.., 18.. by column and unharvested row; Ethernet at 18.., 16 or 17; the rest as
//               the NoC in use numbers it (NOC_1 counts from the far corner)
//   Blackhole   workers by unharvested column, rows as they are; DRAM at 17 and 18, from 12 on, three ports a
//               bank; Ethernet channel n at 20 + n, 25
//
// Which rows (Wormhole) or columns (Blackhole) are harvested is taken from the workers that are known to be there. They
// do not show that a card lacks a DRAM bank or, on a Blackhole, an Ethernet tile: those coordinates are of
// a card without harvested ones.
//
// Source: tt-umd wormhole_coordinate_manager.cpp, blackhole_coordinate_manager.cpp; tt-metal
// soc_descriptors/{wormhole_b0_80,blackhole_140}_arch.yaml; profiler.cpp, translateNocCoordinatesToNoc0.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace ttc::tools {

struct NocXY {
  int x = 0, y = 0;
  bool operator==(const NocXY&) const = default;
  bool operator<(const NocXY& other) const { return x != other.x ? x < other.x : y < other.y; }
};

class NocCoordinates {
 public:
  enum class Tile { worker, ethernet, other };

  void set_arch(const std::string& arch) { blackhole_ = arch.starts_with("blackhole"); }
  // A worker core, NOC0 physical.
  void saw(int x, int y) {
    columns_.insert(x);
    rows_.insert(y);
  }
  Tile tile(NocXY addressed) const;
  NocXY physical(NocXY addressed, bool noc1) const;
  // True if the chip has such a place.
  bool on_chip(NocXY physical) const;
  // Channel of an Ethernet tile.
  std::optional<int> channel(NocXY addressed) const;

 private:
  NocXY wormhole(NocXY at, bool noc1) const;
  NocXY blackhole(NocXY at) const;

  bool blackhole_ = false;
  std::set<int> columns_, rows_;
};

}  // namespace ttc::tools

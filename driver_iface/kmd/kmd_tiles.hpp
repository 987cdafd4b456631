// Which tiles a real chip has, and under which coordinate a window reaches each: learnt from registers at
// attaching (tt-umd device/arch/*_implementation.hpp), because boards differ in what is fused off and
// Blackhole renumbers.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver_iface/arch.hpp"
#include "driver_iface/card.hpp"

namespace ttc::card::kmd {

// Loads one register of the tile that answers at the NoC coordinate `at`; no value if the card does not answer.
// Refuses what identity_readable() does not allow.
using LoadAt = std::function<std::optional<uint32_t>(Coord at, uint64_t address)>;

class TileMap {
 public:
  // `translated`: the chip renumbers coordinates (bit 14 of its network interface configuration).
  // Throws OpenError.
  TileMap(const Arch& arch, bool translated, const LoadAt& load, const std::string& spec);

  const std::vector<Tile>& tiles() const { return tiles_; }  // Tensix and Ethernet in flat id order
  const std::vector<std::string>& remarks() const { return remarks_; }
  bool harvested(Coord tile) const;
  uint32_t channels_off() const { return channels_off_; }  // of memory, a bit each
  // Ways in which the memory channels may be numbered, and the one that is used; 0 is tt-metal's.
  unsigned memory_numberings() const;
  void use_memory_numbering(unsigned way) { numbering_ = way; }
  // The coordinate at which a window must be aimed to reach this physical tile.
  Coord aim_at(Coord tile) const;

 private:
  struct Entry {
    bool present = false;
    Coord at;
  };
  Entry& entry(Coord tile) { return entries_[size_t{tile.y} * arch_.grid_x + tile.x]; }
  const Entry& entry(Coord tile) const { return entries_[size_t{tile.y} * arch_.grid_x + tile.x]; }
  void read_telemetry(const LoadAt& load);
  void probe_tile(Coord asked, const LoadAt& load);
  bool renumbers_memory() const;
  Coord dram_aim(Coord port) const;

  const Arch& arch_;
  bool translated_;
  std::string spec_;
  std::vector<Entry> entries_;  // by y * grid_x + x, physical
  std::vector<Tile> tiles_;
  std::vector<std::string> remarks_;
  std::optional<uint32_t> tensix_columns_, ethernet_tiles_,
      dram_channels_;          // enabled, of Blackhole's telemetry
  uint32_t channels_off_ = 0;  // of memory, a bit each
  unsigned numbering_ = 0;
  std::set<uint8_t> silent_lines_;  // rows (Wormhole) or columns (Blackhole), as what is fused off is
  unsigned silent_ = 0, misplaced_ = 0;
};

}  // namespace ttc::card::kmd

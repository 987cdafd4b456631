// What a chip of one architecture looks like from the NoC: tiles, L1, DRAM views, the few registers an
// observer may read (which of it: allow_list.hpp). NOC0 physical coordinates throughout.
// Source: tt-umd device/api/umd/device/arch/*_implementation.hpp@3ed9cb6, tt-isa-documentation@3930471; view =
// bank id of the profiler: tt-metal metal_soc_descriptor.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ttc::card {

struct Coord {
  uint8_t x = 0;
  uint8_t y = 0;
  // x first, then y: the order of flat ids
  auto operator<=>(const Coord&) const = default;  // NOLINT(modernize-use-nullptr): of clang-tidy 14
};

enum class TileKind : uint8_t { none, tensix, ethernet, dram, arc, pcie, l2cpu, security };

struct DramView {
  Coord endpoint;  // one NoC port of the GDDR channel that holds the view
  uint32_t channel;
  uint64_t offset;  // of the view inside the channel
};

struct Arch {
  std::string_view name;  // as tt-metal spells it: wormhole_b0, blackhole
  uint8_t grid_x, grid_y;
  uint32_t tensix_l1_bytes;
  uint32_t ethernet_l1_bytes;
  uint64_t channel_bytes;  // of one GDDR channel
  uint32_t channels;
  uint32_t views_per_channel;
  uint32_t node_id_address;
  // The arch's own node id as BAR0 shows it, without window and NoC.
  uint32_t bar0_node_id;
  uint16_t pci_device;  // of vendor 0x1E52

  TileKind kind_at(Coord c) const;
  std::optional<uint32_t> channel_at(Coord endpoint) const;
  std::span<const Coord, 3> ports(uint32_t channel) const;  // of one GDDR channel
  std::span<const DramView> dram_views() const;
  // The views of a card that lacks channels (bit c of `fused_off`): the others' banks are numbered without a hole.
  std::vector<DramView> dram_views_without(uint32_t fused_off) const;
};

const Arch* arch_by_name(std::string_view name);
const Arch* arch_by_pci_device(uint16_t device);

struct Board {
  std::string_view name;  // as the driver spells it (n150, p150a), and p150 for any of them
  std::string_view arch;
  uint8_t harvested_rows;          // Wormhole: so many Tensix rows are fused off
  uint8_t harvested_columns;       // Blackhole: likewise columns
  uint8_t harvested_channels = 0;  // of memory
};
const Board* board_by_name(std::string_view name);

inline constexpr uint64_t kWindowBytes = 2u << 20;  // the window class used on both architectures

}  // namespace ttc::card

#include "driver_iface/arch.hpp"

#include <array>

namespace ttc::card {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

constexpr Arch kArchs[] = {
    {"wormhole_b0", 10, 12, 0x16E000, 256 << 10, 2 * kGiB, 6, 2, 0xFFB2002C, 0x1FF5002C, 0x401E},
    {"blackhole", 17, 12, 0x180000, 512 << 10, 4 * kGiB, 8, 1, 0xFFB20044, 0x1FD04044, 0xB140},
};

constexpr Board kBoards[] = {
    {"n150", "wormhole_b0", 1, 0},
    {"n300", "wormhole_b0", 2, 0},
    {"galaxy-wormhole", "wormhole_b0", 0, 0},
    {"p100", "blackhole", 0, 2, 1},
    {"p100a", "blackhole", 0, 2, 1},
    {"p150", "blackhole", 0, 2},
    {"p150a", "blackhole", 0, 2},
    {"p150b", "blackhole", 0, 2},
    {"p150c", "blackhole", 0, 2},
    {"p300a", "blackhole", 0, 2},
    {"p300b", "blackhole", 0, 2},
    {"p300c", "blackhole", 0, 2},
    {"galaxy-blackhole", "blackhole", 0, 1},
};

// The three NoC ports of each GDDR channel.
using Ports = std::array<Coord, 3>;
constexpr Ports kWormholePorts[] = {
    {{{0, 0}, {0, 1}, {0, 11}}}, {{{0, 5}, {0, 6}, {0, 7}}}, {{{5, 0}, {5, 1}, {5, 11}}},
    {{{5, 2}, {5, 9}, {5, 10}}}, {{{5, 3}, {5, 4}, {5, 8}}}, {{{5, 5}, {5, 6}, {5, 7}}},
};
constexpr Ports kBlackholePorts[] = {
    {{{0, 0}, {0, 1}, {0, 11}}}, {{{0, 2}, {0, 10}, {0, 3}}}, {{{0, 9}, {0, 4}, {0, 8}}},
    {{{0, 5}, {0, 7}, {0, 6}}},  {{{9, 0}, {9, 1}, {9, 11}}}, {{{9, 2}, {9, 10}, {9, 3}}},
    {{{9, 9}, {9, 4}, {9, 8}}},  {{{9, 5}, {9, 7}, {9, 6}}},
};

std::span<const Ports> ports_of(const Arch& arch) {
  if (arch.name == "wormhole_b0") return kWormholePorts;
  return kBlackholePorts;
}

std::vector<DramView> views_of(const Arch& arch) {
  std::vector<DramView> views;
  const auto ports = ports_of(arch);
  for (uint32_t v = 0; v < arch.channels * arch.views_per_channel; ++v) {
    const uint32_t channel = v / arch.views_per_channel;
    const uint32_t part = v % arch.views_per_channel;
    views.push_back({ports[channel][part], channel, part * (arch.channel_bytes / arch.views_per_channel)});
  }
  return views;
}

bool wormhole_column(uint8_t x) {
  return (x >= 1 && x <= 4) || (x >= 6 && x <= 9);
}
bool blackhole_column(uint8_t x) {
  return (x >= 1 && x <= 7) || (x >= 10 && x <= 16);
}

}  // namespace

TileKind Arch::kind_at(Coord c) const {
  if (c.x >= grid_x || c.y >= grid_y) return TileKind::none;
  if (channel_at(c)) return TileKind::dram;
  if (name == "wormhole_b0") {
    if (c == Coord{0, 10}) return TileKind::arc;
    if (c == Coord{0, 3}) return TileKind::pcie;
    if (!wormhole_column(c.x)) return TileKind::none;
    return c.y == 0 || c.y == 6 ? TileKind::ethernet : TileKind::tensix;
  }
  if (c == Coord{8, 0}) return TileKind::arc;
  if (c == Coord{2, 0} || c == Coord{11, 0}) return TileKind::pcie;
  if (c == Coord{8, 2}) return TileKind::security;
  if (c.x == 8 && c.y % 2 == 1 && c.y >= 3 && c.y <= 9) return TileKind::l2cpu;
  if (!blackhole_column(c.x) || c.y == 0) return TileKind::none;
  return c.y == 1 ? TileKind::ethernet : TileKind::tensix;
}

std::optional<uint32_t> Arch::channel_at(Coord endpoint) const {
  const auto ports = ports_of(*this);
  for (uint32_t channel = 0; channel < ports.size(); ++channel)
    for (const Coord port : ports[channel])
      if (port == endpoint) return channel;
  return std::nullopt;
}

std::span<const Coord, 3> Arch::ports(uint32_t channel) const {
  return ports_of(*this)[channel];
}

std::span<const DramView> Arch::dram_views() const {
  static const std::vector<DramView> kWormhole = views_of(kArchs[0]);
  static const std::vector<DramView> kBlackhole = views_of(kArchs[1]);
  return name == "wormhole_b0" ? kWormhole : kBlackhole;
}

std::vector<DramView> Arch::dram_views_without(uint32_t fused_off) const {
  std::vector<DramView> views;
  for (const DramView& v : dram_views())
    if ((fused_off >> v.channel & 1) == 0) views.push_back(v);
  return views;
}

const Arch* arch_by_name(std::string_view name) {
  for (const Arch& arch : kArchs)
    if (arch.name == name) return &arch;
  return nullptr;
}

const Arch* arch_by_pci_device(uint16_t device) {
  for (const Arch& arch : kArchs)
    if (arch.pci_device == device) return &arch;
  return nullptr;
}

const Board* board_by_name(std::string_view name) {
  for (const Board& board : kBoards)
    if (board.name == name) return &board;
  return nullptr;
}

}  // namespace ttc::card

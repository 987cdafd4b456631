#include "driver_iface/kmd/kmd_tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "driver_iface/allow_list.hpp"

namespace ttc::card::kmd {
namespace {

// Blackhole's harvest and channel order is the same row of columns (tt-umd device/arch/*_implementation.hpp).
constexpr std::array<uint8_t, 14> kBlackholeColumns = {1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10};
constexpr Coord kBlackholeArc{8, 0};
constexpr uint32_t kTagTensixColumns = 34, kTagEthernetTiles = 35, kTagDramChannels = 36;
constexpr uint32_t kMostTags = 256;
// A few unanswered reads are absorbed, a hundred hang the NoC. Fused-off tiles should answer this one. If
// they do not, they come in rows or columns, of which boards lack two at most: one read each, the rest of
// the line is not read.
constexpr unsigned kMostSilent = 4;

// Sources disagree: tt-umd blackhole_coordinate_manager.cpp@3ed9cb6, which tt-metal's firmware goes by, and
// ttsim src/tile.cpp@56694c8, whose firmware may be given either. Both name memory ports only.
struct MemoryNumbering {
  uint8_t first_x, second_x;     // of channels 0-3 and 4-7
  std::array<uint8_t, 4> group;  // of three rows, by channel
};
constexpr std::array<MemoryNumbering, 2> kMemoryNumberings = {
    {{17, 18, {0, 1, 2, 3}}, {18, 17, {0, 1, 3, 2}}}};
constexpr uint8_t kDramY = 12;  // of the first port

// If one channel is fused off, the column that it would be in is the one at x 18 and closes up. The other one is at x
// 17: in tt-umd today (blackhole_coordinate_manager.cpp@6e364d22) with the channel opposite the missing one moved to
// the end, in 2024 (same file, map_column_of_dram_banks) in order.
struct ShortColumn {
  uint8_t x, group;
};
ShortColumn beside_fused_off(uint8_t channel, uint8_t off, unsigned way) {
  const uint8_t row = channel % 4, gap = off % 4;
  const auto closed_up = static_cast<uint8_t>(row - (row > gap));
  if (channel / 4 == off / 4) return {18, closed_up};
  if (way != 0) return {17, row};
  return {17, row == gap ? uint8_t{3} : closed_up};
}

std::optional<size_t> column_index(uint8_t x) {
  const auto it = std::find(kBlackholeColumns.begin(), kBlackholeColumns.end(), x);
  if (it == kBlackholeColumns.end()) return std::nullopt;
  return static_cast<size_t>(it - kBlackholeColumns.begin());
}

bool disabled(std::optional<uint32_t> enabled, uint8_t x) {
  const auto i = column_index(x);
  return enabled && i && (*enabled >> *i & 1) == 0;
}

}  // namespace

TileMap::TileMap(const Arch& arch, bool translated, const LoadAt& load, const std::string& spec)
    : arch_(arch), translated_(translated), spec_(spec), entries_(size_t{arch.grid_x} * arch.grid_y) {
  if (arch.name == "blackhole") read_telemetry(load);
  channels_off_ = dram_channels_ ? ~*dram_channels_ & ((1u << arch.channels) - 1) : 0;
  if (std::popcount(channels_off_) > 1)
    throw OpenError(spec +
                    ": more than one memory channel of this chip is fused off, and how the others are then "
                    "numbered is not known to this build; no data was collected");
  const auto has_l1 = [&](Coord c) {
    const TileKind kind = arch.kind_at(c);
    return kind == TileKind::tensix || kind == TileKind::ethernet;
  };
  for (uint8_t x = 0; x < arch.grid_x; ++x)
    for (uint8_t y = 0; y < arch.grid_y; ++y)
      if (has_l1({x, y})) probe_tile({x, y}, load);
  for (uint8_t x = 0; x < arch.grid_x; ++x)
    for (uint8_t y = 0; y < arch.grid_y; ++y)
      if (has_l1({x, y})) tiles_.push_back({{x, y}, arch.kind_at({x, y}), !entry({x, y}).present});
  if (misplaced_)
    remarks_.push_back(std::to_string(misplaced_) +
                       " tiles report other coordinates than those they were read at and are left out");
  if (silent_)
    remarks_.push_back(std::to_string(silent_) + " tiles do not answer; they and their whole " +
                       (arch.name == "blackhole" ? "columns" : "rows") + " are left out");
}

// A tile is accepted when it returns its own coordinates and its clock is not off for good.
void TileMap::probe_tile(Coord asked, const LoadAt& load) {
  const TileKind kind = arch_.kind_at(asked);
  if (kind == TileKind::ethernet && disabled(ethernet_tiles_, asked.x)) return;
  const uint8_t line = arch_.name == "blackhole" ? asked.x : asked.y;
  if (kind == TileKind::tensix && silent_lines_.count(line)) return;
  const auto id = load(asked, arch_.node_id_address);
  if (!id)
    throw OpenError(spec_ +
                    ": the card stopped answering while its tiles were counted; is it being reset? --wait "
                    "tries again");
  if (*id == ~0u) {
    silent_lines_.insert(line);
    if (++silent_ < kMostSilent) return;
    throw OpenError(
        spec_ + ": tiles up to (" + std::to_string(asked.x) + "," + std::to_string(asked.y) +
        ") do not answer over the NoC; no more tiles are read. A reset of the card (tt-smi -r) helps when "
        "no workload needs it");
  }
  const Coord at{static_cast<uint8_t>(*id & 0x3f), static_cast<uint8_t>(*id >> 6 & 0x3f)};
  const bool renumbers = translated_ && arch_.name == "blackhole" && kind == TileKind::tensix;
  if (arch_.kind_at(at) != kind || entry(at).present || (at != asked && !renumbers)) {
    ++misplaced_;
    return;
  }
  if (kind == TileKind::tensix && disabled(tensix_columns_, at.x)) return;
  const auto config = load(asked, kNiuConfig);
  if (!config || *config == ~0u || (*config & kNiuTileOff)) return;
  entry(at) = {true, asked};
}

// Word 0 of the table is a version, word 1 a count, then (tag, place among the values) pairs.
void TileMap::read_telemetry(const LoadAt& load) {
  const auto in_memory = [](uint64_t p, uint64_t bytes) {
    return p % 4 == 0 && p >= kArcMemory && p + bytes <= kArcMemory + kArcMemoryBytes;
  };
  const auto word = [&](uint64_t p) { return load(kBlackholeArc, p).value_or(~0u); };
  const uint32_t table = word(kArcTelemetryTable), values = word(kArcTelemetryValues);
  const bool there = in_memory(table, 8) && in_memory(values, 4);
  const uint32_t version = there ? word(table) : ~0u, count = there ? word(table + 4) : ~0u;
  if ((version >> 16 & 0xff) > 1 || count > kMostTags || !in_memory(table, 8 + 4 * uint64_t{count})) {
    remarks_.push_back(
        "the card's telemetry table is not there or not of a known version; what is fused off is taken from "
        "the "
        "tiles alone");
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t tag = word(table + 8 + 4 * i);
    const uint64_t place = values + 4 * uint64_t{tag >> 16};
    if (!in_memory(place, 4)) continue;
    if ((tag & 0xffff) == kTagTensixColumns) tensix_columns_ = load(kBlackholeArc, place);
    if ((tag & 0xffff) == kTagEthernetTiles) ethernet_tiles_ = load(kBlackholeArc, place);
    if ((tag & 0xffff) == kTagDramChannels) dram_channels_ = load(kBlackholeArc, place);
  }
}

bool TileMap::harvested(Coord tile) const {
  if (tile.x >= arch_.grid_x || tile.y >= arch_.grid_y) return false;
  const TileKind kind = arch_.kind_at(tile);
  if (kind == TileKind::dram) return channels_off_ >> *arch_.channel_at(tile) & 1;
  return (kind == TileKind::tensix || kind == TileKind::ethernet) && !entry(tile).present;
}

Coord TileMap::aim_at(Coord tile) const {
  if (arch_.kind_at(tile) == TileKind::dram) return dram_aim(tile);
  return entry(tile).at;
}

unsigned TileMap::memory_numberings() const {
  return renumbers_memory() ? static_cast<unsigned>(kMemoryNumberings.size()) : 1;
}

bool TileMap::renumbers_memory() const {
  return translated_ && arch_.name == "blackhole";
}

// Memory is renumbered channel by channel, three ports each: four channels at x 17, four at 18.
Coord TileMap::dram_aim(Coord port) const {
  if (!renumbers_memory()) return port;
  const auto channel = static_cast<uint8_t>(*arch_.channel_at(port));
  const auto ports = arch_.ports(channel);
  const auto nth = static_cast<uint8_t>(std::find(ports.begin(), ports.end(), port) - ports.begin());
  if (channels_off_) {
    const ShortColumn at =
        beside_fused_off(channel, static_cast<uint8_t>(std::countr_zero(channels_off_)), numbering_);
    return {at.x, static_cast<uint8_t>(kDramY + 3 * at.group + nth)};
  }
  const MemoryNumbering& n = kMemoryNumberings[numbering_];
  const bool first_half = channel < n.group.size();
  return {first_half ? n.first_x : n.second_x,
          static_cast<uint8_t>(kDramY + 3 * n.group[channel % n.group.size()] + nth)};
}

}  // namespace ttc::card::kmd

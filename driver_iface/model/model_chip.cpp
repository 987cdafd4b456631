#include "driver_iface/model/model_chip.hpp"

#include <algorithm>
#include <iterator>

#include "driver_iface/allow_list.hpp"

namespace ttc::card::kmd {
namespace {

constexpr Coord kActivePcie{2, 0};  // as BAR0 has it
constexpr uint32_t kTelemetryTable = 0x10000100, kTelemetryValues = 0x10000200;

}  // namespace

uint32_t DriverModel::Chip::enabled_columns() const {
  constexpr uint8_t kOrder[] = {1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10};
  uint32_t mask = 0;
  for (size_t i = 0; i < std::size(kOrder); ++i)
    if (!is_off({kOrder[i], 2})) mask |= 1u << i;
  return mask;
}

std::optional<Coord> DriverModel::Chip::physical(Coord asked) const {
  if (arch->name != "blackhole") return asked;
  if (asked.y <= 1 && arch->kind_at(asked) != TileKind::dram) return asked;
  if (asked.x == 17 || asked.x == 18) {
    const uint32_t row = asked.y - 12u;
    if (asked.y < 12 || row >= 12) return std::nullopt;
    uint32_t group = row / 3;
    if (const auto missing =
            channel_off()) {  // the short column is at 18, the whole one's opposite moves to its end
      const uint32_t own = *missing & ~3u, gap = *missing % 4;
      if (asked.x == 18) {
        if (group == 3) return std::nullopt;
        return arch->ports(own + group + (group >= gap))[row % 3];
      }
      const uint32_t at = options.memory_in_order || group < gap ? group : group == 3 ? gap : group + 1;
      return arch->ports((own ^ 4u) + at)[row % 3];
    }
    if (options.simulator_memory && group >= 2) group = 5 - group;
    const bool west = (asked.x == 17) != options.simulator_memory;
    return arch->ports(group + (west ? 0 : 4))[row % 3];
  }
  if (arch->kind_at(asked) != TileKind::tensix) return std::nullopt;
  std::vector<uint8_t> columns, gone;
  for (uint8_t x = 0; x < arch->grid_x; ++x)
    if (arch->kind_at({x, 2}) == TileKind::tensix) (is_off({x, 2}) ? gone : columns).push_back(x);
  std::vector<uint8_t> places = columns;
  places.insert(places.end(), gone.begin(), gone.end());
  std::sort(places.begin(), places.end());
  columns.insert(columns.end(), gone.begin(), gone.end());
  const auto place = std::find(places.begin(), places.end(), asked.x) - places.begin();
  return Coord{columns[static_cast<size_t>(place)], asked.y};
}

Target DriverModel::Chip::target(const NocAim& aim) const {
  const auto at = physical({static_cast<uint8_t>(aim.x_end), static_cast<uint8_t>(aim.y_end)});
  if (!at || aim.x_start || aim.y_start || aim.noc || aim.multicast || aim.linked || aim.static_vc) return {};
  const TileKind kind = arch->kind_at(*at);
  const bool off_tile = kind == TileKind::tensix && is_off(*at);
  if (kind == TileKind::arc && arch->name == "blackhole" && options.telemetry)
    if (aim.address == 0x80000000 || aim.address == kArcMemory) return {Target::telemetry, *at};
  if (at == kActivePcie && timer_readable(*arch, *at, aim.address + kTimerLow - kTimerBlock))
    return {Target::timer, *at};
  if (kind == TileKind::dram && aim.address < arch->channel_bytes) return {Target::dram, *at};
  if (kind != TileKind::tensix && kind != TileKind::ethernet) return {};
  if (aim.address == kRegisterWindow) return {Target::registers, *at};
  if (aim.address == 0 && !off_tile) return {Target::l1, *at};
  return {};
}

uint32_t DriverModel::Chip::register_at(const NocAim& aim, const Target& to, uint64_t address) {
  if (link_dead || in_reset || silent.count(to.tile)) return ~0u;
  if (to.kind == Target::registers) {
    const bool says_it_is_off = !has(page->contradictions, Contradiction::fused_off_unsaid);
    if (address == kNiuConfig) return (says_it_is_off && is_off(to.tile) ? kNiuTileOff : 0) | 1u << 14;
    if (address == arch->node_id_address || register_readable(*arch, address))
      return emu::register_now(*arch, *page, to.tile, address);
    hazards.push_back("register " + std::to_string(aim.address));
    return ~0u;
  }
  if (to.kind == Target::timer) {
    if (timer_readable(*arch, to.tile, address)) return emu::register_now(*arch, *page, to.tile, address);
    hazards.push_back("PCIe tile " + std::to_string(address));
    return ~0u;
  }
  if (address == kArcTelemetryTable) return kTelemetryTable;
  if (address == kArcTelemetryValues) return kTelemetryValues;
  const uint32_t table[] = {1u << 16, 4, 14 | 3u << 16, 34, 35 | 1u << 16, 36 | 2u << 16};
  const auto missing = channel_off();
  const uint32_t channels = options.dram_channels & ~(missing ? 1u << *missing : 0u);
  const uint32_t values[] = {enabled_columns(), 0x3fff, channels, page->aiclk_mhz};
  if (address >= kTelemetryTable && address < kTelemetryTable + sizeof table)
    return table[(address - kTelemetryTable) / 4];
  if (address >= kTelemetryValues && address < kTelemetryValues + sizeof values)
    return values[(address - kTelemetryValues) / 4];
  hazards.push_back("ARC memory " + std::to_string(address));
  return ~0u;
}

}  // namespace ttc::card::kmd

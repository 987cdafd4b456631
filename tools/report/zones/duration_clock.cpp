#include "tools/report/zones/duration_clock.hpp"

namespace ttc::report {
namespace {

using collect::ClockMap;

std::optional<Measured> measured(const ClockMap& map, uint64_t from, uint64_t to, uint64_t seen_ns,
                                 ClockMap::Tiles tiles) {
  const auto d = map.difference(from, to, seen_ns * collect::kHostTicksPerNs, tiles);
  if (d.bound == collect::kNoBound) return std::nullopt;
  constexpr double kTicks = collect::kHostTicksPerNs;
  return Measured{static_cast<double>(d.ticks) / kTicks, static_cast<double>(d.bound) / kTicks,
                  d.kind == collect::BoundKind::hard};
}

}  // namespace

void DurationClock::add(uint32_t chip, ClockMap map, std::set<Tile> apart) {
  chips_.insert_or_assign(chip, Chip{std::move(map), std::move(apart)});
}

bool DurationClock::apart(uint32_t chip, Tile tile) const {
  const auto at = chips_.find(chip);
  return at != chips_.end() && at->second.apart.contains(tile);
}

const ClockMap* DurationClock::map_of(uint32_t chip) const {
  const auto at = chips_.find(chip);
  return at == chips_.end() ? nullptr : &at->second.map;
}

std::optional<Measured> DurationClock::on_tile(uint32_t chip, Tile tile, uint64_t from, uint64_t to,
                                               uint64_t seen_ns) const {
  const auto at = chips_.find(chip);
  if (at == chips_.end() || seen_ns == 0 || at->second.apart.contains(tile)) return std::nullopt;
  const collect::ClockHead& head = at->second.map.head();
  const bool reference = head.reference_x == tile.first && head.reference_y == tile.second;
  if (head.tile_spread == collect::kNoBound && !reference) return std::nullopt;
  return measured(at->second.map, from, to, seen_ns, ClockMap::Tiles::one);
}

std::optional<Measured> DurationClock::across(uint32_t chip, uint64_t from, uint64_t to,
                                              uint64_t seen_ns) const {
  const auto at = chips_.find(chip);
  if (at == chips_.end() || seen_ns == 0 || at->second.map.head().tile_spread == collect::kNoBound)
    return std::nullopt;
  return measured(at->second.map, from, to, seen_ns, ClockMap::Tiles::two);
}

}  // namespace ttc::report

#include "tools/ttdelay/run/card_health.hpp"

#include <algorithm>

#include "driver_iface/guarded_card.hpp"

namespace ttc::delay {

std::string what_ails(const std::string& device, const CardOpener& open) {
  try {
    card::GuardedCard card(open());
    if (card.check() == card::Health::gone)
      return "the card " + device + " was reset or removed, or its link is down";
    const auto tiles = card.tiles();
    const auto tile = std::find_if(tiles.begin(), tiles.end(), [](const card::Tile& t) {
      return t.kind == card::TileKind::tensix && !t.harvested;
    });
    uint64_t first = 0, second = 0;
    if (tile == tiles.end()) return "the card " + device + " shows no Tensix tile";
    if (card.wall_clock(tile->at, first) != card::Access::ok ||
        card.wall_clock(tile->at, second) != card::Access::ok)
      return "the first Tensix tile of the card " + device + " does not answer";
    if (second <= first) return "the clock of the card " + device + " does not advance";
    return "";
  } catch (const card::OpenError& e) {
    return device.starts_with("emu:") ? "" : e.what();
  }
}

}  // namespace ttc::delay

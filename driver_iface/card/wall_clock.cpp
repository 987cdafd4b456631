#include "driver_iface/card/wall_clock.hpp"

#include "driver_iface/allow_list.hpp"

namespace ttc::card {

Access read_wall_clock(Card& card, Coord tile, uint64_t& cycles) {
  if (const Access a = card.aim(Window::control, tile, kRegisterWindow); a != Access::ok) return a;
  const auto low_at = static_cast<uint32_t>(kWallClockLow - kRegisterWindow);
  const auto high_at = static_cast<uint32_t>(kWallClockHigh - kRegisterWindow);
  // If two reads of the live high half agree, the low half read between them belongs to it (tt-isa-documentation
  // WormholeB0/TensixTile/DebugTimestamper.md).
  for (int attempt = 0; attempt < 4; ++attempt) {
    uint32_t high[2], low;
    Access a = card.load_registers(Window::control, high_at, {&high[0], 1});
    if (a == Access::ok) a = card.load_registers(Window::control, low_at, {&low, 1});
    if (a == Access::ok) a = card.load_registers(Window::control, high_at, {&high[1], 1});
    if (a != Access::ok) return a;
    if (high[0] == high[1]) {
      cycles = uint64_t{high[0]} << 32 | low;
      return Access::ok;
    }
  }
  return Access::refused;
}

}  // namespace ttc::card

#include "collector/sampling/reference_timer.hpp"

#include "driver_iface/allow_list.hpp"

namespace ttc::collect {

using card::Access;
using card::Window;

// Which of the PCIe tiles of the grid is in use differs between boards: the one that can be aimed at.
std::optional<ReferenceTimer> ReferenceTimer::of(card::Card& card) {
  const card::Arch& arch = *card.identity().arch;
  for (uint8_t x = 0; x < arch.grid_x; ++x)
    for (uint8_t y = 0; y < arch.grid_y; ++y)
      if (card::timer_readable(arch, {x, y}, card::kTimerLow) &&
          card.aim(Window::control, {x, y}, card::kTimerBlock) == Access::ok)
        return ReferenceTimer(card, {x, y});
  return std::nullopt;
}

Access ReferenceTimer::read(const HostTicks& host, ClockRead& read) {
  uint32_t low = 0;
  Access a = card_->aim(Window::control, tile_, card::kTimerBlock);
  const uint64_t before = host.now();
  if (a == Access::ok)
    a = card_->load_registers(Window::control,
                              static_cast<uint32_t>(card::kTimerLow & (card::kWindowBytes - 1)), {&low, 1});
  const uint64_t after = host.now();
  if (a != Access::ok) return a;
  last_ += static_cast<uint32_t>(low - static_cast<uint32_t>(last_));
  read = {host.limits(before).earliest, host.limits(after).latest, last_};
  return Access::ok;
}

}  // namespace ttc::collect

#include "collector/attach/card_access.hpp"

namespace ttc::collect {

using card::Access;
using card::Window;

card::Expected<uint64_t> CardAccess::wall_clock(card::Coord tile) {
  uint64_t cycles = 0;
  if (const Access a = card_.wall_clock(tile, cycles); a != Access::ok) return card::failed(a);
  return cycles;
}

Access CardAccess::l1(card::Coord tile, uint32_t address, std::span<uint64_t> into) {
  const Access a = card_.aim(Window::control, tile, address);
  if (a != Access::ok) return a;
  return card_.copy(Window::control, address & (card::kWindowBytes - 1), into);
}

Access CardAccess::doubt_bank(uint32_t bank) {
  return card_.doubt(card_.identity().dram_views[bank].endpoint);
}

Access CardAccess::clear_indices(size_t place, uint32_t lanes) {
  return writer_ ? writer_->clear(place, lanes) : Access::refused;
}

}  // namespace ttc::collect

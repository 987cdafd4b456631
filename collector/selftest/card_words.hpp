// Single loads of a card's memory, as the watches of the selftest make them. Only reads.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "collector/attach/attach.hpp"
#include "driver_iface/card.hpp"
#include "driver_iface/expected.hpp"

namespace ttc::collect::selftest {

// One word of a core's control vector, by one uncached load.
inline card::Expected<uint32_t> load_control(card::Card& card, const AttachedCore& core, uint32_t word) {
  const uint32_t address = core.control_address + 4 * word;
  uint32_t value = 0;
  if (const card::Access a = card.aim(card::Window::control, core.at, address); a != card::Access::ok)
    return card::failed(a);
  const card::Access a = card.one_load(card::Window::control, card::Memory::uncached,
                                       address & (card::kWindowBytes - 1), {&value, 1});
  if (a != card::Access::ok) return card::failed(a);
  return value;
}

// The whole vector, 16 bytes a load. Its address is a multiple of 16.
using VectorWords = std::array<uint32_t, 64>;
inline card::Access load_vector(card::Card& card, const AttachedCore& core, uint32_t words,
                                VectorWords& vector) {
  constexpr uint32_t kPiece = 4;
  card::Access a = card.aim(card::Window::control, core.at, core.control_address);
  for (uint32_t w = 0; a == card::Access::ok && w < words; w += kPiece)
    a = card.one_load(card::Window::control, card::Memory::uncached,
                      (core.control_address + 4 * w) & (card::kWindowBytes - 1), {&vector[w], kPiece});
  return a;
}

}  // namespace ttc::collect::selftest

// What a chip's window registers hold for an aim: as the driver writes them and the hardware understands
// them. The product leaves that to the driver; the model and the simulator test need it. Source: tt-kmd
// wormhole.c, blackhole.c@4af7192.
#pragma once
#include <array>
#include <cstdint>

#include "driver_iface/arch.hpp"
#include "driver_iface/kmd/kmd_abi.hpp"

namespace ttc::card::kmd {

// Wormhole uses two words, Blackhole three.
using WindowWords = std::array<uint32_t, 3>;
constexpr uint64_t kWindowRegisters = 0x1FC00000;  // in BAR0
constexpr uint32_t window_words(const Arch& arch) {
  return arch.name == "wormhole_b0" ? 2 : 3;
}

// The registers of a window of 2 MiB.
WindowWords encode_window(const Arch& arch, const NocAim& aim);
NocAim decode_window(const Arch& arch, const WindowWords& words);

// BAR0 offset of a window of 2 MiB by its number among all windows of the chip.
uint64_t window_in_bar0(const Arch& arch, uint32_t id);

}  // namespace ttc::card::kmd

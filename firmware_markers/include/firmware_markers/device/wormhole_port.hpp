// The Port of a Wormhole Tensix core: L1 by address, the debug block's wall clock, NIU 0's first command
// buffer. Freestanding. Addresses: tt-umd device/arch/*_implementation.hpp, ttsim (NoC command registers
// measured on the public simulator), tt-isa-documentation WormholeB0/TensixTile/DebugTimestamper.md (clock).
// CTRL 0x2092 = write, acknowledged, static VC.
#pragma once
#include <stdint.h>

namespace ttc::device {

struct WormholePort {
  uint32_t control_vector;      // L1 address
  uint32_t buffers;             // L1 address of RISC 0's; the others follow
  const uint8_t (*dram_xy)[2];  // NOC0 endpoint of each bank
  const uint64_t* dram_offset;  // bank offset of each view
  uint32_t dram_base;

  static volatile uint32_t& at(uint32_t address) {
    return *reinterpret_cast<volatile uint32_t*>(static_cast<uintptr_t>(address));
  }
  uint32_t control_address() const { return control_vector; }
  uint32_t buffer_address() const { return buffers; }
  uint32_t load(uint32_t address) const { return at(address); }
  void store(uint32_t address, uint32_t value) const { at(address) = value; }
  uint32_t clock_high() const { return at(0xFFB121F4); }
  uint32_t clock_low() const { return at(0xFFB121F0); }
  uint32_t noc_x() const { return at(0xFFB2002C) & 63; }
  uint32_t noc_y() const { return at(0xFFB2002C) >> 6 & 63; }
  bool noc_busy() const { return at(0xFFB20028) != 0; }

  void push(uint32_t risc, uint32_t words, uint32_t bank, uint32_t bank_offset) const {
    const uint64_t to = dram_offset[bank] + dram_base + bank_offset;
    while (noc_busy()) {
    }
    at(0xFFB20000) = buffers + 2048 * risc;
    at(0xFFB20004) = 0;
    at(0xFFB2000C) = static_cast<uint32_t>(to);
    at(0xFFB20010) =
        static_cast<uint32_t>(to >> 32) | uint32_t{dram_xy[bank][0]} << 4 | uint32_t{dram_xy[bank][1]} << 10;
    at(0xFFB20018) = 0;
    at(0xFFB2001C) = 0x2092;
    at(0xFFB20020) = 4 * words;
    at(0xFFB20028) = 1;
  }
  void wait_sent() const {
    while (noc_busy()) {
    }
  }
  void recorded(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) const {}
};

}  // namespace ttc::device

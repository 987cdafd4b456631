// Layout generations as data: one table, one type. Adding a generation is adding a row to device/format.hpp
// and its name here. Discovery, decoder, emulated firmware and drain take everything from a Layout.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "firmware_markers/device/format.hpp"

namespace ttc::markers {

struct Layout {
  std::string_view name;  // "G3", "G4": what people type and read
  device::Format format;
};

std::span<const Layout> layouts();

// Null when no such generation is known. `name` is matched without case.
const Layout* layout_by_name(std::string_view name);
const Layout* layout_by_generation(unsigned generation);

// Where the profiler lives on an architecture, independent of the generation.
// Source: tt-metal dev_mem_map.h (WH @009581cb, BH @0079e942), bh_hal.cpp@0316c7ec and sibling.
struct Placement {
  std::string_view arch;         // "wormhole_b0", "blackhole"
  uint32_t tensix_mailbox_base;  // L1 address
  uint32_t dram_base;            // address of the profiler region inside every bank
  uint32_t max_cores_per_bank;   // the HAL reserves room for this many cores in a bank
};
const Placement* placement_for(std::string_view arch);

// core_info word that says "this is a worker tile" (M2 mailboxes of Jan 2026 and later).
inline constexpr uint32_t kWorkerMagic = 0x50ec09a3;
inline constexpr uint32_t kMagicSearchBytes = 4096;

// The control vector follows the magic word: 12 bytes on, then aligned to 16 from the mailbox base.
constexpr uint32_t control_address_after(uint32_t magic_address, uint32_t mailbox_base) {
  return mailbox_base + ((magic_address - mailbox_base + 12 + 15) & ~15u);
}

// Place of a lane's log inside its DRAM bank. P = bytes per RISC region.
struct LogPlace {
  uint32_t bank;
  uint64_t address;  // inside the bank, of word 0 of the lane's log
};
LogPlace log_place(uint32_t flat_id, uint32_t risc, uint32_t core_count_per_dram, uint32_t dram_base,
                   uint32_t bytes_per_risc);

}  // namespace ttc::markers

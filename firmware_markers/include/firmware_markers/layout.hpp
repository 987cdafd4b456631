// Layout generations as data: one table, one type. Adding a generation is adding a row to device/format.hpp
// and its name here. Discovery, decoder, emulated firmware and drain take everything from a Layout.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "firmware_markers/device/format.hpp"

namespace ttc::markers {

struct Layout {
  std::string_view name;  // "G1-16", "G1", "G2", "G3", "G4": as options and reports name it
  device::Format format;
};

std::span<const Layout> layouts();

// Used for names in options.
bool same_ignoring_case(std::string_view a, std::string_view b);

// Null when no such generation is known. `name` is matched without case.
const Layout* layout_by_name(std::string_view name);
const Layout* layout_by_generation(unsigned generation);

// "normal", "trace-only", "accumulate": how the firmware was built.
std::string_view to_string(device::Mode mode);
std::optional<device::Mode> mode_by_name(std::string_view name);

enum class CoreKind : uint8_t { tensix = 0, active_ethernet = 1, idle_ethernet = 2 };
inline constexpr size_t kCoreKinds = 3;
std::string_view to_string(CoreKind kind);

// The name of a processor as the device CSV has it. Trace-only mode has one pseudo RISC for a whole Tensix core.
std::string_view risc_name(CoreKind kind, uint32_t risc, device::Mode mode = device::Mode::normal);

// The place where the mailbox of one kind of core begins, independent of the generation. Source: tt-metal
// dev_mem_map.h (WH @009581cb, BH @0079e942).
struct CorePlace {
  CoreKind kind;
  uint32_t mailbox_base;       // L1 address
  uint32_t mailbox_base_2025;  // where some builds of 2025 had it; 0: the same
  uint32_t magic;              // core_info word of the kind (M2 mailboxes of Jan 2026 and later)
  uint32_t riscs;              // with a buffer of their own
};

// The place of the profiler on an architecture, independent of the generation. Source: bh_hal.cpp@0316c7ec and
// sibling.
struct Placement {
  std::string_view arch;        // "wormhole_b0", "blackhole"
  uint32_t dram_base;           // address of the profiler region inside every bank
  uint32_t max_cores_per_bank;  // the HAL reserves room for this many cores in a bank
  CorePlace cores[kCoreKinds];  // by kind
  const CorePlace& place(CoreKind kind) const { return cores[static_cast<size_t>(kind)]; }
};
const Placement* placement_for(std::string_view arch);

// Versions of the mailbox struct around the profiler, by the offset of the control vector from the mailbox's
// base. Discovery does not need them; options and the emulated firmware name them.
// Source: tt-metal dev_msgs.h of each period.
struct Mailbox {
  std::string_view name;     // "M1" .. "M4"
  uint32_t tensix_offset;    // of the control vector, from the mailbox base
  uint32_t ethernet_offset;  // likewise, by the number of RISCs of an Ethernet core
  uint32_t ethernet2_offset;
  bool has_magic;
  uint32_t offset(CoreKind kind, uint32_t riscs) const {
    return kind == CoreKind::tensix ? tensix_offset : riscs == 1 ? ethernet_offset : ethernet2_offset;
  }
};
std::span<const Mailbox> mailboxes();
const Mailbox* mailbox_by_name(std::string_view name);

inline constexpr uint32_t kWorkerMagic = 0x50ec09a3;
inline constexpr uint32_t kActiveEthernetMagic = 0xc63050d1;
inline constexpr uint32_t kIdleEthernetMagic = 0x837b6cae;
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

#include "firmware_markers/layout.hpp"

#include <algorithm>
#include <cctype>

namespace ttc::markers {
namespace {

constexpr Layout kLayouts[] = {{"G1-16", device::kG1Narrow},
                               {"G1", device::kG1},
                               {"G2", device::kG2},
                               {"G3", device::kG3},
                               {"G4", device::kG4}};

constexpr Placement kPlacements[] = {
    {"wormhole_b0",
     0x20,
     8,
     {{CoreKind::tensix, 0x10, 0, kWorkerMagic, 5},
      {CoreKind::active_ethernet, 0x3DD50, 0, kActiveEthernetMagic, 1},
      {CoreKind::idle_ethernet, 0x2000, 0, kIdleEthernetMagic, 1}}},
    {"blackhole",
     0x40,
     20,
     {{CoreKind::tensix, 0x60, 0x40, kWorkerMagic, 5},
      {CoreKind::active_ethernet, 0x100, 0, kActiveEthernetMagic, 2},
      {CoreKind::idle_ethernet, 0x100, 0, kIdleEthernetMagic, 2}}},
};

constexpr Mailbox kMailboxes[] = {
    {"M0", 1504, 0, 0, false},       {"M1-early", 2176, 1392, 1392, false},
    {"M1", 2208, 1392, 1392, false}, {"M2-2025", 2400, 1584, 1776, false},
    {"M2", 2400, 1584, 1776, true},  {"M3", 2544, 1728, 1920, true},
    {"M4", 2800, 1984, 2176, true},
};

constexpr std::string_view kModes[] = {"normal", "trace-only", "accumulate"};  // by device::Mode

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::span<const Layout> layouts() {
  return kLayouts;
}

const Layout* layout_by_name(std::string_view name) {
  for (const Layout& layout : kLayouts)
    if (same_ignoring_case(layout.name, name)) return &layout;
  return nullptr;
}

const Layout* layout_by_generation(unsigned generation) {
  for (const Layout& layout : kLayouts)
    if (layout.format.generation == generation) return &layout;
  return nullptr;
}

const Placement* placement_for(std::string_view arch) {
  for (const Placement& placement : kPlacements)
    if (placement.arch == arch) return &placement;
  return nullptr;
}

std::string_view to_string(device::Mode mode) {
  return kModes[static_cast<size_t>(mode)];
}

std::optional<device::Mode> mode_by_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kModes); ++i)
    if (kModes[i] == name) return static_cast<device::Mode>(i);
  return std::nullopt;
}

std::string_view to_string(CoreKind kind) {
  constexpr std::string_view kNames[] = {"Tensix", "active Ethernet", "idle Ethernet"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view risc_name(CoreKind kind, uint32_t risc, device::Mode mode) {
  constexpr std::string_view kTensix[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"};
  if (risc >= device::kMaxRiscs) return "UNKNOWN";
  if (kind != CoreKind::tensix) return "ERISC";
  if (mode == device::Mode::trace_only) return "TENSIX_RISC_AGG";
  return kTensix[risc];
}

std::span<const Mailbox> mailboxes() {
  return kMailboxes;
}

const Mailbox* mailbox_by_name(std::string_view name) {
  for (const Mailbox& mailbox : kMailboxes)
    if (same_ignoring_case(mailbox.name, name)) return &mailbox;
  return nullptr;
}

LogPlace log_place(uint32_t flat_id, uint32_t risc, uint32_t core_count_per_dram, uint32_t dram_base,
                   uint32_t bytes_per_risc) {
  const uint64_t slot = uint64_t{flat_id % core_count_per_dram} * device::kMaxRiscs + risc;
  return {flat_id / core_count_per_dram, dram_base + slot * bytes_per_risc};
}

}  // namespace ttc::markers

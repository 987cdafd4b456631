#include "firmware_markers/layout.hpp"

#include <algorithm>
#include <cctype>

namespace ttc::markers {
namespace {

constexpr Layout kLayouts[] = {{"G3", device::kG3}, {"G4", device::kG4}};

constexpr Placement kPlacements[] = {
    {"wormhole_b0", 0x10, 0x20, 8},
    {"blackhole", 0x60, 0x40, 20},
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

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

LogPlace log_place(uint32_t flat_id, uint32_t risc, uint32_t core_count_per_dram, uint32_t dram_base,
                   uint32_t bytes_per_risc) {
  const uint64_t slot = uint64_t{flat_id % core_count_per_dram} * device::kMaxRiscs + risc;
  return {flat_id / core_count_per_dram, dram_base + slot * bytes_per_risc};
}

}  // namespace ttc::markers

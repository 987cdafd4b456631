#include "collector/host/host_place.hpp"

#include <cstdlib>

namespace ttc::collect {

std::optional<card::PciFunction> function_of(const card::Identity& id,
                                             std::span<const card::PciFunction> functions) {
  for (const card::PciFunction& f : functions) {
    if (!f.ordinal) continue;
    const bool named = id.spec == "pci:" + f.bdf || id.spec == std::to_string(*f.ordinal) ||
                       id.spec == f.node || (!f.by_id.empty() && id.live_name == f.by_id);
    if (named) return f;
  }
  return std::nullopt;
}

double bytes_per_s_of(const card::Link& link) {
  const double gt = std::atof(link.speed.c_str());
  const double lanes = std::atof(link.width.c_str());
  const double coding = gt <= 5 ? 8.0 / 10 : gt <= 32 ? 128.0 / 130 : 242.0 / 256;  // PCIe 1-2, 3-5, 6
  return gt * 1e9 * coding / 8 * lanes;
}

}  // namespace ttc::collect

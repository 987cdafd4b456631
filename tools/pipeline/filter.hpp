// Which markers an output has.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/zone_names.hpp"
#include "tools/pipeline/host_semantics.hpp"

namespace ttc::tools {

// Empty sets match everything.
struct Filter {
  std::set<std::pair<uint8_t, uint8_t>> cores;  // NOC0 physical
  std::set<uint8_t> riscs;
  std::optional<uint32_t> chip;                        // as numbered in the output
  std::set<uint32_t> host_ids;                         // as the card had them
  std::set<std::string> zones;                         // by name
  uint64_t cycles_from = 0, cycles_to = ~uint64_t{0};  // device time

  bool wants(uint8_t x, uint8_t y, uint8_t r) const {
    return (cores.empty() || cores.contains({x, y})) && (riscs.empty() || riscs.contains(r));
  }
  // Compares the name that is shown: the number of an event may be what a zone's name is hashed to.
  bool wants(const markers::Marker& m, const markers::ZoneNames& names, std::string_view processor) const {
    if (m.time_cycles < cycles_from || m.time_cycles > cycles_to) return false;
    if (zones.empty()) return true;
    const markers::ZoneSource* source = named_by_id(m) ? names.choose(m.id, processor).source : nullptr;
    return source && zones.contains(source->name);
  }
  bool wants_all_markers() const { return zones.empty() && cycles_from == 0 && cycles_to == ~uint64_t{0}; }
};

}  // namespace ttc::tools

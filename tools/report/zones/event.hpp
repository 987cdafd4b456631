// A marker as reports take it.
#pragma once
#include <cstdint>

#include "firmware_markers/decoder.hpp"
#include "tools/report/zones/zone_class.hpp"

namespace ttc::report {

struct Event {
  uint64_t time;  // cycles of the tile's wall clock
  uint64_t data;  // of totals and data markers
  uint32_t zone;  // index into Zones
  uint16_t id;    // hash of the zone, or a fixed id
  markers::MarkerType type;
  ZoneClass zone_class;
};

}  // namespace ttc::report

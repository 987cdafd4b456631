// The markers with which a frame's firmware and its kernel zone begin and end, as far as they do: all that a program's times need of a
// frame (viewers/programs.hpp).
#pragma once
#include <cstdint>
#include <span>

#include "firmware_markers/decoder.hpp"

namespace ttc::tools {

struct FrameZones {
  static constexpr uint32_t kNone = ~uint32_t{0};  // no marker
  struct Zone {
    uint32_t begin = kNone, end = kNone;  // indices into the frame's markers
  };
  Zone firmware, kernel;

  // `main_zone`: id in the frame's first slot.
  static FrameZones of(std::span<const markers::Marker> markers, uint16_t main_zone) {
    FrameZones zones;
    for (uint32_t i = 0; i < markers.size(); ++i) {
      const markers::Marker& m = markers[i];
      if (!(m.flags & markers::kGuaranteed)) continue;
      Zone& zone = m.id == main_zone ? zones.firmware : zones.kernel;
      if (m.type == markers::MarkerType::zone_start && zone.begin == kNone) zone.begin = i;
      if (m.type == markers::MarkerType::zone_end) zone.end = i;
    }
    return zones;
  }
};

}  // namespace ttc::tools

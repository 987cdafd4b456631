// A marker as firmware emitted it or as a reader got it.
#pragma once
#include <compare>
#include <cstdint>
#include <sstream>
#include <string>

namespace ttc::sim {

struct SimMarker {
  uint64_t time;
  uint32_t risc, type, id, host_id;
  uint64_t data[2];
  auto operator<=>(const SimMarker&) const = default;
};

inline std::string text(const SimMarker& m) {
  std::ostringstream out;
  out << "RISC " << m.risc << " type " << m.type << " id " << std::hex << m.id << std::dec << " of launch "
      << m.host_id << " at " << m.time;
  return out.str();
}

}  // namespace ttc::sim

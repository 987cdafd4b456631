#include "tools/report/zones/lane_piece.hpp"

namespace ttc::report {

using markers::MarkerType;

bool LanePiece::add(const Event& e) {
  const bool start = e.type == MarkerType::zone_start, stop = e.type == MarkerType::zone_end;
  switch (e.zone_class) {
    case ZoneClass::firmware:
      if (start && firmware_starts > 0) return false;
      has_firmware = true;
      firmware_starts += start;
      if (start) firmware.begin = std::min(firmware.begin, e.time);
      if (stop) firmware.end = std::max(firmware.end, e.time);
      break;
    case ZoneClass::kernel:
      if (start) {
        kernel.begin = std::min(kernel.begin, e.time);
        starts.add({e.time, e.time});
        ++start_count;
      }
      if (stop) kernel.end = std::max(kernel.end, e.time);
      if (start || stop) seen.add({e.time, e.time});
      break;
    case ZoneClass::wait_front:
      if (e.type == MarkerType::zone_total) wait_front += e.data;
      return true;
    case ZoneClass::reserve_back:
      if (e.type == MarkerType::zone_total) reserve_back += e.data;
      return true;
    default:
      return true;
  }
  span.add({e.time, e.time});
  return true;
}

void add_pieces(std::span<const Event> events, std::vector<LanePiece>& pieces) {
  LanePiece piece;
  for (const Event& e : events) {
    if (piece.add(e)) continue;
    pieces.push_back(piece);
    piece = {};
    piece.add(e);
  }
  if (!piece.empty() || piece.wait_front || piece.reserve_back) pieces.push_back(piece);
}

}  // namespace ttc::report

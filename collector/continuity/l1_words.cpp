#include "collector/continuity/l1_words.hpp"

#include "firmware_markers/frame.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

bool is_short(uint32_t high) {
  return markers::is_marker(high) && !markers::is_blank(high) &&
         markers::packet_words(markers::packet_type(high)) == 2;
}

}  // namespace

bool later(uint64_t a, uint64_t b) {
  return markers::clock_difference(a, b) > 0;
}

bool begins_with_marker(std::span<const uint32_t> buffer) {
  return buffer.size() > kFirstMarker + 1 && is_short(buffer[kFirstMarker]);
}

uint64_t first_marker_time(std::span<const uint32_t> buffer) {
  return markers::marker_time(buffer[kFirstMarker], buffer[kFirstMarker + 1]);
}

bool same_first_marker(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  return a.size() > kFirstMarker && b.size() > kFirstMarker && a[kFirstMarker] == b[kFirstMarker] &&
         a[kFirstMarker + 1] == b[kFirstMarker + 1];
}

uint64_t last_marker_time(std::span<const uint32_t> buffer) {
  using namespace markers;
  uint64_t last = marker_time(buffer[device::kFwStartWord], buffer[device::kFwStartWord + 1]);
  const auto take = [&](const Packet& p) {
    if (p.timed() && (last == 0 || is_blank(buffer[device::kFwStartWord]) || later(p.time(), last)))
      last = p.time();
    return Walking::on;
  };
  for (const size_t slot : {device::kFwEndWord, device::kKernelStartWord, device::kKernelEndWord})
    if (const Packet p = packet_at(buffer, slot); p.words != 0) take(p);
  for_each_packet(buffer, kFirstMarker, take);
  return last;
}

std::span<const uint32_t> ascending(std::span<const uint32_t> buffer, uint64_t latest) {
  uint64_t last = first_marker_time(buffer);
  size_t end = kFirstMarker + 2;
  for (; end + 2 <= buffer.size() && markers::is_marker(buffer[end]); end += 2) {
    if (markers::is_blank(buffer[end])) continue;
    const uint64_t time = markers::marker_time(buffer[end], buffer[end + 1]);
    if (!is_short(buffer[end]) || !later(time, last) || later(time, latest)) break;
    last = time;
  }
  return buffer.first(end);
}

}  // namespace ttc::collect

// What tt-metal records as data under fixed ids: NoC transactions (TS_DATA 12345) and performance counters
// (TS_DATA_16B 9090). Packers of the words, and helpers that record them the way the firmware does: when the
// buffer is full, what it holds is pushed first. Freestanding: <stdint.h> only.
//
// Source: tt-metal event_metadata.hpp@0142846f, perf_counters.hpp@00d3c16b. The numbers of
// the events grew over time: these are of 2026.
#pragma once
#include <stdint.h>

namespace ttc::device {

inline constexpr uint32_t kNocEventId = 12345;
inline constexpr uint32_t kNocDebugId = 23456;
inline constexpr uint32_t kPerfCounterId = 9090;

enum NocEvent : uint8_t {
  kNocRead = 1,
  kNocReadBarrierStart = 6,
  kNocReadBarrierEnd = 7,
  kNocWrite = 11,
  kNocWriteMulticast = 15,
  kNocWriteBarrierStart = 20,
  kNocWriteBarrierEnd = 21,
  kNocFullBarrier = 25,
  kNocAtomicBarrier = 26,
  kFabricUnicastWrite = 33,
  kFabricUnicastScatterWrite = 39,
  kFabricRouting1D = 40,
  kFabricRouting2D = 41,
};

enum FabricRouting : uint8_t {
  kFabricRegular = 0,
  kFabricLowLatency = 1,
  kFabricLowLatencyMesh = 2,
  kFabricDynamicMesh = 3,
};

// A tile, or the corner of a multicast rectangle. -1, -1: none.
struct NocTile {
  int8_t x = -1;
  int8_t y = -1;
};

namespace detail {
constexpr uint64_t byte_at(unsigned index, uint32_t value) {
  return uint64_t{value & 0xffu} << (8 * index);
}
constexpr uint64_t tiles(NocTile from, NocTile to) {
  return byte_at(1, static_cast<uint8_t>(from.x)) | byte_at(2, static_cast<uint8_t>(from.y)) |
         byte_at(3, static_cast<uint8_t>(to.x)) | byte_at(4, static_cast<uint8_t>(to.y));
}
constexpr uint32_t nibbles(uint32_t low, uint32_t high) {
  return (low & 15u) | (high & 15u) << 4;
}
}  // namespace detail

// `noc` 0 or 1. `vc` -1: not known. Bytes are kept in units of 32 and end at 8160.
constexpr uint64_t local_noc_event(uint8_t type, NocTile to, uint32_t bytes, uint32_t noc, int vc = -1,
                                   bool posted = false, NocTile multicast_end = {}) {
  const uint32_t chunks = bytes / 32 + (bytes % 32 != 0);
  return type | detail::tiles(to, multicast_end) |
         detail::byte_at(5, detail::nibbles(noc + 1, static_cast<uint32_t>(vc))) |
         detail::byte_at(6, chunks < 255 ? chunks : 255) | detail::byte_at(7, posted);
}

// A fabric send is recorded as this event, then the routing fields, then the local write to the router's core.
// `reach`: range and direction of a multicast, otherwise its other corner.
constexpr uint64_t fabric_noc_event(uint8_t type, NocTile to, uint32_t noc, FabricRouting routing,
                                    NocTile reach = {}) {
  return type | detail::tiles(to, reach) | detail::byte_at(5, detail::nibbles(noc + 1, routing));
}
// One for each chunk of a scatter write.
constexpr uint64_t fabric_scatter_event(NocTile to, uint16_t chunk_bytes, uint8_t chunks, uint32_t noc,
                                        FabricRouting routing) {
  return kFabricUnicastScatterWrite | detail::byte_at(1, static_cast<uint8_t>(to.x)) |
         detail::byte_at(2, static_cast<uint8_t>(to.y)) | uint64_t{chunk_bytes} << 32 |
         detail::byte_at(6, chunks) | detail::byte_at(7, detail::nibbles(noc + 1, routing));
}
constexpr uint64_t fabric_routing_1d(uint32_t fields) {
  return kFabricRouting1D | uint64_t{fields} << 8;
}
constexpr uint64_t fabric_routing_2d(uint8_t ns_hops, uint8_t east_hops, uint8_t west_hops, bool multicast) {
  return kFabricRouting2D | detail::byte_at(1, ns_hops) | detail::byte_at(2, east_hops) |
         detail::byte_at(3, west_hops) | detail::byte_at(4, multicast);
}

// The second half of a TS_DATA_16B in NoC debugging: L1 addresses below 16 MiB and the NIU's 12-bit counter.
constexpr uint64_t noc_debug_trailer(uint32_t to_address, uint32_t from_address, uint32_t counter) {
  return (to_address >> 2 & 0x3fffffu) | uint64_t{to_address & 3u} << 22 |
         uint64_t{from_address >> 2 & 0x3fffffu} << 26 | uint64_t{from_address & 3u} << 48 |
         uint64_t{counter & 0xfffu} << 52;
}

// False: there was no room, and this RISC cannot push (a TRISC) or its push was refused.
template <class P>
bool record_noc_event(P& profiler, uint64_t event, uint32_t quick_push_zone) {
  if (!profiler.data_fits()) profiler.quick_push(quick_push_zone);
  return profiler.data(kNocEventId, event);
}

// Works from G3 on. Utilisation = value / reference.
template <class P>
bool record_perf_counter(P& profiler, uint8_t counter, uint32_t value, uint32_t reference,
                         uint32_t quick_push_zone) {
  if (!profiler.data16_fits()) profiler.quick_push(quick_push_zone);
  return profiler.data16(kPerfCounterId, uint64_t{reference} << 32 | value, counter);
}

}  // namespace ttc::device

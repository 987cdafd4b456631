// NoC events: what a kernel's data movement calls record while NoC tracing is on.
//
// A TS_DATA marker of id 12345 carries one event in its 64 bits. With NoC debugging on it is a TS_DATA_16B
// instead, whose second word holds addresses and a counter. Bytes b0..b7 are those of the little-endian word.
//
//             since Dec 2025 (type in b0)                         May, Jun 2025 (type in b6)
//   local     b1 x  b2 y  b3 end x  b4 end y  b5 noc, vc          b0 x  b1 y  b2 end x  b3 end y
//             b6 bytes/32  b7 bit 0 posted                        b4 noc, vc  b5 bytes/32
//   fabric    b1 x  b2 y  b3 end x  b4 end y  b5 noc, routing     b0 x  b1 y  b2 end x  b3 end y  b4 routing
//   scatter   b1 x  b2 y  b4,b5 bytes  b6 chunks  b7 noc, routing -
//   1D        b1..b4 routing field                                b0..b3 routing field
//   2D        b1 north/south  b2 east  b3 west  b4 multicast      -
//
// Two nibbles of a byte are listed low one first. What was written between these dates is not in any table.
//
// Source: tt-metal tt_metal/tools/profiler/event_metadata.hpp@776fa00d, @0142846f; for 2025 the same path in
// the forks wusatosi/tt-metal@0d93da62 and fabracht/tt-metal@a46e9912.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "firmware_markers/metal_date.hpp"

namespace ttc::markers {

inline constexpr uint16_t kNocTraceId = 12345;
inline constexpr uint16_t kNocDebugId = 23456;

enum class NocEventKind : uint8_t { local, fabric, fabric_scatter, routing_1d, routing_2d };
enum class FabricRouting : uint8_t { regular = 0, low_latency = 1, low_latency_mesh = 2, dynamic_mesh = 3 };

struct NocEvent {
  NocEventKind kind = NocEventKind::local;
  uint8_t type = 0;  // as on the card; NocEventTable::name() has its name

  // local, fabric, fabric_scatter
  int8_t dst_x = -1, dst_y = -1;  // as the core addressed it, not NOC0 physical; -1,-1: no destination
  int8_t end_x = -1, end_y = -1;  // other corner of a multicast; fabric: range or index, direction or count
  uint8_t noc = 0;                // 1 NOC_0, 2 NOC_1, 0 not known
  uint32_t bytes = 0;             // local: rounded up to 32, at most 8160; scatter: of one chunk

  int8_t vc = 0;        // local: virtual channel, -1 for dynamic
  bool posted = false;  // local, since Jan 2026

  FabricRouting routing =
      FabricRouting::regular;  // fabric, fabric_scatter: kind of the routing event after it
  uint8_t chunks = 0;          // fabric_scatter

  uint32_t routing_field = 0;                   // routing_1d
  uint8_t ns_hops = 0, e_hops = 0, w_hops = 0;  // routing_2d
  bool multicast = false;                       // routing_2d
};

// Numbers and layout of one period.
struct NocEventTable {
  MetalDate first, last;  // months in which it holds
  bool type_first;        // type in b0, else in b6
  std::span<const std::string_view> names;
  uint8_t first_fabric, scatter, routing_1d, routing_2d;  // 0: there is none

  // The name as JSON traces have it; empty for a number that the table does not have.
  std::string_view name(uint8_t type) const { return type < names.size() ? names[type] : std::string_view(); }
  NocEventKind kind(uint8_t type) const;
};

// Null when no table of that month was ever read.
const NocEventTable* noc_event_table(MetalDate date);

NocEvent unpack_noc_event(uint64_t data, const NocEventTable& table);

// Second word of a 16-byte event: [21:0] destination >> 2, [23:22] its low bits, [47:26] source >> 2, [49:48]
// its low bits, [63:52] a counter of the NoC at that moment. Offsets in L1 or in a bank.
struct NocDebug {
  uint32_t dst_addr = 0, src_addr = 0;
  uint16_t status_counter = 0;
};
NocDebug unpack_noc_debug(uint64_t second);

}  // namespace ttc::markers

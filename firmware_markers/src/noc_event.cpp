#include "firmware_markers/noc_event.hpp"

namespace ttc::markers {
namespace {

constexpr std::string_view kJune2025[] = {"",
                                          "READ",
                                          "READ_SET_STATE",
                                          "READ_SET_TRID",
                                          "READ_WITH_STATE",
                                          "READ_WITH_STATE_AND_TRID",
                                          "READ_BARRIER_START",
                                          "READ_BARRIER_END",
                                          "READ_BARRIER_WITH_TRID",
                                          "READ_DRAM_SHARDED_SET_STATE",
                                          "READ_DRAM_SHARDED_WITH_STATE",
                                          "WRITE_",
                                          "WRITE_WITH_TRID",
                                          "WRITE_INLINE",
                                          "WRITE_MULTICAST",
                                          "WRITE_SET_STATE",
                                          "WRITE_WITH_STATE",
                                          "WRITE_WITH_TRID_SET_STATE",
                                          "WRITE_WITH_TRID_WITH_STATE",
                                          "WRITE_BARRIER_START",
                                          "WRITE_BARRIER_END",
                                          "WRITE_BARRIER_WITH_TRID",
                                          "WRITE_FLUSH",
                                          "FULL_BARRIER",
                                          "ATOMIC_BARRIER",
                                          "SEMAPHORE_INC",
                                          "SEMAPHORE_WAIT",
                                          "SEMAPHORE_SET",
                                          "FABRIC_UNICAST_WRITE",
                                          "FABRIC_UNICAST_INLINE_WRITE",
                                          "FABRIC_UNICAST_ATOMIC_INC",
                                          "FABRIC_FUSED_UNICAST_ATOMIC_INC",
                                          "FABRIC_MULTICAST_WRITE",
                                          "FABRIC_MULTICAST_ATOMIC_INC",
                                          "FABRIC_ROUTING_FIELDS"};
constexpr std::string_view kDecember2025[] = {"",
                                              "READ",
                                              "READ_SET_STATE",
                                              "READ_SET_TRID",
                                              "READ_WITH_STATE",
                                              "READ_WITH_STATE_AND_TRID",
                                              "READ_BARRIER_START",
                                              "READ_BARRIER_END",
                                              "READ_BARRIER_WITH_TRID",
                                              "READ_DRAM_SHARDED_SET_STATE",
                                              "READ_DRAM_SHARDED_WITH_STATE",
                                              "WRITE_",
                                              "WRITE_SET_TRID",
                                              "WRITE_WITH_TRID",
                                              "WRITE_INLINE",
                                              "WRITE_MULTICAST",
                                              "WRITE_SET_STATE",
                                              "WRITE_WITH_STATE",
                                              "WRITE_WITH_TRID_SET_STATE",
                                              "WRITE_WITH_TRID_WITH_STATE",
                                              "WRITE_BARRIER_START",
                                              "WRITE_BARRIER_END",
                                              "WRITE_BARRIER_WITH_TRID",
                                              "WRITE_FLUSH",
                                              "WRITE_FLUSH_WITH_TRID",
                                              "FULL_BARRIER",
                                              "ATOMIC_BARRIER",
                                              "SEMAPHORE_INC",
                                              "SEMAPHORE_WAIT",
                                              "SEMAPHORE_SET",
                                              "FABRIC_UNICAST_WRITE",
                                              "FABRIC_UNICAST_INLINE_WRITE",
                                              "FABRIC_UNICAST_ATOMIC_INC",
                                              "FABRIC_FUSED_UNICAST_ATOMIC_INC",
                                              "FABRIC_MULTICAST_WRITE",
                                              "FABRIC_MULTICAST_ATOMIC_INC",
                                              "FABRIC_UNICAST_SCATTER_WRITE",
                                              "FABRIC_ROUTING_FIELDS_1D",
                                              "FABRIC_ROUTING_FIELDS_2D"};
constexpr std::string_view kFebruary2026[] = {"",
                                              "READ",
                                              "READ_SET_STATE",
                                              "READ_SET_TRID",
                                              "READ_WITH_STATE",
                                              "READ_WITH_STATE_AND_TRID",
                                              "READ_BARRIER_START",
                                              "READ_BARRIER_END",
                                              "READ_BARRIER_WITH_TRID",
                                              "READ_DRAM_SHARDED_SET_STATE",
                                              "READ_DRAM_SHARDED_WITH_STATE",
                                              "WRITE_",
                                              "WRITE_SET_TRID",
                                              "WRITE_WITH_TRID",
                                              "WRITE_INLINE",
                                              "WRITE_MULTICAST",
                                              "WRITE_SET_STATE",
                                              "WRITE_WITH_STATE",
                                              "WRITE_WITH_TRID_SET_STATE",
                                              "WRITE_WITH_TRID_WITH_STATE",
                                              "WRITE_BARRIER_START",
                                              "WRITE_BARRIER_END",
                                              "WRITE_BARRIER_WITH_TRID",
                                              "WRITE_FLUSH",
                                              "WRITE_FLUSH_WITH_TRID",
                                              "FULL_BARRIER",
                                              "ATOMIC_BARRIER",
                                              "SEMAPHORE_INC",
                                              "SEMAPHORE_WAIT",
                                              "SEMAPHORE_SET",
                                              "SEMAPHORE_SET_REMOTE",
                                              "SEMAPHORE_SET_MULTICAST",
                                              "SEMAPHORE_INC_MULTICAST",
                                              "FABRIC_UNICAST_WRITE",
                                              "FABRIC_UNICAST_INLINE_WRITE",
                                              "FABRIC_UNICAST_ATOMIC_INC",
                                              "FABRIC_FUSED_UNICAST_ATOMIC_INC",
                                              "FABRIC_MULTICAST_WRITE",
                                              "FABRIC_MULTICAST_ATOMIC_INC",
                                              "FABRIC_UNICAST_SCATTER_WRITE",
                                              "FABRIC_ROUTING_FIELDS_1D",
                                              "FABRIC_ROUTING_FIELDS_2D"};

constexpr size_t kBeforeFabric = 28;  // of June 2025: all there was in May

constexpr NocEventTable kTables[] = {
    {{2025, 5}, {2025, 5}, false, std::span(kJune2025).first(kBeforeFabric), 0, 0, 0, 0},
    {{2025, 6}, {2025, 6}, false, kJune2025, 28, 0, 34, 0},
    {{2025, 12}, {2026, 1}, true, kDecember2025, 30, 36, 37, 38},
    {{2026, 2}, {9999, 12}, true, kFebruary2026, 33, 39, 40, 41},
};

constexpr uint32_t kChunkBytes = 32;  // sizes of local events are counted in these

uint8_t byte(uint64_t data, unsigned at) {
  return static_cast<uint8_t>(data >> 8 * at);
}
int8_t coordinate(uint64_t data, unsigned at) {
  return static_cast<int8_t>(byte(data, at));
}
// Low nibble: the NoC. High nibble: routing of a fabric event, signed virtual channel of a local one.
uint8_t low_nibble(uint8_t b) {
  return b & 0xf;
}
FabricRouting routing(uint8_t number) {
  return static_cast<FabricRouting>(number & 3);
}

void unpack_destination(uint64_t body, NocEvent& event) {
  event.dst_x = coordinate(body, 0);
  event.dst_y = coordinate(body, 1);
  event.end_x = coordinate(body, 2);
  event.end_y = coordinate(body, 3);
}

void unpack_local(uint64_t body, NocEvent& event) {
  unpack_destination(body, event);
  event.noc = low_nibble(byte(body, 4));
  event.vc = static_cast<int8_t>(static_cast<int8_t>(byte(body, 4)) >> 4);
  event.bytes = byte(body, 5) * kChunkBytes;
}

void unpack_scatter(uint64_t body, NocEvent& event) {
  event.dst_x = coordinate(body, 0);
  event.dst_y = coordinate(body, 1);
  event.bytes = static_cast<uint32_t>(byte(body, 3) | byte(body, 4) << 8);
  event.chunks = byte(body, 5);
  event.noc = low_nibble(byte(body, 6));
  event.routing = routing(byte(body, 6) >> 4);
}

void unpack_routing_2d(uint64_t body, NocEvent& event) {
  event.ns_hops = byte(body, 0);
  event.e_hops = byte(body, 1);
  event.w_hops = byte(body, 2);
  event.multicast = byte(body, 3) != 0;
}

}  // namespace

NocEventKind NocEventTable::kind(uint8_t type) const {
  if (type == 0) return NocEventKind::local;
  if (type == scatter) return NocEventKind::fabric_scatter;
  if (type == routing_1d) return NocEventKind::routing_1d;
  if (type == routing_2d) return NocEventKind::routing_2d;
  const bool fabric = first_fabric && type >= first_fabric && type < names.size();
  return fabric ? NocEventKind::fabric : NocEventKind::local;
}

const NocEventTable* noc_event_table(MetalDate date) {
  for (const NocEventTable& table : kTables)
    if (table.first <= date && date <= table.last) return &table;
  return nullptr;
}

// The body behind the type, or in front of it, has the same order in both layouts; a fabric event's NoC and
// everything in b7 came with the type-first one.
NocEvent unpack_noc_event(uint64_t data, const NocEventTable& table) {
  const uint64_t body = table.type_first ? data >> 8 : data;
  NocEvent event;
  event.type = byte(data, table.type_first ? 0 : 6);
  event.kind = table.kind(event.type);
  switch (event.kind) {
    case NocEventKind::local:
      unpack_local(body, event);
      event.posted = table.type_first && (byte(body, 6) & 1);
      break;
    case NocEventKind::fabric:
      unpack_destination(body, event);
      event.noc = table.type_first ? low_nibble(byte(body, 4)) : 0;
      event.routing = routing(table.type_first ? byte(body, 4) >> 4 : byte(body, 4));
      break;
    case NocEventKind::fabric_scatter:
      unpack_scatter(body, event);
      break;
    case NocEventKind::routing_1d:
      event.routing_field = static_cast<uint32_t>(body);
      break;
    case NocEventKind::routing_2d:
      unpack_routing_2d(body, event);
      break;
  }
  return event;
}

NocDebug unpack_noc_debug(uint64_t second) {
  const auto address = [second](unsigned shift) {
    return static_cast<uint32_t>((second >> shift & 0x3fffff) << 2 | (second >> (shift + 22) & 3));
  };
  return {address(0), address(26), static_cast<uint16_t>(second >> 52)};
}

}  // namespace ttc::markers

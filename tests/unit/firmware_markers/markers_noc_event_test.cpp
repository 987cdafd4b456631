// NoC event payloads, byte by byte, as the tables of noc_event.hpp draw them.
#include <gtest/gtest.h>

#include <array>

#include "firmware_markers/noc_event.hpp"

namespace ttc::markers {
namespace {

constexpr MetalDate kMay2025{2025, 5}, kJune2025{2025, 6}, kJanuary2026{2026, 1}, kMarch2026{2026, 3};

uint64_t word(const std::array<uint8_t, 8>& bytes) {
  uint64_t w = 0;
  for (unsigned i = 0; i < 8; ++i) w |= uint64_t{bytes[i]} << 8 * i;
  return w;
}

NocEvent unpack(const std::array<uint8_t, 8>& bytes, MetalDate date) {
  return unpack_noc_event(word(bytes), *noc_event_table(date));
}

TEST(NocEvent, local_multicast) {
  // WRITE_MULTICAST to (1,2)..(7,8), NoC 1, channel 4, 3 * 32 bytes, posted
  const NocEvent e = unpack({15, 1, 2, 7, 8, 0x42, 3, 1}, kMarch2026);
  EXPECT_EQ(e.kind, NocEventKind::local);
  EXPECT_EQ(noc_event_table(kMarch2026)->name(e.type), "WRITE_MULTICAST");
  EXPECT_EQ(e.dst_x, 1);
  EXPECT_EQ(e.dst_y, 2);
  EXPECT_EQ(e.end_x, 7);
  EXPECT_EQ(e.end_y, 8);
  EXPECT_EQ(e.noc, 2);
  EXPECT_EQ(e.vc, 4);
  EXPECT_EQ(e.bytes, 96u);
  EXPECT_TRUE(e.posted);
}

TEST(NocEvent, no_destination_negative_channel_and_saturated_size) {
  const NocEvent e = unpack({20, 0xff, 0xff, 0xff, 0xff, 0xf1, 0xff, 0xfe}, kMarch2026);
  EXPECT_EQ(e.dst_x, -1);
  EXPECT_EQ(e.dst_y, -1);
  EXPECT_EQ(e.noc, 1);
  EXPECT_EQ(e.vc, -1);
  EXPECT_EQ(e.bytes, 8160u);
  EXPECT_FALSE(e.posted) << "bit 0 alone";
}

TEST(NocEvent, fabric) {
  const NocEvent e = unpack({33, 18, 21, 3, 1, 0x12, 0xaa, 0xbb}, kMarch2026);
  EXPECT_EQ(e.kind, NocEventKind::fabric);
  EXPECT_EQ(e.dst_x, 18);
  EXPECT_EQ(e.dst_y, 21);
  EXPECT_EQ(e.end_x, 3);
  EXPECT_EQ(e.end_y, 1);
  EXPECT_EQ(e.noc, 2);
  EXPECT_EQ(e.routing, FabricRouting::low_latency);
}

TEST(NocEvent, fabric_scatter) {
  const NocEvent e = unpack({39, 18, 21, 0xee, 0x00, 0x08, 2, 0x21}, kMarch2026);
  EXPECT_EQ(e.kind, NocEventKind::fabric_scatter);
  EXPECT_EQ(e.bytes, 2048u);
  EXPECT_EQ(e.chunks, 2);
  EXPECT_EQ(e.noc, 1);
  EXPECT_EQ(e.routing, FabricRouting::low_latency_mesh);
}

TEST(NocEvent, routing_fields) {
  const NocEvent one = unpack({40, 0x78, 0x56, 0x34, 0x12, 0xff, 0xff, 0xff}, kMarch2026);
  EXPECT_EQ(one.kind, NocEventKind::routing_1d);
  EXPECT_EQ(one.routing_field, 0x12345678u);
  const NocEvent two = unpack({41, 3, 2, 1, 1, 0xff, 0xff, 0xff}, kMarch2026);
  EXPECT_EQ(two.kind, NocEventKind::routing_2d);
  EXPECT_EQ(two.ns_hops, 3);
  EXPECT_EQ(two.e_hops, 2);
  EXPECT_EQ(two.w_hops, 1);
  EXPECT_TRUE(two.multicast);
}

TEST(NocEvent, the_layout_of_2025_has_the_type_behind_the_coordinates) {
  const NocEvent e = unpack({1, 2, 7, 8, 0x31, 5, 14, 0}, kJune2025);
  EXPECT_EQ(e.kind, NocEventKind::local);
  EXPECT_EQ(noc_event_table(kJune2025)->name(e.type), "WRITE_MULTICAST");
  EXPECT_EQ(e.dst_x, 1);
  EXPECT_EQ(e.end_y, 8);
  EXPECT_EQ(e.noc, 1);
  EXPECT_EQ(e.vc, 3);
  EXPECT_EQ(e.bytes, 160u);
  EXPECT_FALSE(e.posted);
  const NocEvent fabric = unpack({18, 21, 3, 1, 1, 0, 28, 0}, kJune2025);
  EXPECT_EQ(fabric.kind, NocEventKind::fabric);
  EXPECT_EQ(fabric.routing, FabricRouting::low_latency);
  EXPECT_EQ(fabric.noc, 0) << "not known then";
  const NocEvent routing = unpack({0x78, 0x56, 0x34, 0x12, 0, 0, 34, 0}, kJune2025);
  EXPECT_EQ(routing.kind, NocEventKind::routing_1d);
  EXPECT_EQ(routing.routing_field, 0x12345678u);
}

TEST(NocEvent, the_same_number_means_what_its_month_says) {
  EXPECT_EQ(noc_event_table(kMay2025)->name(14), "WRITE_MULTICAST");
  EXPECT_EQ(noc_event_table(kMarch2026)->name(14), "WRITE_INLINE");
  EXPECT_EQ(noc_event_table(kJanuary2026)->name(30), "FABRIC_UNICAST_WRITE");
  EXPECT_EQ(noc_event_table(kMarch2026)->name(30), "SEMAPHORE_SET_REMOTE");
  EXPECT_EQ(noc_event_table(kJanuary2026)->kind(36), NocEventKind::fabric_scatter);
  EXPECT_EQ(noc_event_table(kMarch2026)->kind(36), NocEventKind::fabric);
  EXPECT_EQ(noc_event_table(kJanuary2026)->kind(29), NocEventKind::local);
}

TEST(NocEvent, what_no_table_has_stays_a_number) {
  EXPECT_EQ(noc_event_table({2025, 9}), nullptr) << "between the tables that were read";
  EXPECT_EQ(noc_event_table({2024, 12}), nullptr);
  const NocEventTable& table = *noc_event_table(kMarch2026);
  for (const uint8_t unknown : std::initializer_list<uint8_t>{0, 42, 255}) {
    EXPECT_EQ(table.name(unknown), "") << int{unknown};
    const NocEvent e = unpack({unknown, 1, 2, 0, 0, 1, 1, 0}, kMarch2026);
    EXPECT_EQ(e.type, unknown);
    EXPECT_EQ(e.kind, NocEventKind::local);
  }
}

TEST(NocEvent, debug_word) {
  // destination 0x1fffd: 0x7fff in units of 4 and 1; source 0x2: 0 and 2; counter 0xabc
  const NocDebug d = unpack_noc_debug(uint64_t{0xabc} << 52 | uint64_t{2} << 48 | uint64_t{0} << 26 |
                                      uint64_t{1} << 22 | 0x7fff);
  EXPECT_EQ(d.dst_addr, 0x1fffdu);
  EXPECT_EQ(d.src_addr, 2u);
  EXPECT_EQ(d.status_counter, 0xabc);
  const NocDebug all = unpack_noc_debug(~uint64_t{0});
  EXPECT_EQ(all.dst_addr, 0xffffffu);
  EXPECT_EQ(all.src_addr, 0xffffffu);
  EXPECT_EQ(all.status_counter, 0xfff);
}

}  // namespace
}  // namespace ttc::markers

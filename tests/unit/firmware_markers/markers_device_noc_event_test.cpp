// The device header's NoC events and hardware counters: their bytes, and room for them.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "firmware_markers/device/noc_event.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/noc_event.hpp"
#include "tests/unit/firmware_markers/markers_device_fixture.hpp"

namespace ttc::device {
namespace {

TEST(DeviceNocEvent, bytes_lie_where_tt_metal_has_them) {
  EXPECT_EQ(local_noc_event(kNocWrite, {18, 21}, 2048, 0, 1, true), 0x01'40'11'ff'ff'15'12'0bu);
  EXPECT_EQ(local_noc_event(kNocRead, {}, 33, 1, -1), 0x00'02'f2'ff'ff'ff'ff'01u)
      << "33 bytes are two chunks";
  EXPECT_EQ(local_noc_event(kNocWriteMulticast, {1, 2}, 1 << 20, 0, 4, false, {8, 9}),
            0x00'ff'41'09'08'02'01'0fu);
  EXPECT_EQ(fabric_noc_event(kFabricUnicastWrite, {3, 4}, 0, kFabricLowLatencyMesh),
            0x00'00'21'ff'ff'04'03'21u);
  EXPECT_EQ(fabric_scatter_event({3, 4}, 0x1234, 5, 1, kFabricDynamicMesh), 0x32'05'12'34'00'04'03'27u);
  EXPECT_EQ(fabric_routing_1d(0xcafe1234), 0x00'00'00'ca'fe'12'34'28u);
  EXPECT_EQ(fabric_routing_2d(1, 2, 3, true), 0x00'00'00'01'03'02'01'29u);
  EXPECT_EQ(noc_debug_trailer(0x12345, 0x6789a, 0xabc), uint64_t{0xabc} << 52 | uint64_t{2} << 48 |
                                                            uint64_t{0x6789a >> 2} << 26 | uint64_t{1} << 22 |
                                                            (0x12345 >> 2));
}

TEST(DeviceNocEvent, what_is_packed_here_is_unpacked_there) {
  const markers::NocEventTable& table = *markers::noc_event_table({2026, 6});
  const auto write = markers::unpack_noc_event(local_noc_event(kNocWrite, {18, 21}, 2047, 1, 3, true), table);
  EXPECT_EQ(table.name(write.type), "WRITE_");
  EXPECT_EQ(write.kind, markers::NocEventKind::local);
  EXPECT_EQ(std::tuple(write.dst_x, write.dst_y, write.end_x, write.end_y), std::tuple(18, 21, -1, -1));
  EXPECT_EQ(std::tuple(write.noc, write.bytes, write.vc, write.posted), std::tuple(2, 2048u, 3, true));
  const auto fabric = markers::unpack_noc_event(
      fabric_noc_event(kFabricUnicastWrite, {3, 4}, 0, kFabricLowLatencyMesh, {5, 6}), table);
  EXPECT_EQ(fabric.kind, markers::NocEventKind::fabric);
  EXPECT_EQ(fabric.routing, markers::FabricRouting::low_latency_mesh);
  EXPECT_EQ(std::tuple(fabric.dst_x, fabric.end_y, fabric.noc), std::tuple(3, 6, 1));
  const auto scatter =
      markers::unpack_noc_event(fabric_scatter_event({3, 4}, 4096, 5, 1, kFabricDynamicMesh), table);
  EXPECT_EQ(scatter.kind, markers::NocEventKind::fabric_scatter);
  EXPECT_EQ(std::tuple(scatter.bytes, scatter.chunks, scatter.noc), std::tuple(4096u, 5, 2));
  EXPECT_EQ(markers::unpack_noc_event(fabric_routing_1d(0xcafe1234), table).routing_field, 0xcafe1234u);
  const auto mesh = markers::unpack_noc_event(fabric_routing_2d(1, 2, 3, true), table);
  EXPECT_EQ(std::tuple(mesh.ns_hops, mesh.e_hops, mesh.w_hops, mesh.multicast), std::tuple(1, 2, 3, true));
  const markers::NocDebug debug = markers::unpack_noc_debug(noc_debug_trailer(0x12345, 0x6789a, 0xabc));
  EXPECT_EQ(std::tuple(debug.dst_addr, debug.src_addr, debug.status_counter),
            std::tuple(0x12345u, 0x6789au, 0xabc));
}

TEST(DeviceNocEvent, a_full_buffer_is_pushed_first) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  const uint64_t event = local_noc_event(kNocRead, {1, 2}, 64, 0);
  for (int i = 0; i < 125; ++i) EXPECT_TRUE(record_noc_event(brisc.profiler, event, kPush));
  EXPECT_EQ(m.words[kG4.host_end], 0u);
  EXPECT_TRUE(record_noc_event(brisc.profiler, event, kPush));
  EXPECT_EQ(m.words[kG4.host_end], 516u) << "with the push's own zone past the end, as the firmware has it";
  Profiler<Machine<kG4>, kG4> trisc(m, 3, kLogWords * 4);
  trisc.fw_start(kFw);
  for (int i = 0; i < 125; ++i) EXPECT_TRUE(record_noc_event(trisc, event, kPush));
  EXPECT_FALSE(record_noc_event(trisc, event, kPush)) << "a TRISC has no NoC to push through";
}

TEST(DeviceNocEvent, a_perf_counter_is_four_words_after_its_time) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  EXPECT_TRUE(record_perf_counter(brisc.profiler, 45, 700, 1000, kPush));
  EXPECT_EQ(packet_id(m.buffer(0, 12)), 9090u);
  EXPECT_EQ(m.buffer(0, 14), 1000u);
  EXPECT_EQ(m.buffer(0, 15), 700u);
  EXPECT_EQ(m.buffer(0, 16), 0u);
  EXPECT_EQ(m.buffer(0, 17), 45u);
}

}  // namespace
}  // namespace ttc::device

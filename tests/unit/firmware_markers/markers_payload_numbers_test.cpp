// Numbers in payloads that mean different things in different months: counters and dispatch commands.
#include <gtest/gtest.h>

#include "firmware_markers/dispatch_command.hpp"
#include "firmware_markers/metal_date.hpp"
#include "firmware_markers/perf_counter.hpp"

namespace ttc::markers {
namespace {

TEST(MetalDate, year_and_month_and_nothing_else) {
  EXPECT_EQ(parse_metal_date("2026-04"), (MetalDate{2026, 4}));
  EXPECT_EQ(parse_metal_date("2025-12"), (MetalDate{2025, 12}));
  for (const char* wrong : {"", "2026", "2026-4", "2026-00", "2026-13", "2026-04-01", "26-04", " 2026-04",
                            "2026/04", "20a6-04", "2026-+4", "-026-04"})
    EXPECT_FALSE(parse_metal_date(wrong)) << wrong;
  EXPECT_LT((MetalDate{2025, 12}), (MetalDate{2026, 1}));
}

TEST(PerfCounter, single_word_of_november_2025) {
  // type 2 in the upper 4 bits, 28 bits of reference
  const PerfCounter c = unpack_perf_counter(0x2'9abcdef'00001234, {2025, 11});
  EXPECT_EQ(c.type, 2);
  EXPECT_EQ(c.name, "FPU_COUNTER");
  EXPECT_EQ(c.reference_cycles, 0x9abcdefu);
  EXPECT_EQ(c.count, 0x1234u);
}

TEST(PerfCounter, single_word_of_april_2026) {
  // type 180 in the upper 8 bits, 24 bits of reference
  const PerfCounter c = unpack_perf_counter(0xb4'bcdef0'00001234, {2026, 4});
  EXPECT_EQ(c.type, 180);
  EXPECT_EQ(c.name, "ANY_THREAD_STALL");
  EXPECT_EQ(c.reference_cycles, 0xbcdef0u);
  EXPECT_EQ(c.count, 0x1234u);
  EXPECT_EQ(unpack_perf_counter(0x02'000001'00000000, {2026, 6}).name, "SFPU_COUNTER");
}

TEST(PerfCounter, two_words) {
  const PerfCounter c = unpack_wide_perf_counter(0x89abcdef'00001234, 0xffffff'2d);
  EXPECT_EQ(c.type, 45);
  EXPECT_EQ(c.name, "WAITING_FOR_SRCA_CLEAR");
  EXPECT_EQ(c.reference_cycles, 0x89abcdefu);
  EXPECT_EQ(c.count, 0x1234u);
}

// The ranges of tt-metal perf_counters.hpp, first and last of each.
TEST(PerfCounter, ranges) {
  const auto name = [](uint64_t type) { return unpack_wide_perf_counter(0, type).name; };
  EXPECT_EQ(name(3), "MATH_COUNTER");
  EXPECT_EQ(name(4), "MATH_SRC_DATA_READY");
  EXPECT_EQ(name(17), "MATH_INSTRN_HF_4_CYCLE");
  EXPECT_EQ(name(18), "PACKER_DEST_READ_AVAILABLE");
  EXPECT_EQ(name(20), "AVAILABLE_MATH");
  EXPECT_EQ(name(21), "CFG_INSTRN_AVAILABLE_0");
  EXPECT_EQ(name(41), "PACK_INSTRN_AVAILABLE_2");
  EXPECT_EQ(name(44), "THREAD_STALLS_2");
  EXPECT_EQ(name(75), "WAITING_FOR_SFPU_IDLE_2");
  EXPECT_EQ(name(91), "L1_1_NOC_RING1_INCOMING_1");
  EXPECT_EQ(name(93), "L1_1_RISC_CORE");
  EXPECT_EQ(name(109), "L1_1_NOC_RING1_INCOMING_1_GRANT");
  EXPECT_EQ(name(112), "THREAD_INSTRUCTIONS_2");
  EXPECT_EQ(name(120), "SRCB_WRITE_THREAD1");
  EXPECT_EQ(name(131), "MATH_NOT_STALLED_DEST_WR_PORT");
  EXPECT_EQ(name(147), "L1_4_MISC_PORT_7_GRANT");
  EXPECT_EQ(name(163), "L1_2_NOC_RING2_PORT_7_GRANT");
  EXPECT_EQ(name(179), "L1_3_NOC_RING3_PORT_7_GRANT");
}

TEST(PerfCounter, an_unknown_number_has_no_name) {
  for (const uint64_t type : {0, 181, 255}) EXPECT_EQ(unpack_wide_perf_counter(0, type).name, "") << type;
  EXPECT_EQ(unpack_perf_counter(0xf'0000000'00000000, {2025, 11}).name, "");
  EXPECT_EQ(unpack_perf_counter(0xf'0000000'00000000, {2025, 11}).type, 15);
}

TEST(DispatchCommand, names_and_numbers) {
  EXPECT_EQ(dispatch_command_name(14, {2025, 8}), "CQ_DISPATCH_CMD_SEND_GO_SIGNAL");
  EXPECT_EQ(dispatch_command_name(18, {2026, 1}), "18") << "this number had no meaning yet";
  EXPECT_EQ(dispatch_command_name(18, {2026, 2}), "CQ_DISPATCH_CMD_WRITE_PACKED_LARGE_UNICAST");
  EXPECT_EQ(dispatch_command_name(200, {2026, 9}), "200");
  EXPECT_EQ(packed_write_name(2 << 1 | 1), "MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH");
  EXPECT_EQ(packed_write_name(1 << 1), "CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_RTA");
  EXPECT_EQ(packed_write_name(9 << 1 | 1), "MCAST;9");
  EXPECT_EQ(packed_large_write_name(2), "CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES");
  EXPECT_EQ(packed_large_write_name(3), "3");
}

}  // namespace
}  // namespace ttc::markers

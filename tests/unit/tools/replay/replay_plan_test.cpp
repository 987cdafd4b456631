// What is played of a device log: the names that its rows need, their meta data, and the launches they belong to.
#include "tools/replay/replay_plan.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "firmware_markers/noc_event.hpp"
#include "firmware_markers/perf_counter.hpp"
#include "firmware_markers/zone_names.hpp"
#include "tools/replay/replay_meta.hpp"

namespace ttc::emulation {
namespace {

tools::DeviceLogRow named(uint16_t id, std::string_view name, std::string_view file, uint32_t source_line,
                          uint64_t line, markers::MarkerType type = markers::MarkerType::zone_start) {
  tools::DeviceLogRow r;
  r.id = id;
  r.zone_name = name;
  r.source_file = file;
  r.source_line = source_line;
  r.line = line;
  r.type = type;
  return r;
}

TEST(ReplayNames, a_name_that_hashes_to_its_id_comes_back_as_it_is) {
  ReplayNames names;
  EXPECT_FALSE(names.add(named(0x2F6D, "BRISC-FW", "fw/brisc.cc", 417, 3)));
  EXPECT_FALSE(names.add(named(12345, "", "", 0, 4, markers::MarkerType::ts_data)));
  const auto result = names.finish();
  EXPECT_EQ(result.zone_strings, std::vector<std::string>{"BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER"});
  EXPECT_EQ(result.other_file.rows + result.lost.rows + result.gained.rows, 0u);
}

TEST(ReplayNames, an_id_that_is_no_hash_keeps_name_and_line) {
  ReplayNames names;
  for (uint64_t line = 5; line < 8; ++line) names.add(named(1, "MAIN", "cut/../path.cc", 40, line));
  const auto result = names.finish();
  ASSERT_EQ(result.zone_strings.size(), 1u);
  EXPECT_EQ(markers::hash16(result.zone_strings[0]), 1);
  const auto source = markers::parse_zone_string(result.zone_strings[0]);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->name, "MAIN");
  EXPECT_EQ(source->line, 40u);
  EXPECT_TRUE(source->file.starts_with("cut/../path.cc#"));
  EXPECT_EQ(result.other_file.rows, 3u);
  EXPECT_EQ(result.other_file.first_line, 5u);
}

TEST(ReplayNames, a_comma_that_an_export_replaced_is_put_back) {
  const uint16_t id = markers::hash16("Z,/a,b.cc,7,KERNEL_PROFILER");
  ReplayNames names;
  names.add(named(id, "Z", "/a;b.cc", 7, 3));
  const auto result = names.finish();
  EXPECT_EQ(result.zone_strings, std::vector<std::string>{"Z,/a,b.cc,7,KERNEL_PROFILER"});
  EXPECT_EQ(result.other_file.rows + result.lost.rows, 0u);
}

TEST(ReplayNames, what_the_host_renamed_is_logged_under_its_own_name) {
  const uint16_t id = markers::hash16("CQ-DISPATCH,d.cc,9,KERNEL_PROFILER");
  ReplayNames names;
  EXPECT_TRUE(names.add(named(id, "CQ-DISPATCH:3:CMD_GO", "d.cc", 9, 3)));
  EXPECT_TRUE(names.add(named(id, "CQ-DISPATCH:4:CMD_GO", "d.cc", 9, 4)));
  const auto result = names.finish();
  EXPECT_EQ(result.zone_strings, std::vector<std::string>{"CQ-DISPATCH,d.cc,9,KERNEL_PROFILER"});
  EXPECT_EQ(result.lost.rows, 0u);
}

TEST(ReplayNames, of_two_names_of_one_id_the_true_one_stays) {
  ReplayNames names;
  names.add(named(0x2F6D, "IMPOSTOR", "x.cc", 1, 3));
  names.add(named(0x2F6D, "BRISC-FW", "fw/brisc.cc", 417, 4));
  names.add(named(0x2F6D, "", "", 0, 5));
  names.add(named(9, "EVENT-NAME", "x.cc", 1, 6, markers::MarkerType::ts_event));
  const auto result = names.finish();
  EXPECT_EQ(result.zone_strings, std::vector<std::string>{"BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER"});
  EXPECT_EQ(result.lost.rows, 2u);
  EXPECT_EQ(result.lost.first_line, 3u);
  EXPECT_EQ(result.gained.rows, 1u);
}

tools::DeviceLogRow with_meta(uint16_t id, markers::MarkerType type, std::string_view meta) {
  tools::DeviceLogRow r;
  r.id = id;
  r.type = type;
  r.meta = meta;
  return r;
}

TEST(ReplayMeta, the_second_half_of_16_byte_data_is_read_from_what_was_made_of_it) {
  const auto wide = markers::MarkerType::ts_data_16b;
  EXPECT_EQ(meta_of(with_meta(7, wide, "{\"data_2\":18446744073709551615}")).second_half, ~uint64_t{0});
  EXPECT_EQ(meta_of(with_meta(9090, wide, "{\"counter type\":255;\"ref cnt\":1;\"value\":2}")).second_half,
            255u);
  for (uint64_t type = 0; type < 256; ++type) {
    const auto counter = markers::unpack_wide_perf_counter(0, type);
    if (counter.name.empty()) continue;
    const std::string meta =
        "{\"counter type\":\"" + std::string(counter.name) + "\";\"ref cnt\":1;\"value\":2}";
    const auto half = meta_of(with_meta(9090, wide, meta)).second_half;
    ASSERT_TRUE(half);
    EXPECT_EQ(markers::unpack_wide_perf_counter(0, *half).name, counter.name);
  }
  const uint64_t second = 0xabcdef0123456789;
  const auto debug = markers::unpack_noc_debug(second);
  const std::string addresses = "{\"dst_addr\":" + std::to_string(debug.dst_addr) +
                                ";\"noc_status_counter\":" + std::to_string(debug.status_counter) +
                                ";\"posted\":1;\"src_addr\":" + std::to_string(debug.src_addr) + "}";
  const auto half = meta_of(with_meta(23456, wide, addresses)).second_half;
  ASSERT_TRUE(half);
  const auto back = markers::unpack_noc_debug(*half);
  EXPECT_EQ(back.dst_addr, debug.dst_addr);
  EXPECT_EQ(back.src_addr, debug.src_addr);
  EXPECT_EQ(back.status_counter, debug.status_counter);
  EXPECT_FALSE(meta_of(with_meta(7, wide, "{\"sub_device_id\":1}")).comes_back);
}

TEST(ReplayMeta, knows_what_comes_back_by_itself) {
  const auto data = markers::MarkerType::ts_data;
  EXPECT_TRUE(meta_of(with_meta(7, data, "")).comes_back);
  EXPECT_TRUE(meta_of(with_meta(7, data, "{\"workers_runtime_id\":7}")).comes_back);
  EXPECT_FALSE(meta_of(with_meta(7, data, "{\"workers_runtime_id\":7;\"sub_device_id\":1}")).comes_back);
  EXPECT_FALSE(meta_of(with_meta(7, data, "what?")).comes_back);
  EXPECT_FALSE(meta_of(with_meta(7, data, "[1]")).comes_back);
}

const std::string k15Head =
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\nPCIe slot, core_x, core_y, RISC "
    "processor "
    "type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, "
    "type, "
    "source line, source file, meta data\n";

// core, RISC, time, host id, name, type
std::string line(int x, const std::string& risc, uint64_t time, int host, const std::string& name,
                 const std::string& type, const std::string& meta = "", int chip = 0) {
  const uint16_t id = markers::hash16(name + ",/a.cc,1,KERNEL_PROFILER");
  return std::to_string(chip) + "," + std::to_string(x) + ",1," + risc + "," + std::to_string(id) + "," +
         std::to_string(time) + ",0," + std::to_string(host) + ",,," + name + "," + type + ",1,/a.cc," +
         meta + "\n";
}

ReplayPlan plan(const std::string& rows, std::optional<uint32_t> chip = {}) {
  std::istringstream in(k15Head + rows);
  return plan_replay(in, "test.csv", chip);
}
uint64_t left_out(const ReplayPlan& p, Unplayed why) {
  return p.account.unplayed[static_cast<size_t>(why)].rows;
}

std::string fw(int x, const std::string& risc, uint64_t from, uint64_t to, int host) {
  const std::string name = risc.substr(0, risc.find('_')) + "-FW";
  return line(x, risc, from, host, name, "ZONE_START") + line(x, risc, to, host, name, "ZONE_END");
}

TEST(ReplayPlan, the_riscs_of_a_launch_find_each_other_and_launches_come_by_their_end) {
  const auto p =
      plan(fw(1, "BRISC", 100, 200, 5) + fw(1, "BRISC", 300, 400, 5) + fw(1, "NCRISC", 110, 190, 5) +
           fw(1, "NCRISC", 310, 450, 5) + fw(2, "BRISC", 90, 250, 5) + fw(2, "TRISC_1", 95, 240, 5));
  ASSERT_EQ(p.launches.size(), 3u);
  EXPECT_EQ(p.launches[0].core.x, 1);
  EXPECT_EQ(p.launches[0].lanes.size(), 2u);
  EXPECT_EQ(p.launches[0].begin, 100u);
  EXPECT_EQ(p.launches[0].end, 200u);
  EXPECT_EQ(p.launches[1].core.x, 2);
  EXPECT_EQ(p.launches[2].begin, 300u);
  EXPECT_EQ(p.launches[2].end, 450u);
  EXPECT_TRUE(p.launches[2].finished());
  EXPECT_EQ(p.begin(), 90u);
  EXPECT_EQ(p.lanes(), 4u);
  EXPECT_EQ(p.account.unplayed_rows(), 0u);
}

TEST(ReplayPlan, a_launch_goes_on_in_a_later_dump) {
  const auto p = plan(line(1, "BRISC", 100, 0, "BRISC-FW", "ZONE_START") + fw(2, "BRISC", 90, 250, 5) +
                      line(1, "BRISC", 400, 0, "BRISC-FW", "ZONE_END"));
  ASSERT_EQ(p.launches.size(), 2u);
  EXPECT_TRUE(p.launches[1].finished());
  EXPECT_EQ(p.launches[1].end, 400u);
}

// tt-metal's rows of a dispatch zone: START carries the id and command of the launch it serves.
TEST(ReplayPlan, a_zone_the_host_renamed_stays_in_its_own_launch) {
  const uint16_t id = markers::hash16("CQ-DISPATCH,/a.cc,1,KERNEL_PROFILER");
  const std::string zone = "0,1,1,BRISC," + std::to_string(id) + ",";
  const auto p = plan(line(1, "BRISC", 100, 0, "BRISC-FW", "ZONE_START") + zone +
                      "110,0,2048,,,CQ-DISPATCH:2048:CMD,ZONE_START,1,/a.cc,\n" +
                      "0,1,1,BRISC,9,115,3,0,,,,TS_DATA,0,,{\"workers_runtime_id\":2048}\n" + zone +
                      "120,0,0,,,CQ-DISPATCH:2048:CMD,ZONE_END,1,/a.cc,\n" +
                      line(1, "BRISC", 200, 0, "BRISC-FW", "ZONE_END"));
  ASSERT_EQ(p.launches.size(), 1u);
  EXPECT_EQ(p.launches[0].rows, 5u);
  EXPECT_EQ(p.launches[0].host_id, 0u);
  EXPECT_EQ(p.account.not_carried[static_cast<size_t>(NotCarried::meta)].rows, 0u);
}

TEST(ReplayPlan, the_clock_may_come_round) {
  const uint64_t top = markers::kClockMask;
  const auto p = plan(fw(1, "BRISC", top - 100, top - 50, 1) + fw(1, "BRISC", top - 10, 20, 2) +
                      fw(1, "BRISC", 40, 50, 3));
  ASSERT_EQ(p.launches.size(), 3u);
  EXPECT_EQ(p.launches[1].end, top + 1 + 20);
  EXPECT_EQ(p.launches[2].begin, top + 1 + 40);
}

TEST(ReplayPlan, rows_no_device_could_hold_are_counted_by_reason) {
  const auto p = plan(fw(1, "BRISC", 100, 200, 5) + line(1, "BRISC", 100, 5, "A", "ZONE_START", "", 3) +
                      line(1, "TENSIX_RISC_AGG", 100, 5, "A", "ZONE_START") +
                      line(1, "BRISC", uint64_t{1} << 44, 5, "A", "ZONE_START") +
                      fw(1, "BRISC", 150, 160, 6) + "0,1,1,BRISC,0,77,0,5,,,,ZONE_START,0,,\n" +
                      "0,1,1,BRISC,9,100,4294967296,5,,,T,ZONE_TOTAL,1,/a.cc,\n" +
                      "0,1,1,NCRISC,12345,77,0,5,,,,TS_DATA,0,,\n");
  EXPECT_EQ(left_out(p, Unplayed::other_chip), 1u);
  EXPECT_EQ(left_out(p, Unplayed::aggregate), 1u);
  EXPECT_EQ(left_out(p, Unplayed::beyond_clock), 1u);
  EXPECT_EQ(left_out(p, Unplayed::overlapping), 2u);
  EXPECT_EQ(left_out(p, Unplayed::blank), 1u);
  EXPECT_EQ(left_out(p, Unplayed::too_large), 1u);
  EXPECT_EQ(left_out(p, Unplayed::no_launch), 1u);
  EXPECT_EQ(p.account.unplayed[static_cast<size_t>(Unplayed::aggregate)].first_line, 6u);
  ASSERT_EQ(p.launches.size(), 1u);
  EXPECT_EQ(p.launches[0].rows, 2u);
}

TEST(ReplayPlan, the_chip_can_be_chosen) {
  const std::string rows =
      line(1, "BRISC", 100, 5, "A", "ZONE_START", "", 3) + line(1, "BRISC", 200, 5, "B", "ZONE_START", "", 4);
  EXPECT_EQ(plan(rows).chip, 3u);
  EXPECT_EQ(plan(rows, 4).launches.at(0).begin, 200u);
}

TEST(ReplayPlan, columns_that_no_marker_carries_are_counted) {
  const auto p = plan(
      "0,1,1,BRISC,9,100,3,5,7,65536,,ZONE_START,0,,{\"sub_device_id\":1}\n"
      "0,1,1,BRISC,9,110,3,5,7,65536,,TS_DATA_16B,0,,{\"data_2\":18446744073709551615}\n"
      "0,1,1,BRISC,9,105,3,5,7,65536,,ZONE_TOTAL,0,,\n");
  const auto count = [&](NotCarried c) { return p.account.not_carried[static_cast<size_t>(c)].rows; };
  EXPECT_EQ(count(NotCarried::trace_id), 3u);
  EXPECT_EQ(count(NotCarried::trace_counter), 3u);
  EXPECT_EQ(count(NotCarried::meta), 1u);
  EXPECT_EQ(count(NotCarried::data_of_zone), 1u);
  EXPECT_EQ(count(NotCarried::time_of_total), 1u);
  EXPECT_EQ(p.account.unplayed_rows(), 0u);
  ASSERT_EQ(p.launches.size(), 1u);
  EXPECT_EQ(p.launches[0].lanes.at(0).frames.at(0).customs.at(5), ~0u);
}

TEST(ReplayPlan, launches_on_tiles_that_are_not_there_are_taken_out) {
  auto p = plan(fw(1, "BRISC", 100, 200, 5) + fw(2, "BRISC", 100, 200, 5) + fw(3, "BRISC", 100, 200, 5) +
                fw(4, "ERISC", 100, 200, 5) + fw(5, "ERISC", 100, 200, 5));
  EXPECT_TRUE(p.has_ethernet());
  using card::TileKind;
  const std::vector<card::Tile> tiles{{{2, 1}, TileKind::tensix, false},
                                      {{3, 1}, TileKind::tensix, true},
                                      {{4, 1}, TileKind::ethernet, false},
                                      {{5, 1}, TileKind::tensix, false}};
  p.drop_cores_not_in(tiles);
  ASSERT_EQ(p.launches.size(), 2u);
  EXPECT_EQ(p.launches[0].core.x, 2);
  EXPECT_EQ(p.launches[1].core.x, 4);
  EXPECT_EQ(p.launches[1].kind, TileKind::ethernet);
  EXPECT_EQ(left_out(p, Unplayed::absent_core), 6u);
  EXPECT_EQ(p.account.unplayed[static_cast<size_t>(Unplayed::absent_core)].first_line, 3u);
}

TEST(ReplayPlan, rows_of_tiles_the_file_does_not_use_are_the_ones_fused_off) {
  std::string rows;
  for (int y : {1, 2, 3, 4, 5, 7, 8, 9, 11})
    rows += "0,1," + std::to_string(y) + ",BRISC,9,100,0,5,,,,ZONE_START,0,,\n";
  EXPECT_EQ(unused_rows(plan(rows), *card::board_by_name("n150")), std::vector<uint8_t>{10});
  EXPECT_EQ(unused_rows(plan(fw(3, "BRISC", 1, 2, 1)), *card::board_by_name("p150")),
            (std::vector<uint8_t>{16, 15}));
}

TEST(ReplayPlan, a_log_without_launches_counts_them) {
  std::istringstream in(
      "Chip clock is at 1 GHz\nPCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since "
      "reset]\n"
      "0,1,1,BRISC,1,100\n0,1,1,BRISC,2,110\n0,1,1,BRISC,3,120\n0,1,1,BRISC,4,130\n0,1,1,BRISC,1,200\n0,1,1,"
      "BRISC,4,230\n"
      "0,1,1,NCRISC,1,205\n0,1,1,NCRISC,4,225\n");
  const auto p = plan_replay(in, "old.csv", {});
  ASSERT_EQ(p.launches.size(), 3u);
  EXPECT_EQ(p.launches[0].host_id, 1u);
  EXPECT_EQ(p.launches[0].rows, 4u);
  EXPECT_TRUE(p.launches[0].finished());
  EXPECT_EQ(p.account.unplayed_rows(), 0u);
}

TEST(ReplayPlan, every_id_of_a_real_log_is_the_hash_of_its_name) {
  std::ifstream in(TTC_TEST_DATA "/device_log/n300_brisc.csv", std::ios::binary);
  ASSERT_TRUE(in);
  const auto p = plan_replay(in, "n300_brisc.csv", {});
  EXPECT_EQ(p.names.zone_strings.size(), 2u);
  EXPECT_EQ(p.names.other_file.rows + p.names.lost.rows + p.names.gained.rows, 0u);
  EXPECT_EQ(p.account.unplayed_rows(), 0u);
  ASSERT_EQ(p.launches.size(), 5u);
  EXPECT_FALSE(p.launches.back().finished());
}

}  // namespace
}  // namespace ttc::emulation

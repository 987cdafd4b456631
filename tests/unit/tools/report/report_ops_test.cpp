// Zones to programs: durations, gaps, executions, replays, dispatch, and parts that are far apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "tests/unit/tools/report/log_text.hpp"
#include "tools/report/draw/core_heat.hpp"
#include "tools/report/programs/core_gaps.hpp"
#include "tools/report/zones/zone_stats.hpp"

namespace ttc::report {
namespace {

// Both ERISCs of an Ethernet core of Blackhole are called ERISC: the second one's firmware was taken for the
// next execution of the program.
TEST(ReportOps, a_core_with_two_eriscs_split_its_programs) {
  std::string text = k15;
  const auto erisc = [&](int firmware, uint64_t begin, uint32_t host) {
    return row15(1, "ERISC", firmware, begin, host, "ACTIVE-ERISC-FW", "ZONE_START") +
           row15(1, "ERISC", firmware + 1, begin + 10, host, "ERISC-KERNEL", "ZONE_START") +
           row15(1, "ERISC", firmware + 1, begin + 400, host, "ERISC-KERNEL", "ZONE_END") +
           row15(1, "ERISC", firmware, begin + 420, host, "ACTIVE-ERISC-FW", "ZONE_END");
  };
  for (uint32_t host = 1; host <= 3; ++host) text += launch(2, "BRISC", host * 10000, 500, host);
  for (uint32_t host = 1; host <= 3; ++host) text += erisc(20, host * 10000 + 50, host);
  for (uint32_t host = 1; host <= 3; ++host) text += erisc(30, host * 10000 + 20, host);
  ZoneStats stats;
  RunListeners listeners;
  listeners.zones.push_back(&stats);
  const auto run = read(text, OpBuilder::kDefaultBudget, listeners);
  ASSERT_EQ(run.ops.size(), 3u);
  for (const DeviceOp& op : run.ops) EXPECT_EQ(op.cores, 2u);
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(stats.unclosed(), 0u);
}

TEST(ReportOps, a_program_reaches_from_its_first_start_to_its_last_end) {
  const auto run = read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7) +
                        launch(2, "BRISC", 1040, 900, 7) + launch(2, "TRISC_1", 1010, 300, 7));
  ASSERT_EQ(run.rows.size(), 1u);
  const DeviceRow& r = run.rows[0];
  EXPECT_EQ(r.call_count, 7u);
  EXPECT_EQ(r.cores, 2u);
  EXPECT_EQ(r.available_cores, 64u);
  EXPECT_EQ(r.arch, "wormhole_b0");
  EXPECT_EQ(r.firmware_start, 1000u);
  EXPECT_EQ(r.firmware_end, 2140u);
  EXPECT_EQ(r.firmware_ns, 1140u);
  EXPECT_EQ(r.kernel_ns, 940u);        // 1100 .. 2040
  EXPECT_EQ(r.first_to_last_ns, 40u);  // 1100 .. 1140
  EXPECT_EQ(r.dm_ns, 940u);
  EXPECT_EQ(r.risc_ns[0], 940u);
  EXPECT_EQ(r.risc_ns[3], 300u);
  EXPECT_FALSE(r.risc_ns[1].has_value());
  EXPECT_EQ(r.core_min_ns, 500u);
  EXPECT_EQ(r.core_max_ns, 930u);  // core 2: TRISC_1 begins 30 before BRISC
  EXPECT_EQ(r.core_mean_ns, 715u);
  EXPECT_EQ(r.slowest_x, 2u);
  EXPECT_EQ(r.gap_ns, 0);
}

TEST(ReportOps, gaps_go_by_time_and_are_empty_where_programs_overlap) {
  const auto run = read(std::string(k15) + launch(1, "BRISC", 5000, 500, 8) +
                        launch(1, "BRISC", 1000, 500, 7) + launch(2, "BRISC", 5300, 500, 9));
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.rows[0].call_count, 7u);
  EXPECT_EQ(run.rows[1].gap_ns, 5100 - 1600);
  EXPECT_FALSE(run.rows[2].gap_ns.has_value());
  // Device-only tables have the negative number, as tt-metal's.
  EXPECT_EQ(op_table(run.table, {}).rows[2].gap, -200);
}

// The C++ report goes by the last program that had a data movement kernel, whatever ran since.
TEST(ReportOps, gaps_between_data_movement_skip_programs_without_it) {
  const auto run = read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7) +
                        launch(1, "TRISC_1", 3000, 500, 8) + launch(1, "BRISC", 5000, 500, 9));
  ASSERT_EQ(run.rows.size(), 3u);
  EXPECT_EQ(run.rows[0].dm_gap_ns, 0);
  EXPECT_FALSE(run.rows[1].dm_gap_ns.has_value());
  EXPECT_EQ(run.rows[2].dm_gap_ns, 5100 - 1600);
  EXPECT_EQ(run.rows[2].gap_ns, 5100 - 3600);
  // If the first programs have none, the first that has one is at 0.
  const auto late =
      read(std::string(k15) + launch(1, "TRISC_1", 1000, 500, 7) + launch(1, "BRISC", 5000, 500, 8));
  EXPECT_EQ(late.rows[1].dm_gap_ns, 0);
}

// round((start - previous end) * duration [ns] / duration [cycles]), by the rounded duration of the later op.
TEST(ReportOps, gaps_are_rounded_as_the_cpp_report_rounds_them) {
  std::string text = k15;
  text.replace(text.find("1000"), 4, "1350");
  const auto run = read(text + launch(1, "BRISC", 1000, 7, 7) + launch(1, "BRISC", 2000, 7, 8));
  EXPECT_EQ(run.rows[1].kernel_ns, 5u);  // 7 / 1.35 = 5.19
  EXPECT_EQ(run.rows[1].gap_ns, 709);    // 993 cycles * 5 / 7; by the clock itself 736
}

TEST(ReportOps, rounds_nanoseconds_as_tt_metal_does) {
  EXPECT_EQ(to_ns(5726, 1350), 4241u);  // golden: 2569131976497 .. 2569131982223
  EXPECT_EQ(to_ns(4543, 1350), 3365u);
}

TEST(ReportOps, replays_are_sessions_of_their_trace) {
  const auto run =
      read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7, "1") + launch(1, "BRISC", 9000, 510, 7, "2"));
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_EQ(run.rows[1].trace_id, 5u);
  EXPECT_EQ(run.rows[1].session, 2u);
  EXPECT_EQ(run.rows[1].kernel_ns, 510u);
}

TEST(ReportOps, the_same_launch_again_is_another_execution) {
  std::string text = k13;
  for (int x = 1; x <= 3; ++x)
    for (uint64_t k = 0; k < 4; ++k) {
      if (x == 2 && k == 1) continue;  // lost on this core
      const uint64_t t = 10000 * (k + 1) + static_cast<uint64_t>(x) * 5;
      text += row13(x, "BRISC", 10, t, 7, "BRISC-FW", "ZONE_START") +
              row13(x, "BRISC", 10, t + 700, 7, "BRISC-FW", "ZONE_END") +
              row13(x, "BRISC", 11, t + 50, 7, "BRISC-KERNEL", "ZONE_START") +
              row13(x, "BRISC", 11, t + 650, 7, "BRISC-KERNEL", "ZONE_END");
    }
  const auto run = read(text);
  ASSERT_EQ(run.rows.size(), 4u);
  for (size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(run.rows[k].kernel_ns, 610u) << k;
    EXPECT_EQ(run.rows[k].cores, k == 1 ? 2u : 3u) << k;
  }
}

TEST(ReportOps, dispatch_zones_belong_to_the_program_they_serve) {
  std::string text = std::string(k15) + launch(1, "BRISC", 1000, 500, 7);
  text += row15(9, "BRISC", 30, 400, 7, "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WRITE", "ZONE_START");
  text += row15(9, "BRISC", 30, 480, 0, "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WRITE", "ZONE_END");
  text += row15(9, "BRISC", 30, 500, 7, "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WAIT", "ZONE_START");
  text += row15(9, "BRISC", 30, 560, 0, "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WAIT", "ZONE_END");
  text += row15(9, "NCRISC", 31, 600, 7, "CQ-DISPATCH:CQ_DISPATCH_CMD_SEND_GO_SIGNAL", "ZONE_START");
  text += row15(9, "NCRISC", 31, 640, 0, "CQ-DISPATCH:CQ_DISPATCH_CMD_SEND_GO_SIGNAL", "ZONE_END");
  const auto run = read(text);
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].cores, 1u);
  EXPECT_EQ(run.rows[0].dispatch_ns, 160u);
  EXPECT_EQ(run.rows[0].go_signal_ns, 40u);
}

TEST(ReportOps, before_zones_were_renamed_meta_data_say_whom_dispatch_served) {
  std::string text = k13;
  text += row13(1, "BRISC", 10, 1000, 7, "BRISC-FW", "ZONE_START") +
          row13(1, "BRISC", 11, 1010, 7, "BRISC-KERNEL", "ZONE_START") +
          row13(1, "BRISC", 11, 1100, 7, "BRISC-KERNEL", "ZONE_END") +
          row13(1, "BRISC", 10, 1110, 7, "BRISC-FW", "ZONE_END");
  text += row13(9, "BRISC", 30, 400, 0, "CQ-DISPATCH", "ZONE_START");
  text +=
      row13(9, "BRISC", 40, 410, 0, "", "TS_DATA", "{\"dispatch_command_type\":\"CQ_DISPATCH_CMD_WRITE\"}");
  text += row13(9, "BRISC", 41, 420, 0, "", "TS_DATA", "{\"workers_runtime_id\":7}");
  text += row13(9, "BRISC", 30, 520, 0, "CQ-DISPATCH", "ZONE_END");
  const auto run = read(text);
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].dispatch_ns, 120u);
}

void expect_same_rows(const Run& one, const Run& other) {
  ASSERT_EQ(one.rows.size(), other.rows.size());
  for (size_t i = 0; i < one.rows.size(); ++i) {
    const DeviceRow a = one.rows[i], b = other.rows[i];
    EXPECT_EQ(std::tie(a.call_count, a.cores, a.firmware_start, a.firmware_end, a.kernel_ns, a.dm_ns),
              std::tie(b.call_count, b.cores, b.firmware_start, b.firmware_end, b.kernel_ns, b.dm_ns));
    EXPECT_EQ(std::tie(a.risc_ns, a.core_min_ns, a.core_max_ns, a.core_mean_ns, a.gap_ns, a.dm_gap_ns),
              std::tie(b.risc_ns, b.core_min_ns, b.core_max_ns, b.core_mean_ns, b.gap_ns, b.dm_gap_ns));
  }
}

// Programs whose parts came too far apart became several ops.
TEST(ReportOps, parts_that_are_far_apart_make_the_same_program_in_any_memory) {
  std::mt19937 dice(1);
  std::vector<std::vector<std::string>> lanes;
  for (int x = 1; x <= 4; ++x)
    for (const char* risc : {"BRISC", "NCRISC", "TRISC_1"}) {
      lanes.emplace_back();
      for (uint32_t op = 1; op <= 300; ++op)
        lanes.back().push_back(launch(x, risc, 10000 * op + dice() % 50, 500 + dice() % 300, op));
    }
  for (const size_t at_once : {300u, 40u, 1u}) {  // pieces of a lane in a row, at most
    std::string text = k15;
    std::vector<size_t> next(lanes.size());
    for (size_t left = lanes.size() * 300; left > 0;) {
      const size_t lane = dice() % lanes.size();
      for (size_t n = 1 + dice() % at_once; n > 0 && next[lane] < 300; --n, --left)
        text += lanes[lane][next[lane]++];
    }
    const auto whole = read(text, size_t{64} << 20);
    ASSERT_EQ(whole.rows.size(), 300u);
    for (const size_t budget : {1u, 40'000u, 400'000u}) expect_same_rows(whole, read(text, budget));
  }
}

TEST(ReportOps, executions_of_one_launch_are_the_same_in_any_memory) {
  std::string text = k13;
  for (int x = 1; x <= 3; ++x)
    for (uint32_t host = 1; host <= 40; ++host)
      for (uint64_t k = 0; k < 4; ++k) {
        const uint64_t t = 10000 * (k + 1) + 100'000 * host + static_cast<uint64_t>(x) * 5;
        text += row13(x, "BRISC", 10, t, host, "BRISC-FW", "ZONE_START") +
                row13(x, "BRISC", 11, t + 50, host, "BRISC-KERNEL", "ZONE_START") +
                row13(x, "BRISC", 11, t + 650, host, "BRISC-KERNEL", "ZONE_END") +
                row13(x, "BRISC", 10, t + 700, host, "BRISC-FW", "ZONE_END");
      }
  for (const size_t budget : {size_t{1}, size_t{64} << 20}) {
    const auto run = read(text, budget);
    ASSERT_EQ(run.rows.size(), 160u) << budget;
    for (const DeviceRow& row : run.rows) {
      EXPECT_EQ(row.cores, 3u);
      EXPECT_EQ(row.kernel_ns, 610u);
    }
  }
}

TEST(ReportOps, the_smoke_log_gives_the_figures_of_its_report) {
  RunOptions options;
  options.from = {std::string(TTC_TEST_DATA) + "/device_log/n300_brisc.csv"};
  options.no_host = true;
  const auto run = read_run(options);
  ASSERT_GE(run.rows.size(), 2u);
  EXPECT_EQ(run.rows[0].call_count, 1024u);
  EXPECT_EQ(run.rows[0].firmware_ns, 9241u);
  EXPECT_EQ(run.rows[0].kernel_ns, 8181u);
}

TEST(ReportOps, core_gaps_are_cycles_less_1500) {
  CoreGaps gaps;
  RunListeners listeners;
  listeners.programs.push_back([&](const auto& op, auto cores) { gaps.program(op, cores); });
  read(std::string(k15) + launch(1, "BRISC", 10000, 500, 7) + launch(1, "BRISC", 20000, 500, 8) +
           launch(2, "BRISC", 20010, 500, 8),
       OpBuilder::kDefaultBudget, listeners);
  const LogFile out("");
  tools::Output file(out.path, true);
  gaps.write(file);
  file.commit();
  std::ifstream in(out.path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text, "device ID,op2op ID,1; 1 [ns],2; 1 [ns]\r\n0,7 -> 8," +
                      std::to_string(20100 - 10600 - 1500) + ",\r\n");
}

TEST(ReportOps, zones_nest_and_what_has_no_partner_is_counted) {
  ZoneStats stats;
  RunListeners listeners;
  listeners.zones.push_back(&stats);
  std::string text = k15;
  text += row15(1, "BRISC", 10, 1000, 7, "BRISC-FW", "ZONE_START") +
          row15(1, "BRISC", 50, 1100, 7, "OUTER", "ZONE_START") +
          row15(1, "BRISC", 51, 1200, 7, "INNER", "ZONE_START") +
          row15(1, "BRISC", 51, 1250, 7, "INNER", "ZONE_END") +
          row15(1, "BRISC", 52, 1260, 7, "CUT", "ZONE_START") +
          row15(1, "BRISC", 50, 1400, 7, "OUTER", "ZONE_END") +
          row15(1, "BRISC", 10, 1500, 7, "BRISC-FW", "ZONE_END") +
          row15(1, "BRISC", 53, 1600, 7, "LONE", "ZONE_END");
  const auto run = read(text, OpBuilder::kDefaultBudget, listeners);
  std::map<std::string, const ZoneStats::Entry*> by_name;
  for (const auto& [key, e] : stats.entries()) by_name[run.zones[key.zone].name] = &e;
  ASSERT_TRUE(by_name.contains("OUTER") && by_name.contains("INNER") && by_name.contains("BRISC-FW"));
  EXPECT_FALSE(by_name.contains("CUT"));
  EXPECT_EQ(by_name["OUTER"]->cycles, 300u);
  EXPECT_EQ(by_name["OUTER"]->self_cycles, 250u);
  EXPECT_EQ(by_name["BRISC-FW"]->self_cycles, 200u);
  EXPECT_EQ(stats.unclosed(), 2u);
}

TEST(ReportOps, heat_says_who_waited_and_who_was_behind) {
  HeatMap heat;
  RunListeners listeners;
  listeners.programs.push_back([&](const auto& op, auto cores) { heat.program(op, cores); });
  read(std::string(k15) + launch(1, "BRISC", 1000, 400, 7) + launch(2, "BRISC", 1100, 800, 7),
       OpBuilder::kDefaultBudget, listeners);
  const CoreHeat& first = heat.chips().at(0).at({1, 1});
  const CoreHeat& second = heat.chips().at(0).at({2, 1});
  EXPECT_EQ(first.time, 400u);
  EXPECT_EQ(first.wait, 500u);  // the program takes 900
  EXPECT_EQ(first.behind, 0u);
  EXPECT_EQ(second.behind, 200u);  // the mean is 600
  EXPECT_EQ(second.start, 100u);
}

// A counter of 1 GHz whose tiles are apart by up to 10 ns. When a core starts is known worse than how long it runs.
TEST(ReportOps, heat_has_the_bounds_of_one_core_and_of_two) {
  constexpr uint64_t kTicks = collect::kHostTicksPerNs;
  collect::ClockSegment s =
      collect::clock_segment_between(0, 5'000'000 * kTicks, 1'000'000, 6'000'000 * kTicks);
  s.kind = collect::BoundKind::conditional;
  s.bound = s.hard_bound = 60'000 * kTicks;
  s.flags = collect::kFinalSegment;
  set_pace_error(s, 1e-9);
  collect::ClockHead head;
  head.tile_spread = 10 * kTicks;
  collect::ClockMap map;
  map.update(head, {&s, 1});
  DurationClock clock;
  clock.add(0, std::move(map), {});
  HeatMap heat;
  heat.measure_with(std::make_shared<const DurationClock>(std::move(clock)));
  const auto program = [&](uint64_t seen_ns, std::vector<uint64_t> starts) {
    DeviceOp op;
    std::vector<CoreTime> cores;
    op.seen_ns = seen_ns;
    op.kernel = {starts.front(), starts.front() + 900};
    for (const uint64_t start : starts) {
      CoreTime& core = cores.emplace_back();
      core.x = static_cast<uint8_t>(cores.size()), core.y = 1;
      core.kernel = {start, start + 800};
    }
    heat.program(op, cores);
  };
  program(7'000'000, {1000, 1100, 1090});
  const auto& cores = heat.chips().at(0);
  EXPECT_LT(HeatMap::bound_ns(cores.at({2, 1}), HeatOf::time, 800).value_or(99), 4);
  EXPECT_LT(HeatMap::bound_ns(cores.at({2, 1}), HeatOf::imbalance, 0).value_or(99), 8);
  EXPECT_NEAR(HeatMap::bound_ns(cores.at({2, 1}), HeatOf::start, 100).value_or(0), 20, 4);
  EXPECT_NEAR(HeatMap::bound_ns(cores.at({2, 1}), HeatOf::wait, 100).value_or(0), 20,
              8);  // of the whole program, and of the core
  const std::string text = heat_bounds_text(cores, HeatOf::start, 1000);
  EXPECT_NE(text.find("; 1 of 2 other cores differ"), std::string::npos) << text;
  const Event sum{1500, 70, 0, 0, markers::MarkerType::zone_total, ZoneClass::wait_front};
  heat.events({{}, {2, 1}, {&sum, 1}});
  EXPECT_FALSE(
      HeatMap::bound_ns(cores.at({2, 1}), HeatOf::wait, 170));  // when it waited for a buffer is not known
  program(0, {2000, 2100});                                     // the clock does not cover it
  EXPECT_FALSE(HeatMap::bound_ns(cores.at({2, 1}), HeatOf::start, 200));
  EXPECT_EQ(heat_bounds_text(cores, HeatOf::start, 1000), "");
}

TEST(ReportOps, rows_that_are_none_are_counted_with_reason_and_line) {
  const auto run = read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7) +
                        "0,1,1,BRISC,10\n"
                        "0,1,1,BRISC,10,nan,0,7,,,BRISC-FW,ZONE_START,1,f.cc,\n"
                        "0,1,1,BRISC,10,5,0,7,,,BRISC-FW,ZONE_START,1,/a,b/f.cc,\n"
                        "0,1,1,XRISC,10,5,0,7,,,BRISC-FW,ZONE_START,1,f.cc,\n" +
                        launch(2, "BRISC", 1000, 500, 7));
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].cores, 2u);
  EXPECT_EQ(run.account.skipped_lines, 4u);
  std::string all;
  for (const std::string& n : notices(run)) all += n + "\n";
  for (const char* part : {"line 7", "line 8", "line 9", "line 10", "comma in a path", "processor"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " is not in\n" << all;
}

TEST(ReportOps, line_ends_may_be_either_and_names_may_be_utf8) {
  std::string text = std::string(k15) + launch(1, "BRISC", 1000, 500, 7) +
                     row15(1, "BRISC", 60, 1200, 7,
                           "\xc3\x9c"
                           "bung",
                           "ZONE_START") +
                     row15(1, "BRISC", 60, 1300, 7,
                           "\xc3\x9c"
                           "bung",
                           "ZONE_END");
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& one : {text, crlf}) {
    const auto run = read(one);
    ASSERT_EQ(run.rows.size(), 1u);
    EXPECT_EQ(run.rows[0].kernel_ns, 500u);
    EXPECT_EQ(run.account.skipped_lines, 0u);
    EXPECT_EQ(run.zones.back().name,
              "\xc3\x9c"
              "bung");
  }
}

TEST(ReportOps, several_devices_of_one_log_are_kept_apart) {
  const auto run = read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7, "", 0) +
                        launch(1, "BRISC", 900, 300, 7, "", 4));
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_EQ(run.rows[0].device, 0u);
  EXPECT_EQ(run.rows[1].device, 4u);
  EXPECT_EQ(run.rows[1].kernel_ns, 300u);
  EXPECT_EQ(run.rows[1].gap_ns, 0);
}

TEST(ReportOps, readers_of_the_joined_table_can_have_a_devices_alone) {
  const LogFile file(std::string(k15) + launch(1, "BRISC", 1000, 500, 7));
  RunOptions options;
  options.from = {file.path};
  options.every_column = true;
  const auto run = read_run(options, {});
  ASSERT_EQ(run.table.rows.size(), 1u);
  // What tt-perf-report 1.2.4 does not do without.
  for (const char* name : {"OP CODE", "OP TYPE", "GLOBAL CALL COUNT", "DEVICE ID", "ATTRIBUTES", "CORE COUNT",
                           "OP TO OP LATENCY [ns]", "DEVICE KERNEL DURATION [ns]", "INPUT_0_MEMORY"})
    EXPECT_EQ(std::count(run.table.header.begin(), run.table.header.end(), name), 1) << name;
  EXPECT_EQ(run.table.header.front(), "OP CODE");
  EXPECT_EQ(run.table.rows[0][0], "Program 7");
}

TEST(ReportOps, sums_of_waits_are_told_in_ns) {
  std::string text =
      std::string(k15) + launch(1, "TRISC_0", 1000, 500, 7) + launch(1, "TRISC_2", 1000, 500, 7);
  text +=
      "0,1,1,TRISC_0,70,1000,300,7,,,CB-COMPUTE-WAIT-FRONT,ZONE_TOTAL,1,f.cc,\n0,1,1,TRISC_2,71,1000,40,7,,,"
      "CB-COMPUTE-RESERVE-BACK,ZONE_TOTAL,1,f.cc,\n";
  const auto run = read(text);
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].wait_front_ns, 300u);
  EXPECT_EQ(run.rows[0].reserve_back_ns, 40u);
}

}  // namespace
}  // namespace ttc::report

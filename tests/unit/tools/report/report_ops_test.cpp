// Zones to programs: durations, gaps, executions, replays, dispatch, and pieces that come too late.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "tools/report/draw/core_heat.hpp"
#include "tools/report/metal_files/counters.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/programs/core_gaps.hpp"
#include "tools/report/zones/zone_pairs.hpp"
#include "tools/report/zones/zone_stats.hpp"

namespace ttc::report {
namespace {

constexpr const char* k15 =
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n"
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, "
    "trace id, "
    "trace id counter, zone name, type, source line, source file, meta data\n";
constexpr const char* k13 =
    "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n"
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID,  "
    "zone name, "
    "type, source line, source file, meta data\n";

// A log in a file that goes away.
class LogFile {
 public:
  explicit LogFile(const std::string& text)
      : path(std::filesystem::temp_directory_path() /
             ("report_ops_test-" + std::to_string(getpid()) + "-" + std::to_string(next_++) + ".csv")) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~LogFile() { std::filesystem::remove(path); }
  const std::string path;

 private:
  static inline int next_ = 0;
};

Run read(const std::string& text, size_t budget = OpBuilder::kDefaultBudget,
         const RunListeners& listeners = {}, const std::string& host = "") {
  const LogFile file(text), messages(host);
  RunOptions options;
  options.from = {file.path};
  options.host = messages.path;
  options.no_host = host.empty();
  options.budget = budget;
  return read_run(options, listeners);
}

std::string row15(int x, const char* risc, int id, uint64_t time, uint32_t host, const std::string& name,
                  const char* type, const std::string& counter = "", const std::string& meta = "",
                  int chip = 0) {
  return std::to_string(chip) + "," + std::to_string(x) + ",1," + risc + "," + std::to_string(id) + "," +
         std::to_string(time) + ",0," + std::to_string(host) + "," + (counter.empty() ? "" : "5") + "," +
         counter + "," + name + "," + type + ",1,f.cc," + meta + "\n";
}

// FW around KERNEL on one processor.
std::string launch(int x, const char* risc, uint64_t begin, uint64_t length, uint32_t host,
                   const std::string& counter = "", int chip = 0) {
  const std::string name = std::string(risc).substr(0, std::string(risc).find('_'));
  return row15(x, risc, 10, begin, host, name + "-FW", "ZONE_START", counter, "", chip) +
         row15(x, risc, 11, begin + 100, host, name + "-KERNEL", "ZONE_START", counter, "", chip) +
         row15(x, risc, 11, begin + 100 + length, host, name + "-KERNEL", "ZONE_END", counter, "", chip) +
         row15(x, risc, 10, begin + 200 + length, host, name + "-FW", "ZONE_END", counter, "", chip);
}

// Two cores of one program after the other, with rows to delete.
std::vector<std::string> rows_of_two_cores(int launches) {
  std::vector<std::string> rows;
  for (int x = 1; x <= 2; ++x)
    for (int i = 0; i < launches; ++i) {
      std::istringstream four(launch(x, "BRISC", 1000 + i * 1000, 500, 1024 + i * 1024));
      for (std::string row; std::getline(four, row);) rows.push_back(row + "\n");
    }
  return rows;
}

InputAccount account_without(std::vector<std::string> rows, size_t from, size_t count) {
  rows.erase(rows.begin() + static_cast<ptrdiff_t>(from),
             rows.begin() + static_cast<ptrdiff_t>(from + count));
  std::string text = k15;
  for (const std::string& row : rows) text += row;
  return read(text).account;
}

// Rows deleted from the middle of a log left programs with fewer cores, and nothing said so.
TEST(ReportPairs, rows_gone_from_the_middle_of_a_processors_rows_went_unnoticed) {
  const std::vector<std::string> rows = rows_of_two_cores(4);  // 16 rows a core
  for (size_t from = 0; from < rows.size(); ++from)
    for (size_t count = 1; count <= 6 && from + count <= rows.size(); ++count) {
      const InputAccount account = account_without(rows, from, count);
      // What is left of each core: whole launches, or launches that the edge of its rows cuts.
      bool damaged = false, cut = false;
      for (size_t core = 0; core < 2; ++core) {
        const size_t begin = core * 16, end = begin + 16;
        const size_t first = std::clamp(from, begin, end), last = std::clamp(from + count, begin, end);
        if (first == last) continue;
        const bool whole = (first - begin) % 4 == 0 && (last - begin) % 4 == 0;
        const bool front = first == begin, back = last == end;
        // A kernel zone of which both markers are gone leaves nothing that lacks a partner either.
        const bool zone = (first - begin) % 4 == 1 && last - first == 2;
        if (whole || zone) continue;
        if (front || back)
          cut = true;
        else
          damaged = true;
      }
      EXPECT_EQ(account.damaged, damaged) << "rows " << from << " to " << from + count;
      if (damaged) continue;
      EXPECT_EQ(account.cut_zones > 0, cut) << "rows " << from << " to " << from + count;
    }
  EXPECT_FALSE(account_without(rows, 4, 4).damaged) << "a launch of which no row is left cannot be seen";
}

TEST(ReportPairs, a_missing_end_beside_a_reported_loss_is_no_damage) {
  ZonePairs pairs;
  const Lane lane{1, 1, LogRisc::brisc};
  const auto marker = [&](uint64_t time, uint16_t id, ZoneClass of, markers::MarkerType type, uint32_t host) {
    const Event e{time, 0, 0, id, type, of};
    pairs.events({{0, host, -1, -1}, lane, {&e, 1}});
  };
  using markers::MarkerType;
  marker(100, 1, ZoneClass::firmware, MarkerType::zone_start, 1);
  marker(110, 2, ZoneClass::kernel, MarkerType::zone_start, 1);  // both ends are lost
  marker(300, 1, ZoneClass::firmware, MarkerType::zone_start, 2);
  marker(310, 1, ZoneClass::firmware, MarkerType::zone_end, 2);
  pairs.lost({0, {1, 2, LogRisc::brisc}, 100, 300});  // another core
  pairs.lost({0, lane, 600, 700});                    // behind
  pairs.lost({0, lane, 110, 150});
  pairs.end();
  EXPECT_EQ(pairs.damage(), 0u);
  EXPECT_EQ(pairs.beside_losses(), 2u);
  marker(500, 3, ZoneClass::other, MarkerType::zone_end, 2);
  pairs.end();
  EXPECT_EQ(pairs.damage(), 1u);
  ASSERT_NE(pairs.first(), nullptr);
  EXPECT_FALSE(pairs.first()->start);
}

// A core's trace-only markers come from several processors, whose kernel zones have ids of their own.
TEST(ReportPairs, kernels_of_trace_only_lanes_begin_and_end_under_different_ids) {
  std::string text = k15;
  for (uint64_t i = 0; i < 3; ++i) {
    const auto row = [&](int id, uint64_t time, const char* name, const char* type) {
      return row15(1, "TENSIX_RISC_AGG", id, i * 1000 + time, static_cast<uint32_t>(i + 1), name, type);
    };
    text += row(1, 100, "TRACE-FW", "ZONE_START") + row(2, 110, "TRACE-KERNEL", "ZONE_START") +
            row(3, 200, "TRACE-KERNEL", "ZONE_END") + row(1, 210, "TRACE-FW", "ZONE_END");
  }
  const auto run = read(text);
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.account.cut_zones, 0u);
}

// Beyond the number that is held nothing may be taken for explained.
TEST(ReportPairs, what_cannot_be_held_counts_as_damage) {
  ZonePairs pairs(2);
  const Lane lane{1, 1, LogRisc::brisc};
  for (uint64_t i = 0; i < 5; ++i) {
    const Event e{100 * (i + 1), 0, 0, 1, markers::MarkerType::zone_start, ZoneClass::firmware};
    pairs.events({{0, 1, -1, -1}, lane, {&e, 1}});
  }
  pairs.end();
  EXPECT_EQ(pairs.damage(), 4u);
  EXPECT_EQ(pairs.at_edges(), 1u);
}

TEST(ReportOrder, a_shuffled_log_is_sorted_or_refused) {
  std::vector<std::string> rows = rows_of_two_cores(6);
  std::string text = k15, other = k15;
  for (const std::string& row : rows) text += row;
  const auto in_order = read(text);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
    other = k15;
    for (const std::string& row : rows) other += row;
    const auto run = read(other);
    EXPECT_FALSE(run.account.damaged) << "seed " << seed;
    ASSERT_EQ(run.rows.size(), in_order.rows.size()) << "seed " << seed;
    for (size_t i = 0; i < run.rows.size(); ++i) EXPECT_EQ(run.rows[i].kernel_ns, in_order.rows[i].kernel_ns);
    EXPECT_THROW(read(other, 64), InputError) << "seed " << seed;
  }
  EXPECT_NO_THROW(read(text, 64)) << "too large to be looked at first, but in order";
}

TEST(ReportOrder, logs_put_together_may_begin_anew) {
  const std::string one = launch(1, "BRISC", 1000, 500, 1024) + launch(1, "BRISC", 5000, 500, 2048);
  const auto run = read(k15 + one + k15 + one);
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.ops.size(), 4u);
}

// A 2025 log has both ends of a zone before what is nested in it.
TEST(ReportOrder, ends_before_what_is_nested_are_in_order) {
  const auto row = [](int id, uint64_t time, const char* name, const char* type) {
    return row15(1, "BRISC", id, time, 7, name, type);
  };
  const auto run =
      read(k15 + row(10, 100, "BRISC-FW", "ZONE_START") + row(10, 900, "BRISC-FW", "ZONE_END") +
           row(11, 200, "BRISC-KERNEL", "ZONE_START") + row(11, 800, "BRISC-KERNEL", "ZONE_END") +
           row(12, 300, "A", "ZONE_START") + row(12, 400, "A", "ZONE_END") + row(12, 500, "A", "ZONE_START") +
           row(12, 600, "A", "ZONE_END"));
  EXPECT_FALSE(run.account.damaged);
  EXPECT_EQ(run.account.cut_zones, 0u);
  ASSERT_EQ(run.rows.size(), 1u);
  EXPECT_EQ(run.rows[0].kernel_ns, 600u);
}

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
  // Where the first programs have none, the first that has one stands at 0.
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

std::string row13(int x, const char* risc, int id, uint64_t time, uint32_t host, const char* name,
                  const char* type, const std::string& meta = "") {
  return "0," + std::to_string(x) + ",1," + risc + "," + std::to_string(id) + "," + std::to_string(time) +
         ",0," + std::to_string(host) + "," + name + "," + type + ",1,f.cc," + meta + "\n";
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

TEST(ReportOps, a_small_budget_closes_the_oldest_and_says_what_came_late) {
  std::string text = k15;
  for (int x = 1; x <= 2; ++x)
    for (uint32_t op = 1; op <= 400; ++op) text += launch(x, "BRISC", 10000 * op, 500, op);
  EXPECT_EQ(read(text).rows.size(), 400u);
  EXPECT_EQ(read(text).late, 0u);
  const auto small = read(text, 40'000);
  EXPECT_GT(small.rows.size(), 400u);
  EXPECT_GT(small.late, 0u);
  const auto told = notices(small);
  EXPECT_TRUE(std::any_of(told.begin(), told.end(),
                          [](const std::string& s) { return s.find("--memory") != std::string::npos; }));
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

TEST(ReportOps, counters_become_shares_over_the_cores) {
  const auto counter = [](int x, int value) {
    return row15(
        x, "TRISC_1", 9090, 1200, 7, "", "TS_DATA", "",
        "{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":1000;\"value\":" + std::to_string(value) + "}");
  };
  const auto run =
      read(std::string(k15) + launch(1, "BRISC", 1000, 500, 7) + launch(2, "BRISC", 1000, 500, 7) +
           launch(3, "BRISC", 1000, 500, 7) + counter(1, 100) + counter(2, 250) + counter(3, 290));
  ASSERT_EQ(run.rows.size(), 1u);
  const auto& counters = run.rows[0].counters;
  EXPECT_NEAR(counters.at("FPU Util Min (%)"), 10, 1e-9);
  EXPECT_NEAR(counters.at("FPU Util Median (%)"), 25, 1e-9);
  EXPECT_NEAR(counters.at("FPU Util Max (%)"), 29, 1e-9);
  EXPECT_NEAR(counters.at("Avg FPU util on full grid (%)"), 640.0 / 64 / 500 * 100, 1e-9);
  EXPECT_FALSE(counters.contains("SFPU Util Min (%)"));
  const std::vector<std::string> last(run.table.header.end() - 4, run.table.header.end());
  EXPECT_EQ(last, (std::vector<std::string>{"FPU Util Min (%)", "FPU Util Median (%)", "FPU Util Max (%)",
                                            "Avg FPU util on full grid (%)"}));
}

// Two cores, one program: their counters by name, as reference cycles 1000 would show them.
using CoreCounters = std::map<std::string, int>;
Run counted(const std::vector<std::pair<CoreCounters, CoreCounters>>& programs,
            const std::string& messages = "") {
  std::string text = k15;
  uint32_t host = 7;
  for (const auto& [first, second] : programs) {
    text += launch(1, "BRISC", 1000 * host, 500, host) + launch(2, "BRISC", 1000 * host, 500, host);
    for (const auto& [x, all] : {std::pair{1, first}, std::pair{2, second}})
      for (const auto& [name, value] : all)
        text += row15(
            x, "TRISC_1", 9090, 1000 * host + 200, host, "", "TS_DATA", "",
            "{\"counter type\":\"" + name + "\";\"ref cnt\":1000;\"value\":" + std::to_string(value) + "}");
    ++host;
  }
  return read(text, OpBuilder::kDefaultBudget, {}, messages);
}

constexpr const char* kHostOfSeven =
    "MessageName;total_ns\n"
    "`TT_DNN_DEVICE_OP: \"Matmul\", 77, 0, false, 7 ->\n"
    "{\"device_id\":0,\"global_call_count\":7,\"op_code\":\"Matmul\",\"op_hash\":77,\"op_type\":"
    "\"tt_dnn_device\"}`;100\n";

// tt-metal's two functions differ in it.
TEST(ReportOps, what_the_second_unpacker_wrote_is_another_counter_in_the_device_only_form) {
  const CoreCounters core = {{"SRCA_WRITE_ACTUAL", 300},
                             {"SRCB_WRITE_ACTUAL", 60},
                             {"SRCB_WRITE_NOT_BLOCKED_PORT", 150},
                             {"UNPACK0_BUSY_THREAD0", 600},
                             {"UNPACK1_BUSY_THREAD0", 600}};
  const auto alone = counted({{core, {}}}).rows[0].counters;
  EXPECT_NEAR(alone.at("Unpacker0 Write Efficiency Avg (%)"), 50, 1e-9);
  EXPECT_NEAR(alone.at("Unpacker1 Write Efficiency Avg (%)"), 10, 1e-9);
  EXPECT_NEAR(alone.at("Unpacker Write Efficiency Avg (%)"), 30, 1e-9);
  const auto joined = counted({{core, {}}}, kHostOfSeven).rows[0].counters;
  EXPECT_NEAR(joined.at("Unpacker0 Write Efficiency Avg (%)"), 50, 1e-9);
  EXPECT_NEAR(joined.at("Unpacker1 Write Efficiency Avg (%)"), 25, 1e-9);
  EXPECT_NEAR(joined.at("Unpacker Write Efficiency Avg (%)"), 37.5, 1e-9);
  // Counters of April 2026 are the same in both.
  const CoreCounters april = {{"SRCB_WRITE", 90}, {"UNPACK1_BUSY_THREAD0", 600}};
  for (const char* host : {"", kHostOfSeven})
    EXPECT_NEAR(counted({{april, {}}}, host).rows[0].counters.at("Unpacker1 Write Efficiency Avg (%)"), 15,
                1e-9);
}

TEST(ReportOps, a_metric_is_made_of_the_counters_of_one_core) {
  const auto run = counted({{{{"SRCA_WRITE_AVAILABLE", 400},
                              {"SRCA_WRITE_ACTUAL", 300},
                              {"SRCB_WRITE_AVAILABLE", 200},
                              {"SRCB_WRITE_NOT_BLOCKED_PORT", 150},
                              {"UNPACK0_BUSY_THREAD0", 600},
                              {"UNPACK1_BUSY_THREAD0", 600},
                              {"MATH_INSTRN_HF_1_CYCLE", 10},
                              {"MATH_INSTRN_HF_2_CYCLE", 20},
                              {"MATH_INSTRN_HF_4_CYCLE", 10},
                              {"L1_0_NOC_RING0_OUTGOING_0", 100},
                              {"L1_0_NOC_RING0_OUTGOING_1", 300},
                              {"L1_0_NOC_RING0_OUTGOING_0_GRANT", 100},
                              {"L1_0_NOC_RING0_OUTGOING_1_GRANT", 200},
                              {"PACKER_BUSY", 400},
                              {"PACKER_BUSY_0", 100},
                              {"PACKER_BUSY_1", 200},
                              {"PACKER_BUSY_2", 300},
                              {"THREAD_INSTRUCTIONS_0", 250}},
                             {{"SRCA_WRITE_ACTUAL", 200}, {"UNPACK0_BUSY_THREAD0", 1000}}}},
                           kHostOfSeven);
  const auto& c = run.rows[0].counters;
  EXPECT_NEAR(c.at("Unpacker0 Write Efficiency Min (%)"), 20, 1e-9);
  EXPECT_NEAR(c.at("Unpacker0 Write Efficiency Median (%)"), 35, 1e-9);
  EXPECT_NEAR(c.at("Unpacker0 Write Efficiency Max (%)"), 50, 1e-9);
  EXPECT_NEAR(c.at("Unpacker0 Write Efficiency Avg (%)"), 35, 1e-9);
  EXPECT_NEAR(c.at("Unpacker1 Write Efficiency Avg (%)"), 25, 1e-9);   // one core has it
  EXPECT_NEAR(c.at("Unpacker Write Efficiency Max (%)"), 37.5, 1e-9);  // mean of 50 and 25
  EXPECT_NEAR(c.at("Unpacker Write Efficiency Min (%)"), 20, 1e-9);    // of one unpacker
  EXPECT_NEAR(c.at("Unpacker-to-Math Data Flow Avg (%)"), 50, 1e-9);
  EXPECT_NEAR(c.at("SrcA Write Port Blocked Rate Avg (%)"), 25, 1e-9);
  EXPECT_NEAR(c.at("SrcB Write Actual Efficiency Avg (%)"), 75, 1e-9);
  EXPECT_NEAR(c.at("HiFi Fraction Avg (%)"), 75, 1e-9);
  EXPECT_NEAR(c.at("Avg HF Cycles Per Instrn Avg"), 2.25, 1e-9);  // (10 + 2 20 + 4 10) / 40
  EXPECT_NEAR(c.at("NOC Ring 0 Outgoing Util Avg (%)"), 20, 1e-9);
  EXPECT_NEAR(c.at("NOC Ring 0 Outgoing Backpressure Avg (%)"), 25, 1e-9);
  EXPECT_NEAR(c.at("L1 Contention Index Avg (%)"), (0 + 100.0 / 3) / 2, 1e-9);
  EXPECT_FALSE(c.contains("NOC Ring 0 Asymmetry Avg (%)"));  // would need the incoming ones
  EXPECT_NEAR(c.at("Packer Load Imbalance Avg (%)"), 75, 1e-9);
  EXPECT_NEAR(c.at("Packer Engine 2 Util Avg (%)"), 30, 1e-9);
  EXPECT_NEAR(c.at("T0 Instrn Issue Rate Avg"), 0.25, 1e-9);
  EXPECT_FALSE(c.contains("Stall Overlap T0 Avg (ratio)"));
}

TEST(ReportOps, a_device_settles_which_alternative_of_a_metric_it_uses) {
  // The packer was busy in the second program alone; what stands in for it is no alternative any more.
  const CoreCounters idle = {{"PACKER_BUSY", 0},
                             {"PACKER_DEST_READ_AVAILABLE", 200},
                             {"DEST_READ_GRANTED_0", 100},
                             {"MATH_INSTRN_STARTED", 0},
                             {"MATH_INSTRN_AVAILABLE", 50}};
  CoreCounters busy = idle;
  busy["PACKER_BUSY"] = 400;
  const auto both = counted({{idle, {}}, {busy, {}}});
  EXPECT_FALSE(both.rows[0].counters.contains("Packer Efficiency Avg (%)"));
  EXPECT_NEAR(both.rows[1].counters.at("Packer Efficiency Avg (%)"), 50, 1e-9);
  const auto never = counted({{idle, {}}});
  EXPECT_NEAR(never.rows[0].counters.at("Packer Efficiency Avg (%)"), 50, 1e-9);
  EXPECT_NEAR(never.rows[0].counters.at("Dest Read Backpressure Avg (%)"), 50, 1e-9);
  // A counter that stays 0 everywhere is not wired: no utilisation of 0.
  EXPECT_FALSE(never.rows[0].counters.contains("Math Pipeline Utilization Avg (%)"));
}

TEST(ReportOps, counters_that_count_unrelated_things_are_not_compared) {
  const auto backpressure = [](int granted) {
    const auto run = counted({{{{"L1_0_UNPACKER_0", 1000}, {"L1_0_UNPACKER_0_GRANT", granted}}, {}}});
    return run.rows[0].counters.contains("L1 Unpacker Backpressure Avg (%)");
  };
  EXPECT_TRUE(backpressure(900));
  EXPECT_FALSE(backpressure(50));
}

TEST(ReportOps, counters_of_another_execution_are_another_row) {
  std::string text = k13;
  const auto row13 = [](const char* risc, int id, uint64_t time, const std::string& name, const char* type,
                        const std::string& meta = "") {
    return std::string("0,1,1,") + risc + "," + std::to_string(id) + "," + std::to_string(time) + ",0,7," +
           name + "," + type + ",1,f.cc," + meta + "\n";
  };
  for (const auto& [at, value] : {std::pair{1000, 100}, std::pair{5'000'000, 300}}) {
    const auto t = static_cast<uint64_t>(at);
    text +=
        row13("BRISC", 1, t, "BRISC-FW", "ZONE_START") +
        row13("BRISC", 2, t + 10, "BRISC-KERNEL", "ZONE_START") +
        row13("BRISC", 2, t + 90, "BRISC-KERNEL", "ZONE_END") +
        row13("BRISC", 1, t + 100, "BRISC-FW", "ZONE_END") +
        row13("TRISC_1", 9090, t + 50, "", "TS_DATA",
              "{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":1000;\"value\":" + std::to_string(value) + "}");
  }
  const auto run = read(text);
  ASSERT_EQ(run.rows.size(), 2u);
  EXPECT_NEAR(run.rows[0].counters.at("FPU Util Max (%)"), 10, 1e-9);
  EXPECT_NEAR(run.rows[1].counters.at("FPU Util Max (%)"), 30, 1e-9);
}

TEST(ReportOps, every_metric_has_four_columns_of_its_own) {
  std::set<std::string> names;
  const std::vector<std::string> columns = all_counter_columns();
  for (const std::string& name : columns) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_EQ(columns.size() % 4, 0u);
  EXPECT_GT(columns.size(), 4 * 90u);
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

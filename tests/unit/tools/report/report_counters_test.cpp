// Hardware counters to metrics of a program.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tools/report/log_text.hpp"
#include "tools/report/metal_files/counters.hpp"

namespace ttc::report {
namespace {

TEST(ReportCounters, counters_become_shares_over_the_cores) {
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
TEST(ReportCounters, what_the_second_unpacker_wrote_is_another_counter_in_the_device_only_form) {
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

TEST(ReportCounters, a_metric_is_made_of_the_counters_of_one_core) {
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

TEST(ReportCounters, a_device_settles_which_alternative_of_a_metric_it_uses) {
  // The packer was busy in the second program alone; what replaces it is no alternative any more.
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

TEST(ReportCounters, counters_that_count_unrelated_things_are_not_compared) {
  const auto backpressure = [](int granted) {
    const auto run = counted({{{{"L1_0_UNPACKER_0", 1000}, {"L1_0_UNPACKER_0_GRANT", granted}}, {}}});
    return run.rows[0].counters.contains("L1 Unpacker Backpressure Avg (%)");
  };
  EXPECT_TRUE(backpressure(900));
  EXPECT_FALSE(backpressure(50));
}

TEST(ReportCounters, counters_of_another_execution_are_another_row) {
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

TEST(ReportCounters, every_metric_has_four_columns_of_its_own) {
  std::set<std::string> names;
  const std::vector<std::string> columns = all_counter_columns();
  for (const std::string& name : columns) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_EQ(columns.size() % 4, 0u);
  EXPECT_GT(columns.size(), 4 * 90u);
}

}  // namespace
}  // namespace ttc::report

// The lines that `ttcollect run` prints at its end.
#include "tools/report/ops/run_summary.hpp"

#include <gtest/gtest.h>

#include "tools/report/input/device_input.hpp"

namespace ttc::report {
namespace {

DeviceRow row(uint32_t chip, uint32_t id, uint64_t ns, uint64_t gap_ns) {
  DeviceRow r;
  r.device = chip;
  r.call_count = id;
  r.kernel_ns = ns;
  r.kernel_start = r.firmware_start = 1000 * id;
  r.gap_ns = static_cast<int64_t>(gap_ns);
  return r;
}

class SummaryRun {
 public:
  uint32_t code(const std::string& name) {
    const auto at = std::find(run.host.codes.begin(), run.host.codes.end(), name);
    if (at != run.host.codes.end()) return static_cast<uint32_t>(at - run.host.codes.begin());
    run.host.codes.push_back(name);
    return static_cast<uint32_t>(run.host.codes.size() - 1);
  }
  SummaryRun& op(const std::string& name, uint32_t id, uint32_t chip = 0, uint32_t process = 0,
                 std::optional<bool> hit = {}) {
    HostOp o;
    o.code = code(name);
    o.call_count = id;
    o.device = chip;
    o.process = process;
    o.on_device = true;
    o.message_ns = ++now_;
    o.cache_hit = hit;
    run.host.ops.push_back(o);
    return *this;
  }
  SummaryRun& signpost(const std::string& name) {
    run.host.signposts.push_back({name, "", ++now_, {}, 0});
    return *this;
  }
  const Run& with(const DeviceRows& rows) {
    run.rows = rows;
    run.plan = plan_rows(run.rows, run.host, {});
    return run;
  }
  Run run;

 private:
  int64_t now_ = 0;
};

TEST(RunSummary, sums_by_op_and_lists_the_slowest_calls) {
  SummaryRun made;
  made.op("Matmul", 1024).op("Add", 2048, 1).op("Matmul", 3072);
  const RunSummary summary = summarize(
      made.with({row(0, 1024, 3'000'000, 0), row(1, 2048, 500'000, 0), row(0, 3072, 1'000'000, 100)}), {});
  EXPECT_EQ(text_of(summary),
            "3 ops, 4.500 ms of device time on 2 devices; device-bound\n"
            "  device time   share  count  op\n"
            "     4.000 ms   88.9 %      2  Matmul\n"
            "     0.500 ms   11.1 %      1  Add\n"
            "slowest:\n"
            "     3.000 ms   66.7 %  Matmul, call 1024 on device 0\n"
            "     1.000 ms   22.2 %  Matmul, call 3072 on device 0\n"
            "     0.500 ms   11.1 %  Add, call 2048 on device 1\n");
}

DeviceRow measured_row(uint32_t id, uint64_t ns, double bound_ns) {
  DeviceRow r = row(0, id, ns, 0);
  r.kernel_measured = Measured{static_cast<double>(ns), bound_ns};
  return r;
}

TEST(RunSummary, ops_within_their_bounds_share_a_rank) {
  SummaryRun made;
  std::vector<DeviceRow> rows;
  for (uint32_t i = 0; i < 7; ++i) {
    made.op(i < 4 ? "Matmul" : i < 6 ? "Add" : "Other", 1024 + i);
    rows.push_back(measured_row(1024 + i, 1'000'000 - 1000 * i, i == 1 || i >= 4 ? 2000 : 100));
  }
  const RunSummary summary = summarize(made.with(rows), {});
  EXPECT_NEAR(summary.device_bound_us.value_or(0), 8.3, 1e-9);
  EXPECT_NEAR(summary.by_op.at("Add").bound().value_or(0), 4, 1e-9);
  EXPECT_TRUE(summary.slowest_within_bounds);
  ASSERT_EQ(summary.slowest.size(), 5u);
  const std::string text = text_of(summary);
  EXPECT_NE(text.find("6.979 ms of device time (\u00b1 8.3 \u03bcs); device-bound\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("slowest:\n"
                      "     1.000 ms   14.3 %  Matmul, call 1024 on device 0\n"
                      "=    0.999 ms   14.3 %  Matmul, call 1025 on device 0\n"
                      "=    0.998 ms   14.3 %  Matmul, call 1026 on device 0\n"
                      "     0.997 ms   14.3 %  Matmul, call 1027 on device 0\n"
                      "=    0.996 ms   14.3 %  Add, call 1028 on device 0\n"
                      "  the next one may be as long"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("= marks 3 rows that differ"), std::string::npos) << text;
}

// One row without a bound: the sum has none, and nothing shares a rank with it.
TEST(RunSummary, a_sum_with_a_row_without_a_bound_has_none) {
  SummaryRun made;
  made.op("A", 1).op("A", 2).op("B", 3);
  const RunSummary summary = summarize(
      made.with({measured_row(1, 1000, 5000), row(0, 2, 1000, 0), measured_row(3, 1999, 5000)}), {});
  EXPECT_FALSE(summary.device_bound_us);
  EXPECT_FALSE(summary.by_op.at("A").bound());
  EXPECT_TRUE(summary.by_op.at("B").bound());
  EXPECT_NE(text_of(summary).find("\n     0.002 ms   50.0 %      1  B\n"), std::string::npos)
      << text_of(summary);
}

TEST(RunSummary, several_processes_have_lines_of_their_own) {
  SummaryRun made;
  made.run.host.processes = {{0, "70 python3 rank 0"}, {1, "71 python3 rank 1"}};
  made.op("A", 1024, 0, 0).op("A", 1024, 1, 1).op("A", 2048, 1, 1);
  const RunSummary summary = summarize(
      made.with({row(0, 1024, 1'000'000, 0), row(1, 1024, 2'000'000, 0), row(1, 2048, 1'000'000, 9'000'000)}),
      {});
  EXPECT_EQ(summary.by_process.at("71 python3 rank 1").count, 2u);
  const std::string text = text_of(summary);
  EXPECT_NE(text.find("3 ops, 4.000 ms of device time on 2 devices by 2 processes; partly host-bound\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("     3.000 ms   75.0 %      2  71 python3 rank 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("A, call 1024 on device 1 by process 71 python3 rank 1\n"), std::string::npos) << text;
}

TEST(RunSummary, a_window_of_signposts) {
  SummaryRun made;
  made.op("before", 1)
      .signpost("step_2_start")
      .op("in", 2)
      .op("in", 3)
      .signpost("step_2_end")
      .op("behind", 4);
  const report::Run& run =
      made.with({row(0, 1, 10, 0), row(0, 2, 20, 0), row(0, 3, 20, 0), row(0, 4, 10, 0)});
  const RunSummary some = summarize(run, {"step_2_start", "step_2_end", false});
  EXPECT_EQ(some.ops, 2u);
  EXPECT_EQ(some.by_op.count("before") + some.by_op.count("behind"), 0u);
  EXPECT_EQ(summarize(run, {"", "step_2_start", false}).ops, 1u);
  EXPECT_EQ(summarize(run, {"step_2_end", "", false}).ops, 1u);
  EXPECT_THROW(summarize(run, {"step_3_start", "", false}), UnknownName);
  const RunSummary all = summarize(run, {"step_3_start", "", true});
  EXPECT_EQ(all.ops, 4u);
  ASSERT_EQ(all.remarks.size(), 1u);
  EXPECT_NE(all.remarks[0].find("did you mean"), std::string::npos) << all.remarks[0];
}

TEST(RunSummary, a_window_without_an_op_is_the_whole_run_where_that_is_asked_for) {
  SummaryRun made;
  made.signpost("a").signpost("b").op("x", 1);
  const report::Run& run = made.with({row(0, 1, 10, 0)});
  EXPECT_EQ(summarize(run, {"a", "b", false}).ops, 0u);
  EXPECT_EQ(text_of(summarize(run, {"a", "b", false})), "");
  EXPECT_EQ(summarize(run, {"a", "b", true}).ops, 1u);
}

TEST(RunSummary, steps_that_compile_everything_again_are_said) {
  for (const bool cleared : {true, false}) {
    SummaryRun made;
    std::vector<DeviceRow> rows;
    uint32_t id = 0;
    for (int step = 1; step <= 3; ++step) {
      made.signpost("step_" + std::to_string(step) + "_start");
      for (int i = 0; i < 4; ++i) {
        made.op("x", ++id, 0, 0, step > 1 && !cleared);
        rows.push_back(row(0, id, 10, 0));
      }
      made.signpost("step_" + std::to_string(step) + "_end");
    }
    const RunSummary summary = summarize(made.with(rows), {});
    EXPECT_EQ(summary.warning.empty(), !cleared);
    EXPECT_EQ(text_of(summary).find("xr.clear_computation_cache()") != std::string::npos, cleared);
  }
}

TEST(RunSummary, without_a_host_ops_have_their_programs_names) {
  SummaryRun made;
  const RunSummary summary = summarize(made.with({row(0, 5 << 10, 10, 0), row(0, 7, 10, 0)}), {});
  EXPECT_EQ(summary.by_op.count("program 5") + summary.by_op.count("program 7"), 2u);
}

}  // namespace
}  // namespace ttc::report

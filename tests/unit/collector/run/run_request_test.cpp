#include "collector/run/request/run_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collector/program/program.hpp"

namespace {

using namespace ttc;
using namespace ttc::collect;

RunRequest plain() {
  RunRequest request;
  request.switches.resize(switch_variables().size());
  return request;
}

std::string value_of(const EnvironmentPlan& plan, const std::string& name) {
  for (const auto& [variable, value] : plan.set)
    if (variable == name) return value;
  return {};
}

TEST(RunRequest, sets_what_a_profiled_workload_needs) {
  const EnvironmentPlan plan = plan_environment(plain(), {}, "/root");
  EXPECT_EQ(value_of(plan, "TT_METAL_DEVICE_PROFILER"), "1");
  EXPECT_EQ(value_of(plan, "TTNN_OP_PROFILER"), "1");
  EXPECT_EQ(value_of(plan, "TT_METAL_PROFILER_TRACE_TRACKING"), "1");
  EXPECT_EQ(value_of(plan, "TT_METAL_PROFILER_DIR"), "/root");
  EXPECT_EQ(value_of(plan, "TRACY_NO_EXIT"), "");
  EXPECT_TRUE(plan.unset.empty());
  EXPECT_TRUE(plan.sentences.empty());
}

TEST(RunRequest, overrides_nothing_that_the_user_set_and_says_so) {
  const EnvironmentPlan plan =
      plan_environment(plain(), {{"TT_METAL_DEVICE_PROFILER", "0"}, {"TTNN_OP_PROFILER", "1"}}, "/root");
  EXPECT_EQ(value_of(plan, "TT_METAL_DEVICE_PROFILER"), "");
  EXPECT_EQ(value_of(plan, "TTNN_OP_PROFILER"), "");
  ASSERT_EQ(plan.sentences.size(), 1u);
  EXPECT_NE(plan.sentences[0].find("TT_METAL_DEVICE_PROFILER=0 is set in the environment and stays"),
            std::string::npos);
}

TEST(RunRequest, takes_away_the_port_that_processes_cannot_share) {
  const EnvironmentPlan plan = plan_environment(plain(), {{"TRACY_PORT", "8086"}}, "/root");
  EXPECT_EQ(plan.unset, std::vector<std::string>{"TRACY_PORT"});
  EXPECT_EQ(plan.sentences.size(), 1u);
}

TEST(RunRequest, no_device_takes_the_switch_of_the_profiler_away) {
  RunRequest request = plain();
  request.no_device = true;
  const EnvironmentPlan plan = plan_environment(request, {{"TT_METAL_DEVICE_PROFILER", "1"}}, "/root");
  EXPECT_EQ(value_of(plan, "TT_METAL_DEVICE_PROFILER"), "");
  EXPECT_EQ(plan.unset, std::vector<std::string>{"TT_METAL_DEVICE_PROFILER"});
}

TEST(RunRequest, every_switch_sets_its_variable) {
  for (size_t i = 0; i < switch_variables().size(); ++i) {
    RunRequest request = plain();
    request.switches[i] = true;
    EXPECT_EQ(value_of(plan_environment(request, {}, "/root"), switch_variables()[i].variable), "1");
  }
}

TEST(RunRequest, options_with_a_value) {
  RunRequest request = plain();
  request.programs_per_core = 5000;
  request.noc_traces = true;
  request.perf_counters = "fpu,l1_0";
  const EnvironmentPlan plan = plan_environment(request, {}, "/root");
  EXPECT_EQ(value_of(plan, "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"), "5000");
  EXPECT_EQ(value_of(plan, "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH"), "/root/.logs");
  EXPECT_EQ(value_of(plan, "TT_METAL_PROFILE_PERF_COUNTERS"), "9");
}

TEST(RunRequest, groups_of_counters) {
  EXPECT_EQ(perf_counter_bits("all"), 47u);
  EXPECT_EQ(perf_counter_bits("l1_4,fpu"), 257u);
  EXPECT_THROW(perf_counter_bits("fpu,"), program::UsageError);
}

TEST(RunRequest, root_of_the_artifacts_is_that_of_tt_metal) {
  RunRequest request = plain();
  EXPECT_EQ(artifacts_root(request, {}, "/here"), "/here/generated/profiler");
  EXPECT_EQ(artifacts_root(request, {{"TT_METAL_HOME", "/metal"}}, "/here"), "/metal/generated/profiler");
  const Environment both{{"TT_METAL_HOME", "/metal"}, {"TT_METAL_PROFILER_DIR", "there/"}};
  EXPECT_EQ(artifacts_root(request, both, "/here"), "/here/there");
  request.root = "out";
  EXPECT_EQ(artifacts_root(request, both, "/here"), "/here/out");
}

TEST(RunRequest, a_range_is_a_window_of_steps) {
  RunRequest both, from, to;
  set_range("3..5", both);
  EXPECT_EQ(both.first_step, 3u);
  EXPECT_EQ(both.last_step, 5u);
  EXPECT_TRUE(both.paused);
  EXPECT_EQ(both.start_signpost, "step_3_start");
  EXPECT_EQ(both.end_signpost, "step_5_end");
  set_range("3..", from);
  EXPECT_TRUE(from.paused && from.first_step && !from.last_step && from.end_signpost.empty());
  set_range("..5", to);
  EXPECT_TRUE(!to.paused && !to.first_step && to.last_step && to.start_signpost.empty());
  for (const char* wrong : {"", "..", "3", "5..3", "a..b", "3...5", "-1..2", "1..2x", "1.5..2"}) {
    RunRequest request;
    EXPECT_THROW(set_range(wrong, request), ttc::program::UsageError) << wrong;
  }
}

}  // namespace

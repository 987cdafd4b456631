// Findings about a workload's environment: profilers that exclude each other, variables without the effect they seem to have.
#include <gtest/gtest.h>

#include <string>

#include "collector/doctor/doctor_report.hpp"
#include "collector/doctor/findings.hpp"
#include "tests/unit/collector/doctor/findings_fixture.hpp"

namespace ttc::collect::doctor {
namespace {

TEST_F(DoctorFindings, other_profilers) {
  variables() = {{"TT_METAL_STREAMING_PROFILER", "1"}};
  only("streaming-profiler", kStops, "On Wormhole it has no relays");
  function().arch = "blackhole";
  EXPECT_EQ(only("streaming-profiler", kStops, "excludes").cause.find("Wormhole"), std::string::npos);
  variables() = {{"TT_METAL_DEVICE_DEBUG_DUMP_ENABLED", "10"}};
  only("debug-dump", kStops, "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED=10");
}

TEST_F(DoctorFindings, settings_that_exclude_each_other) {
  variables()["TT_METAL_DPRINT_CORES"] = "all";
  only("profiler-and-dprint", kStops, "env -u TT_METAL_DPRINT_CORES");
  variables().erase("TT_METAL_DPRINT_CORES");
  variables()["TT_METAL_STREAMING_PROFILER"] = "1";
  only("two-profilers", kStops, "env -u TT_METAL_STREAMING_PROFILER");
  variables().erase("TT_METAL_STREAMING_PROFILER");
  variables()["TT_METAL_WATCHER"] = "120";
  only("profiler-and-watcher", kSpoils, "region overflowed");
}

TEST_F(DoctorFindings, profilers_beside_ours_are_named_with_what_they_exclude) {
  EXPECT_TRUE(other_profilers_of(m, workload()).empty());
  workload().has_real_time_profiler = true;
  EXPECT_TRUE(findings_of(m).empty());
  ASSERT_EQ(other_profilers_of(m, workload()).size(), 1u);
  EXPECT_NE(to_text(m, {}).find("it excludes the streaming profiler and nothing that ttcollect does"),
            std::string::npos);
  variables().erase("TT_METAL_DEVICE_PROFILER");
  variables()["TT_METAL_STREAMING_PROFILER"] = "1";
  EXPECT_NE(to_text(m, {}).find("it excludes the device profiler and the real-time profiler"),
            std::string::npos);
}

TEST_F(DoctorFindings, the_real_time_profiler_is_off_on_a_blackhole_behind_no_translating_iommu) {
  workload().has_real_time_profiler = true;
  m.cards[0].function.arch = "blackhole";
  const auto said = [&] { return other_profilers_of(m, workload()).at(0); };
  EXPECT_NE(said().find("is off on /dev/tenstorrent/0"), std::string::npos) << said();
  EXPECT_NE(said().find("is not there"), std::string::npos) << said();
  m.cards[0].iommu = "identity";
  EXPECT_NE(said().find("is identity"), std::string::npos) << said();
  for (const char* translating : {"DMA", "DMA-FQ"}) {
    m.cards[0].iommu = translating;
    EXPECT_NE(said().find("on wherever it can be"), std::string::npos) << said();
  }
  m.cards[0].iommu.clear();
  m.cards[0].function.arch = "wormhole_b0";
  EXPECT_NE(said().find("on wherever it can be"), std::string::npos) << said();
}

TEST_F(DoctorFindings, names_that_nothing_reads) {
  variables()["TT_METAL_DEVICE_PROFLER"] = "1";
  const Finding f = only("variable-misspelt", kSpoils, "did you mean TT_METAL_DEVICE_PROFILER?");
  EXPECT_NE(f.evidence.find("/opt/tt/libtt_metal.so does not contain the name"), std::string::npos);
  workload().names_in_library = {"TT_METAL_DEVICE_PROFLER"};  // this build reads it all the same
  EXPECT_TRUE(findings_of(m).empty());
  workload().names_in_library.clear();
  variables()["TT_METAL_DEVICE_PROFLER"] = "1; rm -rf 'x'";  // what is printed may be pasted
  only("variable-misspelt", kSpoils, R"(with TT_METAL_DEVICE_PROFILER='1; rm -rf '\''x'\''')");
  variables().erase("TT_METAL_DEVICE_PROFLER");
  variables()["TT_METAL_MY_OWN_THING"] = "1";
  only("variable-unknown", kSpoils, "rtoptions.cpp");
}

// A variable alone proves nothing: who does not run tt-metal may have any.
TEST_F(DoctorFindings, variables_of_a_process_that_is_no_workload) {
  m.processes.push_back(running(200, "bash"));
  m.processes.back().holds = {kNode};
  opened(m, 0, 200);
  (*m.processes.back().environment)["TT_METAL_DEVICE_PROFLER"] = "1";
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, values_that_are_not_read_as_they_look) {
  const struct {
    const char *name, *value, *words;
  } kCases[] = {
      {"TT_METAL_PROFILER_SYNC", "true", "only a value that begins with 1 counts"},
      {"TT_METAL_PROFILER_TRACE_TRACKING", "on", "TT_METAL_PROFILER_TRACE_TRACKING=1"},
      {"TT_METAL_NULL_KERNELS", "0", "switches it on, not off"},
      {"TT_METAL_SLOW_DISPATCH_MODE", "0", "env -u TT_METAL_SLOW_DISPATCH_MODE"},
      {"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", "4k", "is no whole number"},
      {"TT_METAL_PROFILE_PERF_COUNTERS", "0x1f", "TT_METAL_PROFILE_PERF_COUNTERS=31"},
      {"TT_METAL_NO_RT_PROFILER", "1", "no build is known that reads it"},
      {"TT_METAL_WATCHER_NOINLINE", "false", "any value counts"},
  };
  for (const auto& c : kCases) {
    m = healthy();
    variables()[c.name] = c.value;
    only("variable-ineffective", kSpoils, c.words);
  }
  for (const char* value : {"0", "", "false", "1"}) {
    m = healthy();
    variables()["TT_METAL_PROFILER_SYNC"] = value;
    EXPECT_TRUE(findings_of(m).empty()) << value;
  }
}

TEST_F(DoctorFindings, a_setting_of_the_profiler_without_the_profiler) {
  workload().holds.clear();  // so that profiler-off is not reported
  variables() = {{"TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", "4000"}};
  only("variable-ineffective", kSpoils, "read only when the profiler is on");
}

// The command of tt-train's guide: https://github.com/tenstorrent/tt-metal, tt-train/docs/PROFILER.md
TEST_F(DoctorFindings, delays_that_delay_nothing) {
  const Environment guide{
      {"TT_METAL_WATCHER_NOINLINE", "1"},         {"TT_METAL_WATCHER_DEBUG_DELAY", "10"},
      {"TT_METAL_READ_DEBUG_DELAY_CORES", "0,0"}, {"TT_METAL_WRITE_DEBUG_DELAY_CORES", "0,0"},
      {"TT_METAL_READ_DEBUG_DELAY_RISCVS", "BR"}, {"TT_METAL_WRITE_DEBUG_DELAY_RISCVS", "BR"}};
  variables() = guide;
  workload().holds.clear();
  const Finding f = only("delay-without-effect", kSpoils, "TT_METAL_WATCHER is not set");
  EXPECT_NE(f.cause.find("clock cycles, not milliseconds"), std::string::npos);
  EXPECT_NE(f.fix.find("TT_METAL_WATCHER=120 TT_METAL_WATCHER_DEBUG_DELAY=10000"), std::string::npos);
  variables()["TT_METAL_WATCHER"] = "120";
  EXPECT_TRUE(findings_of(m).empty());
  for (const char* word : {"all", "worker", "dispatch"}) {
    variables()["TT_METAL_READ_DEBUG_DELAY_CORES"] = word;
    only("delay-without-effect", kSpoils, "leaves the list of cores empty");
  }
  variables()["TT_METAL_READ_DEBUG_DELAY_CORES"] = "0,0";
  variables()["TT_METAL_WATCHER_DISABLE_NOC_SANITIZE"] = "1";
  only("delay-without-effect", kSpoils, "delays sit in what it leaves out");
  variables() = {{"TT_METAL_WATCHER", "1"}, {"TT_METAL_WATCHER_DEBUG_DELAY", "10"}};
  only("delay-without-effect", kSpoils, "no core is named");
  variables() = {{"TT_METAL_WATCHER", "1"}, {"TT_METAL_READ_DEBUG_DELAY_CORES", "0,0"}};
  only("delay-without-effect", kSpoils, "missing or 0");
}

TEST_F(DoctorFindings, a_list_of_cores_without_brackets_is_one_core) {
  workload().holds.clear();
  variables() = {{"TT_METAL_DPRINT_CORES", "0,0,1,1"}};
  only("variable-ineffective", kSpoils, "names one core");
  variables() = {{"TT_METAL_DPRINT_CORES", "(0,0),(1,1)"}};
  EXPECT_TRUE(findings_of(m).empty());
}

}  // namespace
}  // namespace ttc::collect::doctor

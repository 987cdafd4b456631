// Findings about a workload: its build, packages, kernels and logs, and its Tracy client.
#include <gtest/gtest.h>

#include <string>

#include "collector/doctor/doctor_report.hpp"
#include "collector/doctor/findings.hpp"
#include "tests/unit/collector/doctor/findings_fixture.hpp"

namespace ttc::collect::doctor {
namespace {

TEST_F(DoctorFindings, sources_of_another_tree_than_the_library) {
  workload().metal_home = "/opt/tt";
  workload().metal_home_from = "TT_METAL_HOME";
  EXPECT_TRUE(findings_of(m).empty()) << "it is that tree's";
  workload().metal_home = "/opt/t";
  only("metal-home-differs", kSpoils, "env -u TT_METAL_HOME");
}

TEST_F(DoctorFindings, a_package_in_two_versions) {
  workload().packages_at = "/opt/venv/lib/python3.10/site-packages";
  workload().packages = {{"tt_perf_report", "1.3.0"}, {"ttnn", "0.61.0"}};
  EXPECT_TRUE(findings_of(m).empty());
  EXPECT_NE(to_text(m, {}).find(", with tt_perf_report 1.3.0, ttnn 0.61.0"), std::string::npos);
  workload().packages.emplace_back("ttnn", "0.62.1");
  only("package-twice", kSpoils, "ttnn-0.61.0.dist-info and ttnn-0.62.1.dist-info");
}

TEST_F(DoctorFindings, the_version_of_a_tracy_client_is_shown_and_is_no_finding) {
  workload().tracy_version = "0.10.0";
  EXPECT_NE(to_text(m, findings_of(m)).find("8086  pid 100 (python3), a Tracy client of 0.10.0\n"),
            std::string::npos);
  workload().tracy_protocol = 66;
  EXPECT_NE(to_text(m, {}).find("of 0.10.0, protocol 66 (0.11.0, or Tenstorrent's fork of 0.10)\n"),
            std::string::npos);
  workload().tracy_protocol = 81;
  EXPECT_NE(to_text(m, {}).find("protocol 81 (no release)\n"), std::string::npos);
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_workload_without_the_profiler) {
  variables().erase("TT_METAL_DEVICE_PROFILER");
  variables().erase("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT");
  only("profiler-off", kStops, "TT_METAL_DEVICE_PROFILER=1");
  workload().holds.clear();  // it has not opened the card: it may do something else
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_build_without_tracy) {
  workload().tracy_library = false;
  workload().metal_lacks_tracy = true;
  EXPECT_TRUE(findings_of(m).empty()) << "it listens: a Tracy client is in it";
  m.listeners.clear();
  only("built-without-tracy", kStops, "ENABLE_TRACY=OFF");
}

TEST_F(DoctorFindings, a_library_that_was_replaced_under_a_workload) {
  workload().metal_replaced = true;
  only("library-replaced", kSpoils, "/opt/tt/libtt_metal.so (deleted)");
}

TEST_F(DoctorFindings, kernels_from_a_cache_that_have_no_names) {
  workload().has_zone_logs = false;
  only("no-zone-names", kAdvice, "TT_METAL_FORCE_JIT_COMPILE=1");
}

TEST_F(DoctorFindings, cached_kernels_without_the_profiler) {
  workload().has_zone_logs = false;
  workload().kernels = {"/root/.cache/tt-metal-cache", 40, false, false, true};
  only("cached-without-profiler", kSpoils, "none of 40 kernels has code of the profiler");
  for (bool KernelCache::*otherwise : {&KernelCache::profiled, &KernelCache::grew}) {
    workload().kernels.*otherwise = true;
    only("no-zone-names", kAdvice, "TT_METAL_FORCE_JIT_COMPILE=1");
    workload().kernels.*otherwise = false;
  }
  workload().kernels.examined_all = false;
  only("no-zone-names", kAdvice, "TT_METAL_FORCE_JIT_COMPILE=1");
}

TEST_F(DoctorFindings, firmware_that_is_older_than_what_a_package_names) {
  workload().packages_at = "/opt/venv/lib/python3.10/site-packages";
  workload().packages = {{"ttnn", "0.60.1"}};
  EXPECT_TRUE(findings_of(m).empty());
  function().firmware = "80.15.0.0";
  only("firmware-below-package", kAdvice, "names bundle 80.17.0.0");
  for (const char* newer : {"80.17.0.0", "18.2.0.0", "odd"}) {
    function().firmware = newer;
    EXPECT_TRUE(findings_of(m).empty()) << newer;
  }
  function().firmware = "80.15.0.0";
  workload().packages = {{"ttnn", "0.56.0rc3"}};
  EXPECT_TRUE(findings_of(m).empty());
  function().arch = "blackhole";
  function().firmware = "80.14.0.0";
  only("firmware-below-package", kAdvice, "names bundle 80.15.0.0");
  for (const char* later : {"0.61.0", "0.69.0", "1.0.0"}) {
    workload().packages = {{"ttnn", later}};
    function().firmware = "18.4.0.0";
    only("firmware-below-package", kAdvice, "names bundle 18.5.0");
    function().firmware = "18.5.0.0";
    EXPECT_TRUE(findings_of(m).empty()) << later;
  }
  function().arch = "wormhole_b0";
  function().firmware = "18.2.0.0";
  only("firmware-below-package", kAdvice, "names bundle 18.3.0");
}

TEST_F(DoctorFindings, logs_that_will_fill_and_logs_that_are_full) {
  m.collectors.clear();
  const Finding f = only("log-will-fill", kAdvice, "a core's log holds 4000 programs");
  EXPECT_NE(f.fix.find("ttcollect --device 0 --recycle"), std::string::npos);
  EXPECT_NE(f.fix.find("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"), std::string::npos);
  variables()["TT_METAL_PROFILER_MID_RUN_DUMP"] = "1";
  EXPECT_TRUE(findings_of(m).empty());
  m.collectors.push_back({"wormhole-1", kNode, 300, 12});
  only("log-full", kSpoils, "12 launches dropped");
}

TEST_F(DoctorFindings, a_tracy_client_without_a_port) {
  variables()["TRACY_PORT"] = "8086";
  EXPECT_TRUE(findings_of(m).empty());
  m.listeners[0] = {8086, 500, "influxd", 0};
  EXPECT_EQ(only("tracy-port-taken", kSpoils, "pid 500 (influxd)").pid, 100);
}

TEST_F(DoctorFindings, somebody_else_on_tracys_port) {
  m.listeners[0] = {8087, 100, "python3", 0};
  m.listeners.push_back({8086, 500, "influxd", 0});
  only("tracy-port-foreign", kSpoils, "tracy-capture -p 8087");
  m.listeners[1].pid = 0;
  m.listeners[1].name.clear();
  only("tracy-port-foreign", kSpoils, "it is not visible whether a Tracy client answers there");
  m.processes.clear();  // without a client it concerns no process
  m.cards[0].function.openers.clear();
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, several_tracy_clients) {
  m.processes.push_back(running(200, "worker"));
  m.processes.back().tracy_library = true;
  m.listeners.push_back({8087, 200, "worker", 0});
  only("several-tracy-clients", kAdvice, "8086 pid 100 (python3), 8087 pid 200 (worker)");
}

}  // namespace
}  // namespace ttc::collect::doctor

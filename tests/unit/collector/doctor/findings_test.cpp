// Each finding on plain values: a healthy machine has none, and one thing wrong with it gives exactly the one finding.
#include "collector/doctor/findings.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "collector/doctor/doctor_report.hpp"

namespace ttc::collect::doctor {
namespace {

constexpr const char* kNode = "/dev/tenstorrent/0";

CardState healthy_card(unsigned n, const char* bdf) {
  CardState c;
  c.function.bdf = bdf;
  c.function.arch = "wormhole_b0";
  c.function.driver = "tenstorrent";
  c.function.ordinal = n;
  c.function.node = "/dev/tenstorrent/" + std::to_string(n);
  c.function.driver_version = "2.10.0";
  c.function.firmware = "19.13.0.0";
  c.function.link = c.function.best_link = {"16.0 GT/s PCIe", "16"};
  c.function.numa_node = 0;
  c.function.local_cpus = "0-3";
  c.driver_lists_openers = true;
  c.heartbeat = {100, 107};
  c.therm_trips = 0;
  c.sensors = {{"temp1", 45000, 75000}, {"power1", 60'000'000, 160'000'000}};
  return c;
}

void opened(MachineState& m, size_t card, int pid) {
  card::Opener o;
  o.pid = pid;
  o.descriptors = 2;
  m.cards[card].function.openers.push_back(o);
}

ProcessState running(int pid, const char* name) {
  ProcessState p;
  p.pid = pid;
  p.parent = 10;
  p.session = 10;
  p.state = 'S';
  p.name = name;
  p.command = name;
  p.age_s = 200;
  p.environment.emplace();
  return p;
}

// A card, a profiled workload on it with a Tracy client at 8086, a collector beside it.
MachineState healthy() {
  MachineState m;
  m.cards.push_back(healthy_card(0, "0000:01:00.0"));
  ProcessState p = running(100, "python3");
  p.holds = {kNode};
  p.metal_library = "/opt/tt/libtt_metal.so";
  p.tracy_library = true;
  p.names_searched = true;
  p.zone_log_directory = "/proc/100/root/opt/tt/generated/profiler/.logs";
  p.has_zone_logs = true;
  (*p.environment)["TT_METAL_DEVICE_PROFILER"] = "1";
  (*p.environment)["TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"] = "4000";
  (*p.environment)["TT_METAL_HOME"] = "/opt/tt";
  m.processes.push_back(p);
  opened(m, 0, 100);
  m.cards[0].function.umd_owner_pid = 100;
  m.cards[0].lock = {true, false, 100, true};
  m.listeners.push_back({8086, 100, "python3", 0});
  m.collectors.push_back({"wormhole-1", kNode, 300, 0});
  m.host.shm_free = uint64_t{1} << 30;
  m.host.memlock = 8 << 20;
  m.host.cpu_quota = 4.0;
  m.host.memory_left = uint64_t{4} << 30;
  m.host.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  m.host.governors["performance"] = {0, 1, 2, 3};
  m.host.governors["powersave"] = {4, 5, 6, 7};  // not near the card
  m.host.idle_us = {{"POLL", 0}, {"C1", 2}};
  m.host.installed_driver = "2.10.0";
  return m;
}

class DoctorFindings : public testing::Test {
 protected:
  MachineState m = healthy();
  ProcessState& workload() { return m.processes.front(); }
  Environment& variables() { return *workload().environment; }
  card::PciFunction& function() { return m.cards.front().function; }

  // The one finding there is. Its sentence holds `words`, and it is complete.
  Finding only(const char* id, Weight weight, const std::string& words) {
    const Findings found = findings_of(m);
    std::string ids;
    for (const Finding& f : found) ids += f.id + " ";
    EXPECT_EQ(ids, std::string(id) + " ");
    if (found.empty()) return {"none", Weight::advice};
    const Finding& f = found.front();
    EXPECT_EQ(f.weight, weight) << f.id;
    const std::string all = f.what + "|" + f.evidence + "|" + f.cause + "|" + f.fix;
    EXPECT_NE(all.find(words), std::string::npos) << all;
    for (const std::string& part : {f.what, f.evidence, f.cause, f.fix}) EXPECT_FALSE(part.empty()) << f.id;
    EXPECT_EQ(stands_in_the_way(found), weight != Weight::advice);
    return f;
  }
};
constexpr Weight kStops = Weight::stops, kSpoils = Weight::spoils, kAdvice = Weight::advice;

TEST_F(DoctorFindings, a_healthy_machine_has_none) {
  EXPECT_TRUE(findings_of(m).empty()) << to_text(m, findings_of(m));
  EXPECT_NE(to_text(m, {}).find("nothing stands in the way"), std::string::npos);
}

// Facts that cannot be read cause no finding.
TEST_F(DoctorFindings, a_machine_that_shows_little_has_none) {
  MachineState little;
  little.cards.push_back(healthy_card(0, "0000:01:00.0"));
  CardState& c = little.cards[0];
  c.function.driver_version = c.function.firmware = c.function.local_cpus = "";
  c.function.link = c.function.best_link = {};
  c.function.numa_node = -1;
  c.heartbeat.clear();
  c.sensors.clear();
  c.therm_trips.reset();
  little.host.shm_free = uint64_t{1} << 30;
  ProcessState p;
  p.pid = 5;
  p.may_be_read = false;
  p.holds = {kNode};
  little.processes.push_back(p);
  opened(little, 0, 5);
  EXPECT_TRUE(findings_of(little).empty()) << to_text(little, findings_of(little));
}

TEST_F(DoctorFindings, a_machine_without_any_card) {
  m.cards.clear();
  m.processes.clear();
  m.listeners.clear();
  only("no-card", kStops, "0x1e52");
  m.emulated.push_back({"demo", 0});
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_function_without_a_working_driver) {
  CardState without;
  without.function.bdf = "0000:02:00.0";
  m.cards.push_back(without);
  only("no-driver", kStops, "sudo modprobe tenstorrent");
  m.cards[1].function.driver = "vfio-pci";
  only("no-driver", kStops, "bound to vfio-pci");
  m.cards[1].function.driver = "tenstorrent";
  only("no-driver", kStops, "gave up on this card");
}

TEST_F(DoctorFindings, a_node_that_this_user_may_not_open) {
  m.cards[0].node_readable = false;
  only("no-permission", kStops, "sudo chmod a+rw /dev/tenstorrent/0");
}

TEST_F(DoctorFindings, driver_versions) {
  m.host.installed_driver.reset();
  function().driver_version = "1.34";
  only("driver-too-old", kStops, "tt-kmd 2.0");
  function().driver_version = "2.4.1";
  only("driver-lacks", kAdvice, "who has the card open (2.5)");
  function().driver_version = "2.6.0";
  EXPECT_EQ(only("driver-lacks", kAdvice, "2.7").cause.find("power votes"), std::string::npos);
  function().driver_version = "2.7.0";
  EXPECT_TRUE(findings_of(m).empty());
  m.host.installed_driver = "2.10.0";
  only("driver-not-reloaded", kAdvice, "driver 2.7.0 is loaded and 2.10.0 is installed");
}

TEST_F(DoctorFindings, firmware_of_two_cards_that_differs) {
  m.cards.push_back(healthy_card(1, "0000:02:00.0"));
  EXPECT_TRUE(findings_of(m).empty());
  m.cards[1].function.firmware = "18.5.0.0";
  only("firmware-differs", kAdvice, "/dev/tenstorrent/1: tt_fw_bundle_ver 18.5.0.0");
  m.cards[1].function.arch = "blackhole";
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_reset_that_never_ended_and_firmware_that_stands_still) {
  m.cards[0].heartbeat = {100, 100};
  only("firmware-stands-still", kStops, "not verified on silicon");
  m.cards[0].resetting = true;
  only("resetting", kStops, "tt-smi -r 0");
}

TEST_F(DoctorFindings, heat_and_power) {
  m.cards[0].sensors[0].input = 75000;
  only("throttled", kAdvice, "temp1_input 75.0, temp1_max 75.0 C");
  m.cards[0].sensors[0].input = 74999;
  m.cards[0].sensors[1].input = 161'000'000;
  only("throttled", kAdvice, "power1_input 161.0");
  m.cards[0].sensors.clear();
  m.cards[0].therm_trips = 2;
  only("thermal-trip", kAdvice, "tt_therm_trip_count: 2");
}

TEST_F(DoctorFindings, a_link_below_its_best) {
  function().link.width = "8";
  only("link-below-best", kAdvice, "16.0 GT/s PCIe x8 now");
}

TEST_F(DoctorFindings, a_holder_that_is_stopped) {
  workload().state = 'T';
  const Finding f = only("stale-holder", kStops, "kill -CONT 100");
  EXPECT_NE(f.fix.find("tt-smi -r 0"), std::string::npos);
  EXPECT_EQ(f.pid, 100);
  function().openers[0].observer = true;  // an observer disturbs no process
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_holder_that_waits_in_the_kernel_may_wait_for_a_disk) {
  workload().state = 'D';
  only("stale-holder", kAdvice, "takes no signals");
}

TEST_F(DoctorFindings, a_holder_whose_session_is_gone) {
  workload().parent = 1;
  workload().session_leader_lives = false;
  only("stale-holder", kStops, "for at most 3 min 20 s");
}

TEST_F(DoctorFindings, a_service_and_a_nohup_job_are_not_stale) {
  workload().parent = 1;
  workload().session = 100;  // leads its own
  EXPECT_TRUE(findings_of(m).empty());
  workload().session = 10;
  workload().session_leader_lives = false;
  workload().ignores_hangup = true;
  EXPECT_TRUE(findings_of(m).empty());
}

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

TEST_F(DoctorFindings, two_workloads_on_one_chip) {
  ProcessState second = workload();
  second.pid = 200;
  m.processes.push_back(second);
  opened(m, 0, 200);
  const Finding f = only("two-workloads", kStops, "kill -TERM 200");
  EXPECT_EQ(f.card, kNode);
  // A fork has its parent's descriptors. The driver's list is without forks, other processes' descriptors are not.
  m.processes[1].parent = 100;
  only("two-workloads", kStops, "2 tt-metal processes");
  m.cards[0].driver_lists_openers = false;
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_tool_beside_a_workload_is_no_second_one) {
  m.processes.push_back(running(200, "tt-smi"));
  m.processes.back().holds = {kNode};
  opened(m, 0, 200);
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_workload_that_waits_for_the_chip) {
  m.processes.push_back(running(200, "pytest"));
  m.processes.back().waits_for_chip = {0};
  m.cards[0].lock.waited_for = true;
  m.processes.back().holds = {kNode};  // UMD opens the node before it waits: one finding, not two
  opened(m, 0, 200);
  const Finding f =
      only("chip-in-use", kStops, "pid 200 (pytest), running for 3 min 20 s, waits for CHIP_IN_USE_0_PCIe");
  EXPECT_NE(f.cause.find("pid 100 (python3)"), std::string::npos);
  EXPECT_NE(f.fix.find("kill -TERM 100"), std::string::npos);
}

TEST_F(DoctorFindings, a_lock_whose_owner_cannot_be_seen) {
  m.cards[0].lock = {true, true, 999, false};
  const Finding f = only("chip-in-use", kStops, "docker ps");
  EXPECT_NE(f.fix.find("rm /dev/shm/TT_UMD_LOCK.CHIP_IN_USE_0_PCIe"), std::string::npos);
  m.cards[0].lock = {false, true, 999, false};  // released meanwhile
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, a_node_that_somebody_has_for_himself) {
  workload().holds_exclusive = {kNode};
  only("exclusive-holder", kStops, "O_EXCL");
}

TEST_F(DoctorFindings, a_stopped_emulated_card) {
  m.emulated.push_back({"demo", 400});
  m.processes.push_back(running(400, "ttemu"));
  m.processes.back().holds = {"emu:demo"};
  EXPECT_TRUE(findings_of(m).empty());
  m.processes.back().state = 'T';
  only("stale-holder", kStops, "kill -CONT 400");
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

TEST_F(DoctorFindings, limits_of_the_machine_and_of_containers) {
  HostState& h = m.host;
  const HostState fine = h;
  h.shm_free = 39 << 20;
  only("shm-small", kStops, "--shm-size=1g");
  h.shm_free.reset();
  only("shm-small", kStops, "there is no /dev/shm");
  h = fine;
  h.memlock = 64 << 10;
  only("memlock-small", kAdvice, "64 KiB");
  h = fine;
  h.memory_left = 100 << 20;
  only("memory-limit", kAdvice, "100 MiB");
  h = fine;
  h.io_uring_disabled = 2;
  only("io-uring-off", kAdvice, "io_uring_disabled: 2");
  h = fine;
  h.io_uring_error = EPERM;
  only("io-uring-off", kAdvice, "Operation not permitted");
  h = fine;
  h.cpu_quota = 0.5;
  only("cpu-quota", kSpoils, "0.50 of a CPU");
  h = fine;
  h.allowed = {1};
  only("one-cpu", kAdvice, "sched_getaffinity");
}

TEST_F(DoctorFindings, what_costs_latency_on_the_host) {
  HostState& h = m.host;
  const HostState fine = h;
  h.allowed = {4, 5};
  only("far-from-card", kAdvice, "numactl --cpunodebind=0");
  h = fine;
  h.governors["schedutil"] = {2};
  only("cpu-governor", kAdvice, "cpu2/cpufreq/scaling_governor: schedutil");
  h = fine;
  h.idle_us["C6"] = 133;
  only("deep-idle", kAdvice, "C6 133 us");
  m.cards.clear();  // an emulated card has no link
  m.processes.clear();
  m.listeners.clear();
  m.collectors.clear();
  m.emulated.push_back({"demo", 0});
  EXPECT_TRUE(findings_of(m).empty());
}

TEST_F(DoctorFindings, one_process_asked_for) {
  m.cards.push_back(healthy_card(1, "0000:02:00.0"));
  m.cards[1].node_readable = false;
  m.processes.push_back(running(200, "other"));
  m.processes.back().metal_library = "/opt/tt/libtt_metal.so";
  m.processes.back().holds = {"/dev/tenstorrent/1"};
  opened(m, 1, 200);
  (*m.processes.back().environment)["TT_METAL_DEVICE_PROFILER"] = "yes";
  variables()["TT_METAL_WATCHER"] = "1";
  m.only_pid = 100;
  only("profiler-and-watcher", kSpoils, "pid 100");
  m.only_pid = 0;
  EXPECT_EQ(findings_of(m).size(), 4u) << to_text(m, findings_of(m));
  EXPECT_EQ(findings_of(m).front().weight, kStops);
  EXPECT_EQ(findings_of(m).back().weight, kSpoils);
}

TEST_F(DoctorFindings, both_reports_have_all_of_a_finding) {
  workload().state = 'T';
  const Findings found = findings_of(m);
  const std::string text = to_text(m, found), json = to_json(m, found);
  for (const std::string& part :
       {found[0].id, found[0].what, found[0].evidence, found[0].cause, found[0].fix}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_NE(json.find(part), std::string::npos) << json;
  }
  EXPECT_NE(text.find("1 thing stands in the way; read: 1 card"), std::string::npos) << text;
  EXPECT_NE(text.find("port    8086  pid 100 (python3), a Tracy client"), std::string::npos) << text;
  EXPECT_NE(json.find("\"in_the_way\":true"), std::string::npos) << json;
}

}  // namespace
}  // namespace ttc::collect::doctor

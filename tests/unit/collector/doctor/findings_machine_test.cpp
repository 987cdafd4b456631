// Findings about cards, their driver and the host, and the reports that show them. A healthy machine has none.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "collector/doctor/doctor_report.hpp"
#include "collector/doctor/findings.hpp"
#include "tests/unit/collector/doctor/findings_fixture.hpp"

namespace ttc::collect::doctor {
namespace {

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

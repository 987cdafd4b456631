// Findings about who holds a card: processes that are stopped or left over, two at once, and locks.
#include <gtest/gtest.h>

#include <string>

#include "collector/doctor/findings.hpp"
#include "tests/unit/collector/doctor/findings_fixture.hpp"

namespace ttc::collect::doctor {
namespace {

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

}  // namespace
}  // namespace ttc::collect::doctor

// What tests of findings begin with: a healthy machine as plain values. One thing wrong with it gives exactly one finding.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/doctor/findings.hpp"

namespace ttc::collect::doctor {

inline constexpr const char* kNode = "/dev/tenstorrent/0";

inline CardState healthy_card(unsigned n, const char* bdf) {
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

inline void opened(MachineState& m, size_t card, int pid) {
  card::Opener o;
  o.pid = pid;
  o.descriptors = 2;
  m.cards[card].function.openers.push_back(o);
}

inline ProcessState running(int pid, const char* name) {
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
inline MachineState healthy() {
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
inline constexpr Weight kStops = Weight::stops, kSpoils = Weight::spoils, kAdvice = Weight::advice;

}  // namespace ttc::collect::doctor

// What this host takes from a thread that is never idle: gaps, steal and preemption, while the test does no other work.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace ttc::collect::selftest {

struct HostFigures {
  double seconds = 0;  // of watching gaps
  uint64_t gaps_over_10us = 0, gaps_over_100us = 0, gaps_over_deadline = 0;
  uint64_t longest_gap_ns = 0;
  std::optional<double> steal_percent;  // of all CPUs' time, over the whole test
  uint64_t preempted = 0,
           waited = 0;  // of this process, over the whole test: switches against its will, and by waiting
  unsigned cpus = 0;    // this process may run on
};

class HostWatch {
 public:
  HostWatch();  // the whole test begins
  void watch_gaps(uint64_t for_ns);
  HostFigures finish();

 private:
  struct CpuTimes {
    uint64_t all = 0, steal = 0;
  };
  static std::optional<CpuTimes> cpu_times();

  std::optional<CpuTimes> begun_;
  HostFigures figures_;
  uint64_t preempted_before_ = 0, waited_before_ = 0;
};

}  // namespace ttc::collect::selftest

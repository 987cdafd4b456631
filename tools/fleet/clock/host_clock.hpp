// This host's clock: which CLOCK_MONOTONIC_RAW its processes read, and what disciplines it.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tools/fleet/clock/discipline.hpp"

namespace ttc::fleet {

// Processes of one value read one CLOCK_MONOTONIC_RAW: of one boot and one time namespace. Never 0.
uint64_t clock_number();

// What chronyd and ptp4l report by their own programs (chronyc, pmc). The tighter one counts.
class HostClockDiscipline {
 public:
  // Runs those programs where that was long ago.
  void refresh();
  // May be called from any thread, and is quick. Returns what the sources reported last.
  Discipline now() const;

 private:
  static constexpr uint64_t kEveryNs = 8'000'000'000;
  static constexpr uint64_t kRestNs = 300'000'000'000;  // where neither runs

  struct Reported {
    uint64_t scale = kNoScale, bound_ns = 0, at_ns = 0;
    std::string hardware_clock;  // that ptp4l disciplines; empty: CLOCK_REALTIME
  };
  mutable std::mutex mutex_;
  Reported reported_;  // with mutex_
  uint64_t next_ns_ = 0;
};

// The standard output of a program within `most_ns`; empty if it cannot be started, fails, or takes longer, in which case it is killed.
std::string printed_by(const std::vector<std::string>& words, uint64_t most_ns);

}  // namespace ttc::fleet

// Which process of a workload had a chip, moment by moment. Call counts of ops begin again in each process, so that launches of several
// processes on one chip have the same number. A chip has one process at a time (UMD's lock CHIP_IN_USE), and a process describes its
// ops while it has the chip: one process follows the other between the last op of the one and the first op of the other.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tools/report/host/host_ops.hpp"

namespace ttc::report {

class ChipOwners {
 public:
  explicit ChipOwners(const HostLog& host);
  // Ops of more than one process name the chip.
  bool several(uint32_t chip) const;
  // The owner at a moment (CLOCK_MONOTONIC_RAW) of a chip of several().
  uint32_t at(uint32_t chip, int64_t raw_ns) const;

 private:
  struct Stay {
    int64_t from_ns = 0;
    uint32_t process = 0;
  };
  std::map<uint32_t, std::vector<Stay>> stays_;  // by chip, in order of time
};

}  // namespace ttc::report

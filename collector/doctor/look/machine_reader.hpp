// One pass over the machine. No card is opened, no window is taken and no load goes to a card; attributes of the driver,
// each of which the driver reads from the chip, are counted (MachineState::chip_reads).
#pragma once
#include <stdexcept>
#include <string>

#include "collector/doctor/look/machine_state.hpp"

namespace ttc::collect::doctor {

struct Look {
  std::string root;        // the sys, proc, dev and var below it; empty: this machine
  int only_pid = 0;        // --for; 0: every process that has to do with a card
  bool read_chips = true;  // the driver's attributes too; false: no chip is read
  unsigned heartbeat_gap_ms = kHeartbeatGapMs;
};

// There is no process of that number; one sentence.
struct NoSuchProcess : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Takes some 10 ms, and heartbeat_gap_ms more if a card has a heartbeat. Throws card::InventoryError, NoSuchProcess.
MachineState look_at_machine(const Look& look);

}  // namespace ttc::collect::doctor

// All findings for a state of the machine. Pure: the same state gives the same findings, in the same order. Each
// rule is a function on plain values; a rule without readable evidence gives no finding.
#pragma once
#include "collector/doctor/finding.hpp"
#include "collector/doctor/look/machine_state.hpp"

namespace ttc::collect::doctor {

// Findings that stand in the way come first. With MachineState::only_pid: findings about that process, the cards it holds or
// waits for, and the machine.
Findings findings_of(const MachineState& machine);

Finding about(const ProcessState& process, const char* id, Weight weight);

// The rules by subject. They append.
void find_in_cards(const MachineState& machine, Findings& found);     // driver, node, firmware, sensors, link
void find_in_versions(const MachineState& machine, Findings& found);  // packages against firmware
void find_in_holders(const MachineState& machine, Findings& found);   // who has a card, and who waits for one
void find_in_workloads(const MachineState& machine, Findings& found);  // build and mode of what runs
void find_in_variables(const MachineState& machine, Findings& found);  // its TT_METAL_* variables
void find_in_ports(const MachineState& machine, Findings& found);      // Tracy's
void find_in_host(const MachineState& machine, Findings& found);       // memory, CPUs, limits, kernel

}  // namespace ttc::collect::doctor

// Findings and the state of the machine, as text and as JSON.
#pragma once
#include <string>

#include "collector/doctor/finding.hpp"
#include "collector/doctor/look/machine_state.hpp"

namespace ttc::collect::doctor {

std::string to_text(const MachineState& machine, const Findings& findings);
std::string to_json(const MachineState& machine, const Findings& findings);

}  // namespace ttc::collect::doctor

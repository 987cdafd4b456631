// What a run was made with, for the session description: versions, and the workload with those of its
// variables that tt-metal, its tools and Tracy look at. No other variable of a foreign process is kept.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>

#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

// Strings by what they are: `collector`, `host`, `driver`, `firmware`; `workload` (its command) and
// `variables` (an object) when `workload_pid` is a process that we may look at. `place` is the card's.
nlohmann::json run_environment(int workload_pid, const std::optional<card::PciFunction>& place);

}  // namespace ttc::collect

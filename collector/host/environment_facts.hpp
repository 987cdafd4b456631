// What a recording was made on and of, for later readers: machine, driver, tool, workload. Part
// of the session description, so that every file and segment has it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "driver_iface/pci_functions.hpp"

namespace ttc::collect {

// host: name, kernel, cpu, cpus, memory_mib; collector: version, pid; driver: version of the kernel module;
// firmware, serial, pci: of a card behind a driver; workload: pid, command, and of its environment TT_*,
// TTNN_*, ARCH_NAME. What cannot be read is left out. `workload_pid` 0: not known.
nlohmann::json environment_facts(int workload_pid, const std::optional<card::PciFunction>& card);

}  // namespace ttc::collect

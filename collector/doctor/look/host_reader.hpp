// The machine's memory, CPUs, limits and kernel settings.
#pragma once
#include <string>

#include "collector/doctor/look/machine_state.hpp"
#include "driver_iface/pci_functions.hpp"

namespace ttc::collect::doctor {

// `root`: as in Look; io_uring is tried only on this machine.
HostState read_host(const card::SystemRoots& roots, const std::string& root);

}  // namespace ttc::collect::doctor

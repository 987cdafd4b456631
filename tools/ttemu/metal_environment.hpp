// The workload's TT_METAL_ variables: ttemu's own environment and --metal-env over it.
#pragma once
#include "tools/ttemu/options.hpp"

namespace ttc::emulation {

// tt-metal's watcher and debug delays, as the workload's environment and its build have them, and how long the host waits for a program.
// Throws what watcher::read_settings and watcher::build throw, and program::UsageError.
void settle_metal_environment(Options& options);

}  // namespace ttc::emulation

// The runs of ttemu: a workload, memory that real firmware wrote, or a log that is replayed, on an emulated
// card.
#pragma once
#include <atomic>
#include <string>

#include "tools/ttemu/options.hpp"

namespace ttc::emulation {

extern std::atomic<bool> stop;  // set by a signal

// tt-metal keeps its zone logs below TT_METAL_PROFILER_DIR, and a collector learns that from the environment
// the process was started with. So the process starts itself again with the variable set.
void ensure_profiler_directory(const std::string& card, char** argv);

// Gives the exit code. Throws program::UsageError, FaultError, card::OpenError, tools::ImageError,
// tools::DeviceLogError.
int run(Options& options);

}  // namespace ttc::emulation

// A card whose profiler is not there to be read: what `ttemu --profiler STATE` shows observers.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "tools/emulation/world.hpp"

namespace ttc::emulation {

// on: it is there. off: the host has not set it up. late: likewise, until observers have searched for it and not found it.
// not-built: kernels were built without it; a --workload runs and records nothing.
// environment: on where TT_METAL_DEVICE_PROFILER=1 is set, as it is for a real workload; else not-built.
// streaming, debug-dump: what the L1 of every Tensix core looks like with those. unknown: firmware of no kind
// known.
inline const std::vector<std::string> kProfilerStates = {"on",         "off",     "late",      "streaming",
                                                         "debug-dump", "unknown", "not-built", "environment"};

// Must be called before the card is announced.
void show_profiler_state(World& world, const std::string& state);
// `late`: waits until observers have examined every core, then sets the profiler up. Any other state but on
// and not-built: waits for `stop`.
void await_profiler(World& world, const std::string& state, const std::atomic<bool>& stop);

}  // namespace ttc::emulation

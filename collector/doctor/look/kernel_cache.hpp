// The kernels that a workload of tt-metal finds compiled already (its JIT cache), and whether the profiler was compiled into them.
#pragma once
#include <cstdint>
#include <string>

#include "collector/host/process_environment.hpp"

namespace ttc::collect::doctor {

struct KernelCache {
  std::string at;         // as the process names it; empty: it has none that is there
  unsigned kernels = 0;   // programs of processors that were examined
  bool profiled = false;  // one of them has the profiler's code
  bool grew = false;      // one was written since the process was started
  bool examined_all = true;

  // Every kernel that the process can have found there lacks the profiler.
  bool lacks_profiler() const { return kernels != 0 && !profiled && !grew && examined_all; }
};

// `process`: its directory in /proc. TT_METAL_CACHE of its environment, else HOME; `age_s`: how long it runs. Ends where
// one kernel shows that not all lack the profiler; reads at most 2,000 files.
KernelCache look_at_kernel_cache(const std::string& process, const Environment& environment, double age_s);

}  // namespace ttc::collect::doctor

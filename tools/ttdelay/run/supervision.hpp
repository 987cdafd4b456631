// Waiting for a run: its end, its time limit, or a silence that is a hang.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

enum class RunEnd : uint8_t { ended, silent, over_limit, stopped };

struct Supervised {
  RunEnd how = RunEnd::ended;
  int exit_code = 0;  // 128 + number where a signal ended it; of `ended`
  bool by_signal = false;
  double seconds = 0;
};

// Growth of a file, or of one below a folder, in `signs` counts as progress. The caller must end processes that still run when
// this returns.
Supervised supervise(pid_t pid, const Limits& limits, const std::vector<std::string>& signs,
                     const std::atomic<bool>& stop);

}  // namespace ttc::delay

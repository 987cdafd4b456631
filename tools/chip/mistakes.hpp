// Planted mistakes of programs, for experiments that look for them.
#pragma once
#include "tools/chip/workload.hpp"

namespace ttc::chip {

// Puts what `op` has of them in front of BRISC's kernels of the two cores. Throws WorkloadError where these do not run.
void add_mistakes(ChipProgram& program, const ChipOp& op);

}  // namespace ttc::chip

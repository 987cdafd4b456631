// The message to a user on whose card no readable profiler was found: the reason, and what would
// switch the profiler on.
#pragma once
#include <string>

#include "firmware_markers/discovery.hpp"

namespace ttc::collect {

// One sentence part, from what discovery found on one tile. `where` names the tile; `workload_pid` 0: not known.
std::string why_absent(const markers::Discovery& refused, const std::string& where, int workload_pid);

// Why no zone names will come, though there is a workload perhaps.
std::string workload_unseen(int workload_pid);

}  // namespace ttc::collect

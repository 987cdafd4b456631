// What is reported to a user whose card has no profiler that we read: which of the reasons it is, and what would
// switch it on.
#pragma once
#include <string>

#include "firmware_markers/discovery.hpp"

namespace ttc::collect {

// One sentence part, of what discovery met on one tile. `where` names the tile; `workload_pid` 0: not known.
std::string why_absent(const markers::Discovery& refused, const std::string& where, int workload_pid);

// Why no zone names will come, though there is a workload perhaps.
std::string workload_unseen(int workload_pid);

}  // namespace ttc::collect

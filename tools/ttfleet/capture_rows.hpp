// Captures as messages of a bus: what is said of a job's stream can be said of a directory of its captures.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tools/fleet/bus/bus.hpp"

namespace ttc::fleet {

// `given`: captures, or directories of them. A file <host>_rank_<N>.ttc is of that rank; others are ranks by their order, of the
// host that their name is made into. clocks.json beside them, as ttfleet dump leaves it, relates their clocks. Throws SourceError.
void read_captures(const std::vector<std::string>& given, const std::function<void(const Message&)>& take,
                   std::vector<std::string>& remarks);

}  // namespace ttc::fleet

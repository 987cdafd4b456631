// Captures as messages of a bus: what is reported of a job's stream can be reported of a directory of its captures.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace ttc::fleet {

// `given`: captures, or directories of them. A capture that is named after a rank (tools/ranks/rank_files.hpp) is of that rank; others are ranks by
// their order, of the host that their name is made into. clocks.json beside them, as ttfleet dump leaves it, relates their clocks. All are
// read at once, so that rows of one time come near each other. Throws SourceError.
void read_captures(const std::vector<std::string>& given,
                   const std::function<void(const std::string& subject, const std::string& data)>& take,
                   std::vector<std::string>& remarks);

}  // namespace ttc::fleet

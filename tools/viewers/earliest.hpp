// The earliest time in a source, for those who must know it before anything else. Reads the source once.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {

struct Earliest {
  std::optional<uint64_t>
      ns;                 // of a marker or a counter's value, as Timeline has them; none: there is nothing
  bool host_time = true;  // what comes later has host times, too
  bool settled = true;    // false: a device's times are cycles only because its clock model is not there yet
};

// Looks at what there is now, at the first `most_markers` of it.
Earliest earliest_in(const std::vector<std::string>& from, unsigned wait_ms, const Filter& filter,
                     std::optional<markers::MetalDate> date, uint64_t most_markers, bool counters);

}  // namespace ttc::tools

// The clock models of captures, read ahead of their zones: of blocks with markers only the facts are read.
#pragma once
#include <string>
#include <vector>

#include "tools/report/zones/duration_clock.hpp"

namespace ttc::report {

// Chips are numbered as an open_source() of the same names numbers them. What is no file has no models, nor has a chip of several runs.
// Throws tools::SourceError.
DurationClock read_capture_clocks(const std::vector<std::string>& from);

}  // namespace ttc::report

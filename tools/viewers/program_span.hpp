// A program as viewers show it in the row of its chip.
#pragma once
#include <string>

#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

// `op`: what the host side called it; null: that is not known.
TimelineSpan span_of(const Program& program, const std::string* op);

}  // namespace ttc::tools

// Records of the real-time profiler, as `ttmon profilers --trace` wrote them beside a run.
#pragma once
#include <string>
#include <vector>

#include "tools/viewers/timeline.hpp"

namespace ttc::tools {

// Throws SourceError: what is wrong with the file, in one sentence.
std::vector<ProfilerRecord> read_profiler_records(const std::string& path);

}  // namespace ttc::tools

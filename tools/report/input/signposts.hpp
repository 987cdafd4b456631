// Signposts that a command line names.
#pragma once
#include <span>
#include <string>

namespace ttc::report {

// Throws UnknownName unless `names`, the signposts of a table in any order and as often as they come, hold `wish`
// `times` times. Its message suggests similar names. An empty wish is none.
void need_signpost(const std::string& wish, size_t times, std::span<const std::string> names);

}  // namespace ttc::report

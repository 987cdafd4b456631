// The remarks of a replay on its file, as sentences.
#pragma once
#include <string>
#include <vector>

#include "tools/emulation/world.hpp"
#include "tools/replay/replay_plan.hpp"

namespace ttc::emulation {

// Lines that are no rows, rows that cannot be played, and columns that do not come back: one sentence each
// with their number and the first line. `world`: what it is played on.
std::vector<std::string> sentences_about(const ReplayPlan& plan, const std::string& file,
                                         const WorldOptions& world);

}  // namespace ttc::emulation

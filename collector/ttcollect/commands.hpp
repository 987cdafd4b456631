// What ttcollect does with cards: collect, list, probe, clean, sync.
#pragma once
#include "collector/ttcollect/options.hpp"

namespace ttc::collect {

// Runs the command and returns its exit code. Throws program::UsageError.
int run_command(CommandLine& line);

}  // namespace ttc::collect

// What ttcollect does with cards: collect, list, probe, clean, sync.
#pragma once
#include "collector/ttcollect/options.hpp"

namespace ttc::collect {

// The exit code of what the command line says. Throws program::UsageError.
int run_command(CommandLine& line);

}  // namespace ttc::collect

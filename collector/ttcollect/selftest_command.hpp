// `ttcollect selftest`.
#pragma once
#include "collector/ttcollect/options.hpp"

namespace ttc::collect {

int run_selftest(const CommandLine& line);

}  // namespace ttc::collect

// The collector beside a workload, as words to execute.
#pragma once
#include <string>
#include <vector>

#include "collector/run/request/run_request.hpp"

namespace ttc::collect {

std::vector<std::string> collector_words(const RunRequest& request);

}  // namespace ttc::collect

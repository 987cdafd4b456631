// A Python workload as words to execute: through its own `tracy` package, where that can be imported, so that
// functions become zones as under `python -m tracy`.
#pragma once
#include <string>
#include <vector>

#include "collector/run/request/run_request.hpp"

namespace ttc::collect {

struct PythonWords {
  std::vector<std::string> command;
  std::string sentence;  // what differs from the request; empty: no difference
};
// A request that is neither a script nor a module is handed through as it is. `own_module`: the workload can import
// our package ttcollect, which traces in the place of `tracy`, and has a socket to send zones to.
PythonWords python_words(const RunRequest& request, bool own_module);

}  // namespace ttc::collect

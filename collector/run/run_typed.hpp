// What was typed behind `ttcollect run`, and what is done with it.
#pragma once
#include <string>
#include <vector>

#include "collector/run/run_command.hpp"

namespace ttc::collect {

struct RunCommand::Typed {
  RunRequest request;
  std::string port, analyses, range;
  std::string mark;
  int marked_run = 0;
  bool ignored = false, logs_only = false, start = false, stop = false;
};

// The exit code of the program.
int run_workload(const RunRequest& request);
int report_logs(const RunRequest& request);
// `kind`: of collector/host_side/mark_listener.hpp. `run`: the process; 0: the one that TTCOLLECT_MARKS names, or that is there.
int set_mark(char kind, const std::string& text, int run);

}  // namespace ttc::collect

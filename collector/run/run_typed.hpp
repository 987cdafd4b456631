// What was typed behind `ttcollect run`, and what is done with it.
#pragma once
#include <string>
#include <vector>

#include "collector/run/run_command.hpp"

namespace ttc::collect {

struct RunCommand::Typed {
  RunRequest request;
  std::string port, module, tools, analyses;
  bool ignored = false, logs_only = false;
  std::vector<std::string> behind_mark;  // behind "--"
  bool marked = false;
  // False: there is no workload.
  bool take_command(const std::vector<std::string>& words);
};

// The exit code of the program.
int run_workload(const RunRequest& request);
int report_logs(const RunRequest& request);

}  // namespace ttc::collect

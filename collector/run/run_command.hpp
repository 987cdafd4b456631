// `ttcollect run`: one command around any workload; `ttcollect mark`: a mark on its timeline. docs/run.md is the page for users.
//
//   fork workload -> start collector (a ttcollect of its own process) -> record its segments -> wait for the
//   workload's last process -> end the collector -> end the capture -> ttreport makes the folder -> summary
//
// The parts depend on each other as little as possible: a failure of the collector affects no other part, the capture is one more
// reader, and when this process is killed the workload continues and the collector ends in order.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/run/request/run_request.hpp"

namespace CLI {
class App;
}

namespace ttc::collect {

class RunCommand {
 public:
  explicit RunCommand(CLI::App& app);  // adds the subcommand
  ~RunCommand();
  // What the command line is without the workload's words, which follow `run` and its options, or "--".
  std::vector<char*> without_workload(int argc, char** argv);
  // The exit code, if the subcommand was given: the workload's once it started, 126 and 127 as a shell has them, 2 for wrong usage.
  // With --strict-exit, where the workload returned 0: 3 to 8 as of the collector, 5 and 6 of outputs.
  std::optional<int> run();

 private:
  struct Typed;
  void add_options();
  void refuse_what_is_wrong() const;
  int run_mark() const;
  CLI::App *command_, *mark_;
  std::unique_ptr<Typed> typed_;
};

}  // namespace ttc::collect

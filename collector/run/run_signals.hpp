// Signals of `ttcollect run` as a descriptor: those of children, those that are handed on to the workload, and those by which collecting starts
// and stops.
#pragma once
#include <vector>

namespace ttc::collect {

// The signals that start and stop collecting, by `kill`: SIGRTMIN+1 and SIGRTMIN+2.
int start_signal();
int stop_signal();

// Blocks them for the process. A signal that was ignored when this process began stays so.
class RunSignals {
 public:
  // Throws std::system_error.
  RunSignals();
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;
  // Waits; the signals that came, SIGCHLD once however often.
  std::vector<int> wait(int timeout_ms);

 private:
  int fd_;
};

}  // namespace ttc::collect

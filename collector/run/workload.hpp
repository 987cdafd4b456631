// The workload of `ttcollect run`: a process group of its own, in front of the terminal, and all processes that
// come from it.
//
// The caller becomes the parent of orphans (PR_SET_CHILD_SUBREAPER, Linux 3.4), so that a process whose
// parent ended is still a child of ours, whatever group or session it made, and is waited for. The workload does not depend
// on this process: if this process is killed, the workload continues.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace ttc::collect {

// 126 or 127, as a shell has it, and a sentence.
struct StartError {
  int exit_code = 127;
  std::string why;
};

class Workload {
 public:
  // `environment`: NAME=VALUE. Starts it; a failure is in error(). SIGCHLD should be blocked and waited for by
  // the caller.
  Workload(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~Workload();  // takes the terminal back; the workload is left alone
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const std::optional<StartError>& error() const { return error_; }
  pid_t pid() const { return pid_; }

  // Must be called after SIGCHLD: takes notice of everything that ended or stopped. A stop of the workload by the
  // terminal (Ctrl-Z) stops this process too, until it is continued. `others`: children of ours that are not of the
  // workload; they are not waited for.
  void look(const std::vector<pid_t>& others);
  // The exit code of the first process: 128 + number if a signal ended it. No value while it runs.
  std::optional<int> exit_code() const { return exit_code_; }
  int end_signal() const { return end_signal_; }
  // The remaining processes that are visible from here, without `others`.
  static std::vector<pid_t> left(const std::vector<pid_t>& others);
  bool over() const { return over_; }
  // Sends the signal to the workload's process group.
  void send(int signal) const;

 private:
  void give_terminal() const;
  void take_terminal() const;
  void stopped(pid_t pid);

  pid_t pid_ = -1;
  int terminal_ = -1;  // descriptor; -1: we are not in front of one
  std::optional<StartError> error_;
  std::optional<int> exit_code_;
  int end_signal_ = 0;
  bool over_ = false;
};

}  // namespace ttc::collect

// Whether a process has ended. Holds on to the process itself (pidfd_open(2), Linux 5.3), so that another one
// of the same number is not taken for it, and one that its parent has not waited for yet counts as ended.
#pragma once

namespace ttc::collect {

class ProcessEnd {
 public:
  // `pid` 0 or less: of no process; it never ends.
  explicit ProcessEnd(int pid);
  ~ProcessEnd();
  ProcessEnd(const ProcessEnd&) = delete;
  ProcessEnd& operator=(const ProcessEnd&) = delete;

  int pid() const { return pid_; }
  bool over() const;

 private:
  int pid_;
  int fd_ = -1;  // -1: it cannot be had; then the number has to do
};

}  // namespace ttc::collect

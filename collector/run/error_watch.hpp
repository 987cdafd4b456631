// `ttcollect run --watch-stderr`: copies what the workload writes to its standard error to ours byte for byte, and searches it for known
// texts (known_errors.hpp) on the way.
//
// The workload writes to a terminal of the same size and kind where ours is one, else to a pipe, so that isatty(3) answers as
// before. Between the two is a process of its own, which is no child of ours and outlives this one: if a run is killed, the workload
// loses no output. It ends when no process has the other end open.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace ttc::collect {

class ErrorWatch {
 public:
  // Starts the process between; must be called before any thread is started. A failure is in why_not(), and no output is watched.
  ErrorWatch();
  ~ErrorWatch();
  ErrorWatch(const ErrorWatch&) = delete;
  ErrorWatch& operator=(const ErrorWatch&) = delete;

  const std::string& why_not() const { return why_not_; }
  // Around the start of the workload: its standard error is the watched one.
  void redirect();
  void restore();
  // What was found, when the workload has ended: a sentence each, in the order of known_errors(). Waits for what is under
  // way, and not for processes that are left and still may write.
  std::vector<std::string> findings();

 private:
  void not_watched(int error);
  int inner_ = -1;  // what the workload writes to
  int saved_ = -1;  // our standard error, while it is redirected
  int found_ = -1;  // a byte for each row that was found, from the process between
  std::string why_not_;
};

}  // namespace ttc::collect

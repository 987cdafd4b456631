// The op summary of a run: `ttreport summary` follows the capture while the workload runs, so that little is left to be done at its end.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "collector/run/report/helper_program.hpp"
#include "collector/run/request/run_request.hpp"

namespace ttc::collect {

class LiveSummary {
 public:
  LiveSummary(const RunRequest& request, std::string capture)
      : request_(request), capture_(std::move(capture)) {}

  // Once; the capture's file must be there. It has the lowest priority, so that the workload has the CPUs.
  void start();
  bool started() const { return helper_ != nullptr; }
  // The program that follows the capture; -1: there is none.
  pid_t pid() const { return helper_ ? helper_->pid() : -1; }
  void reap();

  struct Lines {
    std::string text;
    std::vector<std::string> sentences;
    int exit_code = 0;
    bool broken_off = false;  // by a signal
  };
  // Must be called when the capture has ended. `followed`: it was ended in order. If the followed part is not all of it, or no part
  // was followed, the capture is read now.
  Lines finish(bool followed);

 private:
  std::vector<std::string> words(bool follow) const;
  static Lines lines_of(HelperProgram& helper);
  const RunRequest& request_;
  const std::string capture_;
  std::unique_ptr<HelperProgram> helper_;
};

}  // namespace ttc::collect

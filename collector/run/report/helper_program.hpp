// A program of ours that `run` starts beside itself: the collector, and ttreport at the end.
//
// Each is a process group of its own, so that Ctrl-C reaches only the workload, and ends in order when this process ends
// (PR_SET_PDEATHSIG, SIGTERM). Its output is kept in memory files: no pipe of ours can fill and block it.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace ttc::collect {

class HelperProgram {
 public:
  enum class Output { kept, passed_on };
  // `name` is searched for beside this program, then in PATH.
  HelperProgram(const std::string& name, const std::vector<std::string>& arguments, Output out, Output err);
  ~HelperProgram();  // kills it where it still runs
  HelperProgram(const HelperProgram&) = delete;
  HelperProgram& operator=(const HelperProgram&) = delete;

  pid_t pid() const { return pid_; }
  bool running();  // does not wait
  void ask_to_end() const;
  // SIGINT, SIGTERM, SIGHUP and SIGQUIT that the caller has blocked end it: the second one kills.
  // Waits for its end or such a signal so long; whether it still runs.
  bool tend(unsigned ms);
  int wait();  // its exit code, 128 + number where a signal ended it, 127 where it could not be started
  bool broken_off() const { return broken_off_; }  // by such a signal
  std::string out() const { return read_back(out_); }
  std::string err() const { return read_back(err_); }

 private:
  static std::string read_back(int descriptor);
  void keep(int status);
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  std::optional<int> code_;
  bool broken_off_ = false;
};

}  // namespace ttc::collect

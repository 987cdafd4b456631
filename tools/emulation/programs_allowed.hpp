// How many programs a workload may have launched so far, as standard input has it. A test whose collector the card cannot see
// sends the next number when the collector has what was launched.
#pragma once
#include <cstdint>
#include <string>

namespace ttc::emulation {

class ProgramsAllowed {
 public:
  // `fd`: a number of further programs on each line; not owned. Nothing is allowed before the first.
  explicit ProgramsAllowed(int fd) : fd_(fd) {}

  // Takes what was written, without waiting. Throws std::runtime_error when that is no number.
  void read();
  uint64_t count() const { return count_; }
  // The stream has ended: no further programs will be allowed.
  bool ended() const { return ended_; }

 private:
  void take_line();

  int fd_;
  uint64_t count_ = 0;
  bool ended_ = false;
  std::string line_;  // that has begun
};

}  // namespace ttc::emulation

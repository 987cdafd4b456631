// --pass-through: Tracy servers show the run while it lasts. `ttexport` serves them from the capture, which it follows, so that a
// server cannot affect the workload: host and device are encoded again, with keys of our own.
#pragma once
#include <memory>
#include <string>

#include "collector/run/report/helper_program.hpp"

namespace ttc::collect {

class PassThrough {
 public:
  // `where`: PORT or ADDR:PORT. Listens before the capture's file is there.
  PassThrough(const std::string& where, const std::string& capture);
  pid_t pid() const { return helper_.pid(); }
  void reap() { helper_.running(); }
  // When the capture was ended: a server that is connected gets the rest of it, so long at most.
  void finish(unsigned most_ms);

 private:
  HelperProgram helper_;
};

}  // namespace ttc::collect

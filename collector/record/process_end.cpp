#include "collector/record/process_end.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace ttc::collect {

ProcessEnd::ProcessEnd(int pid) : pid_(pid) {
  // <sys/pidfd.h> is not used: that of Debian 12 cannot be linked to from C++.
  if (pid_ > 0) fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

ProcessEnd::~ProcessEnd() {
  if (fd_ >= 0) close(fd_);
}

bool ProcessEnd::over() const {
  if (pid_ <= 0) return false;
  if (fd_ < 0) return kill(pid_, 0) != 0 && errno == ESRCH;
  pollfd p{fd_, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

}  // namespace ttc::collect

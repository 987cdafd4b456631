#include "tools/ttdelay/run/supervision.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tools/ttdelay/run/processes.hpp"

namespace ttc::delay {
namespace {

namespace fs = std::filesystem;
constexpr int kLookMs = 100;  // at the signs of life

uint64_t bytes_of(const std::vector<std::string>& signs) {
  uint64_t bytes = 0;
  std::error_code none;
  for (const std::string& path : signs) {
    if (!fs::is_directory(path, none)) {
      const uint64_t size = fs::file_size(path, none);
      if (!none) bytes += size;
      continue;
    }
    for (fs::recursive_directory_iterator i(path, none), end; !none && i != end; i.increment(none)) {
      std::error_code gone;
      const uint64_t size = i->is_regular_file(gone) ? i->file_size(gone) : 0;
      if (!gone) bytes += size;
    }
  }
  return bytes;
}

}  // namespace

Supervised supervise(pid_t pid, const Limits& limits, const std::vector<std::string>& signs,
                     const std::atomic<bool>& stop) {
  const uint64_t begun = steady_ns();
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  uint64_t bytes = bytes_of(signs), heard = begun;
  Supervised s;
  for (;;) {
    pollfd ends{descriptor, POLLIN, 0};
    const int ready = poll(&ends, 1, kLookMs);
    const uint64_t now = steady_ns();
    s.seconds = static_cast<double>(now - begun) / 1e9;
    if (ready > 0) break;
    const uint64_t bytes_now = bytes_of(signs);
    if (bytes_now != bytes) bytes = bytes_now, heard = now;
    if (stop)
      s.how = RunEnd::stopped;
    else if (now - heard > limits.silent_ns)
      s.how = RunEnd::silent;
    else if (now - begun > limits.run_ns)
      s.how = RunEnd::over_limit;
    else
      continue;
    close(descriptor);
    return s;
  }
  close(descriptor);
  int status = 0;
  waitpid(pid, &status, 0);
  s.by_signal = WIFSIGNALED(status);
  s.exit_code = s.by_signal ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return s;
}

}  // namespace ttc::delay

#include "collector/run/run_signals.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ttc::collect {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

}  // namespace

int start_signal() {
  return SIGRTMIN + 1;
}

int stop_signal() {
  return SIGRTMIN + 2;
}

RunSignals::RunSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, start_signal());
  sigaddset(&set, stop_signal());
  for (const int number : kForwarded) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0)
    throw std::system_error(errno, std::generic_category(), "waiting for signals cannot be set up");
}

RunSignals::~RunSignals() {
  close(fd_);
}

std::vector<int> RunSignals::wait(int timeout_ms) {
  pollfd poll_fd{fd_, POLLIN, 0};
  poll(&poll_fd, 1, timeout_ms);
  std::vector<int> came;
  for (signalfd_siginfo info; read(fd_, &info, sizeof info) == sizeof info;)
    came.push_back(static_cast<int>(info.ssi_signo));
  return came;
}

}  // namespace ttc::collect

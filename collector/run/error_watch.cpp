#include "collector/run/error_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <set>

#include "collector/run/known_errors.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kLongestLine = 4096;  // of what is searched; all of it is passed on
constexpr int kMostDescriptors = 4096;
constexpr int kSizeEveryMs = 200;  // the terminal's size is followed
constexpr int kWaitMs = 2000;      // for what is under way when the workload has ended

// Searches lines as they come; prints each row once.
class LineSearch {
 public:
  explicit LineSearch(int found) : found_(found) {}
  void take(const char* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (bytes[i] == '\n' || bytes[i] == '\r') {
        end_line();
      } else if (line_.size() < kLongestLine) {
        line_.push_back(bytes[i]);
      }
    }
  }
  void end_line() {
    if (const KnownError* e = known_error(line_)) {
      const auto row = static_cast<unsigned char>(e - known_errors().data());
      if (reported_.insert(row).second) {
        [[maybe_unused]] const ssize_t written =
            write(found_, &row, 1);  // no reader is left when the run was killed
      }
    }
    line_.clear();
  }

 private:
  int found_;
  std::string line_;
  std::set<unsigned char> reported_;
};

bool write_all(int to, const char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t n = write(to, bytes, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // another process made the terminal's descriptor non-blocking
      pollfd wait{to, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (n <= 0) return false;
    bytes += n;
    count -= static_cast<size_t>(n);
  }
  return true;
}

void follow_size(int terminal, int outer) {
  winsize now{}, set{};
  if (ioctl(terminal, TIOCGWINSZ, &now) != 0 || ioctl(outer, TIOCGWINSZ, &set) != 0) return;
  if (std::memcmp(&now, &set, sizeof now) != 0) ioctl(outer, TIOCSWINSZ, &now);
}

// The process between. Ends with the last writer, or when our standard error cannot be written to any more: the workload then gets the
// same error, a broken pipe or terminal.
[[noreturn]] void pump(int outer, bool is_terminal, int found) {
  setsid();
  for (int fd = 0; fd < kMostDescriptors; ++fd)  // no other end is held open from here
    if (fd != STDERR_FILENO && fd != outer && fd != found) close(fd);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTOU, SIGUSR1, SIGUSR2})
    signal(number, SIG_IGN);
  LineSearch search(found);
  char bytes[4096];
  while (true) {
    pollfd wait{outer, POLLIN, 0};
    if (is_terminal) follow_size(STDERR_FILENO, outer);
    if (poll(&wait, 1, is_terminal ? kSizeEveryMs : -1) == 0) continue;
    const ssize_t n = read(outer, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;  // a terminal without a writer gives EIO
    search.take(bytes, static_cast<size_t>(n));
    if (!write_all(STDERR_FILENO, bytes, static_cast<size_t>(n))) break;
  }
  search.end_line();
  _exit(0);
}

void close_if_open(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// A terminal like ours, that passes bytes unchanged: ours processes them.
bool open_terminal(int& outer, int& inner) {
  termios settings{};
  winsize size{};
  if (tcgetattr(STDERR_FILENO, &settings) != 0 || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return false;
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  return openpty(&outer, &inner, nullptr, &settings, &size) == 0;
}

}  // namespace

ErrorWatch::ErrorWatch() {
  int outer = -1, found[2] = {-1, -1}, ends[2] = {-1, -1};
  const bool is_terminal = isatty(STDERR_FILENO);
  const bool opened = is_terminal ? open_terminal(outer, inner_) : pipe2(ends, O_CLOEXEC) == 0;
  if (!is_terminal && opened) outer = ends[0], inner_ = ends[1];
  if (!opened || pipe2(found, O_CLOEXEC) != 0) {
    not_watched(errno);
    close_if_open(outer);
    close_if_open(inner_);
    return;
  }
  fcntl(outer, F_SETFD, FD_CLOEXEC);
  fcntl(inner_, F_SETFD, FD_CLOEXEC);
  found_ = found[0];
  const pid_t between = fork();
  if (between == 0) {  // a child's child, so that it is not one of ours
    close(inner_);
    close(found_);
    const pid_t last = fork();
    if (last == 0) pump(outer, is_terminal, found[1]);
    _exit(last < 0 ? errno : 0);
  }
  int status = 0;
  if (between < 0)
    not_watched(errno);
  else if (waitpid(between, &status, 0) == between && status != 0)
    not_watched(WIFEXITED(status) ? WEXITSTATUS(status) : EINTR);
  close(outer);
  close(found[1]);
}

ErrorWatch::~ErrorWatch() {
  restore();
  close_if_open(found_);
}

void ErrorWatch::redirect() {
  if (!why_not_.empty()) return;
  saved_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (saved_ >= 0 && dup2(inner_, STDERR_FILENO) >= 0) return;
  not_watched(errno);
  close_if_open(saved_);
}

void ErrorWatch::not_watched(int error) {
  why_not_ = std::string("standard error is not watched: ") + std::strerror(error);
}

void ErrorWatch::restore() {
  if (saved_ >= 0) dup2(saved_, STDERR_FILENO);
  close_if_open(saved_);
  close_if_open(inner_);
}

std::vector<std::string> ErrorWatch::findings() {
  std::set<unsigned char> rows;
  for (pollfd wait{found_, POLLIN, 0}; found_ >= 0 && poll(&wait, 1, kWaitMs) > 0;) {
    unsigned char row = 0;
    if (read(found_, &row, 1) != 1) break;
    rows.insert(row);
  }
  std::vector<std::string> sentences;
  std::set<std::string_view> ids;
  for (const unsigned char row : rows) {
    const KnownError& e = known_errors()[row];
    if (!ids.insert(e.id).second) continue;
    std::string sentence = "the workload printed \"";
    sentence.append(e.all_of[0])
        .append(e.all_of[1].empty() ? "" : " ... ")
        .append(e.all_of[1])
        .append("\": ");
    sentence.append(e.cause).append("; ").append(e.fix);
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace ttc::collect

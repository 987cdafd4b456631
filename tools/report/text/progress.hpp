// A bar on stderr for work that takes longer than a moment; nothing when stderr is no terminal.
#pragma once
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ttc::report {

// Columns of the terminal behind a descriptor; `otherwise` where it is none.
inline int terminal_columns(int fd, int otherwise) {
  winsize size{};
  if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return otherwise;
}

// Lines of the terminal behind a descriptor; 0: it is none. A terminal of no known size has 24.
inline size_t terminal_lines(int fd) {
  constexpr size_t kUsual = 24;
  winsize size{};
  if (!isatty(fd)) return 0;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

class Progress {
 public:
  explicit Progress(std::string what)
      : what_(std::move(what)), shown_(isatty(STDERR_FILENO)), begin_(Clock::now()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void operator()(double share) {
    const auto now = Clock::now();
    using namespace std::chrono_literals;
    if (!shown_ || now - begin_ < 500ms || now - last_ < 100ms) return;
    last_ = now;
    const int room = terminal_columns(STDERR_FILENO, 80) - static_cast<int>(what_.size()) - 9;
    if (room < 5) return;
    const int cells = std::min(room, 40);
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * cells);
    std::fprintf(stderr, "\r%s [%s%s] %3.0f%%", what_.c_str(),
                 std::string(static_cast<size_t>(full), '#').c_str(),
                 std::string(static_cast<size_t>(cells - full), '.').c_str(), share * 100);
    std::fflush(stderr);
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::fprintf(stderr, "\r\033[K");
    drawn_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool shown_, drawn_ = false;
  Clock::time_point begin_, last_{};
};

}  // namespace ttc::report

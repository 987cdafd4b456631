#include "tools/terminal/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool obeys_sequences() {
  return !variable("TERM").empty() && variable("TERM") != "dumb";
}

}  // namespace

Colours colours_of_output() {
  if (!isatty(STDOUT_FILENO) || !obeys_sequences()) return Colours::text;
  if (!report::wants_color(STDOUT_FILENO, false, false)) return Colours::none;
  const bool many = variable("TERM").find("256") != std::string_view::npos || !variable("COLORTERM").empty();
  return many ? Colours::many : Colours::eight;
}

bool is_screen() {
  return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && obeys_sequences();
}

bool shows_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos;
  }
  return false;
}

Terminal::Terminal(Colours colours) : colours_(colours) {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped monitor would leave the terminal as it is
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  struct sigaction interrupt {};
  interrupt.sa_handler = [](int) {};  // ends the wait for keys; the size is read at each show()
  sigaction(SIGWINCH, &interrupt, nullptr);
  write_all("\033[?1049h\033[?25l\033[2J");
}

Terminal::~Terminal() {
  write_all("\033[0m\033[?25h\033[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

std::pair<int, int> Terminal::size() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {std::min<int>(size.ws_col, 1000), std::min<int>(size.ws_row, 1000)};
}

bool Terminal::show(const Canvas& canvas) {
  std::string text;
  const std::pair<int, int> size = this->size();
  if (size != shown_size_) {
    shown_.clear();
    shown_size_ = size;
    text = "\033[0m\033[2J";
  }
  shown_.resize(static_cast<size_t>(size.second));
  for (int y = 0; y < size.second; ++y) {
    std::string row = y < canvas.height() ? canvas.row_text(y, colours_) : "";
    std::string& shown = shown_[static_cast<size_t>(y)];
    if (row == shown) continue;
    text += "\033[" + std::to_string(y + 1) + ";1H\033[2K" + row;
    shown = std::move(row);
  }
  return text.empty() || write_all(text);
}

std::vector<Key> Terminal::keys(uint64_t timeout_ns, bool& closed) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const auto wait_ms = static_cast<int>(std::min<uint64_t>(timeout_ns / 1'000'000 + 1, 3'600'000));
  const int ready = poll(&input, 1, wait_ms);
  if (ready > 0 && (input.revents & POLLIN)) {
    char bytes[256];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) closed = got == 0 || (errno != EINTR && errno != EAGAIN);
    if (got > 0) bytes_.append(bytes, static_cast<size_t>(got));
    return take_keys(bytes_, got > 0);
  }
  if (ready > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL))) closed = true;
  return take_keys(bytes_, false);
}

}  // namespace ttc::tools

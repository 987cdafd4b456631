// The terminal of the monitor: raw keys in, changed rows out. Restores the terminal when it is destroyed.
#pragma once
#include <termios.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/terminal/canvas.hpp"
#include "tools/terminal/keys.hpp"

namespace ttc::tools {

// Reads standard output and the environment (NO_COLOR, TERM, COLORTERM).
Colours colours_of_output();
// True if standard input and output are a terminal that supports cursor sequences.
bool is_screen();
// True if block characters can be shown (LC_ALL, LC_CTYPE, LANG).
bool shows_unicode();

class Terminal {
 public:
  explicit Terminal(Colours colours);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::pair<int, int> size() const;  // columns, rows; at least 1
  // Writes the rows that are not on the screen yet. False: the terminal takes no more.
  bool show(const Canvas& canvas);
  // Waits for keys, up to `timeout_ns`; a signal ends the wait. `closed` becomes true when the terminal is gone.
  std::vector<Key> keys(uint64_t timeout_ns, bool& closed);

 private:
  Colours colours_;
  termios before_{};
  std::pair<int, int> shown_size_{0, 0};
  std::vector<std::string> shown_;  // rows as written
  std::string bytes_;               // of a key that is cut
};

}  // namespace ttc::tools

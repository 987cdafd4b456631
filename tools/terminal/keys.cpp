#include "tools/terminal/keys.hpp"

#include <optional>

namespace ttc::tools {
namespace {

std::optional<Key> key_of(char c) {
  switch (c) {
    case 'q':
    case 'Q':
    case 3:  // Ctrl-C where the terminal sends it
      return Key::quit;
    case 'p':
    case ' ':
      return Key::pause;
    case 's':
      return Key::sort;
    case '\t':
      return Key::next_card;
    case 'f':
      return Key::flight;
    case 'c':
      return Key::clear;
    case 'o':
      return Key::profilers;
    case 'h':
    case '?':
      return Key::help;
    default:
      return std::nullopt;
  }
}

// Length of the sequence that begins with ESC [ or ESC O; 0: it is cut.
size_t sequence_length(const std::string& bytes) {
  for (size_t i = 2; i < bytes.size(); ++i)
    if (bytes[i] >= 0x40 && bytes[i] <= 0x7e) return i + 1;
  return 0;
}

std::optional<Key> arrow_of(char last) {
  if (last == 'B' || last == 'C') return Key::next_card;
  if (last == 'A' || last == 'D' || last == 'Z') return Key::card_before;  // Z: shift and tabulator
  return std::nullopt;
}

}  // namespace

std::vector<Key> take_keys(std::string& bytes, bool more_may_come) {
  constexpr size_t kLongestSequence = 32;
  std::vector<Key> keys;
  while (!bytes.empty()) {
    std::optional<Key> key;
    size_t taken = 1;
    if (bytes[0] == '\033') {
      if (bytes.size() == 1 && more_may_come) break;
      if (bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
        taken = sequence_length(bytes);
        if (taken == 0 && more_may_come && bytes.size() < kLongestSequence) break;
        if (taken == 0) taken = bytes.size();
        key = arrow_of(bytes[taken - 1]);
      }
    } else {
      key = key_of(bytes[0]);
    }
    if (key) keys.push_back(*key);
    bytes.erase(0, taken);
  }
  return keys;
}

}  // namespace ttc::tools

#include "collector/program/utf8.hpp"

namespace ttc::program {
namespace {

unsigned char byte(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

size_t announced_length(unsigned char first) {
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

}  // namespace

size_t utf8_length(std::string_view text, size_t at) {
  const unsigned char first = byte(text, at);
  if (first < 0x80) return 1;
  const size_t length = announced_length(first);
  if (length == 0 || length > text.size() - at) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(text, at + i) & 0xc0) != 0x80) return 0;
  const unsigned char next = byte(text, at + 1);
  const bool overlong = (first == 0xe0 && next < 0xa0) || (first == 0xf0 && next < 0x90);
  const bool surrogate = first == 0xed && next >= 0xa0;
  const bool too_large = first == 0xf4 && next >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

char32_t utf8_point(std::string_view text, size_t at, size_t length) {
  if (length == 1) return byte(text, at);
  char32_t point = byte(text, at) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) point = point << 6 | (byte(text, at + i) & 0x3fu);
  return point;
}

}  // namespace ttc::program

#include "collector/program/printable.hpp"

#include <cstdio>

#include "collector/program/utf8.hpp"

namespace ttc::program {
namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

// Marks, embeddings, overrides and isolates of the bidirectional algorithm; line and paragraph separators.
bool changes_layout(char32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

void append_escape(std::string& out, const char* form, unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, form, value);
  out += text;
}

std::string printable_but(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (kept.find(text[at]) != kept.npos) {
      out += text[at++];
      continue;
    }
    const size_t length = utf8_length(text, at);
    if (length == 0) {
      append_escape(out, "\\x%02x", static_cast<unsigned char>(text[at++]));
      continue;
    }
    const char32_t point = utf8_point(text, at, length);
    if (is_control(point))
      append_escape(out, "\\x%02x", static_cast<unsigned>(point));
    else if (changes_layout(point))
      append_escape(out, "\\u%04x", static_cast<unsigned>(point));
    else
      out += text.substr(at, length);
    at += length;
  }
  return out;
}

}  // namespace

bool obeyed_by_terminals(char32_t point) {
  return is_control(point) || changes_layout(point);
}

std::string printable(std::string_view text) {
  return printable_but(text, {});
}

std::string printable_lines(std::string_view text) {
  return printable_but(text, "\n\t");
}

}  // namespace ttc::program

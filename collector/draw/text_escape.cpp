#include "collector/draw/text_escape.hpp"

#include <cstdio>

namespace ttc::draw {
namespace {

// Bytes of the character at `at`; 0: it is none, or an overlong form, a surrogate, or cut.
size_t character(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char c = byte(at);
  if (c < 0x80) return 1;
  const size_t length = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size() - at) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  const unsigned char next = byte(at + 1);
  const bool bad = (c == 0xe0 && next < 0xa0) || (c == 0xed && next >= 0xa0) || (c == 0xf0 && next < 0x90) ||
                   (c == 0xf4 && next >= 0x90);
  return bad ? 0 : length;
}

template <class One>
std::string escaped(std::string_view text, const One& ascii) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = character(text, at);
    if (length == 1)
      ascii(text[at], out);
    else
      out += length ? text.substr(at, length) : std::string_view("?");
    at += length ? length : 1;
  }
  return out;
}

}  // namespace

std::string for_json(std::string_view text) {
  return escaped(text, [](char c, std::string& out) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  });
}

std::string for_markup(std::string_view text) {
  std::string out = escaped(text, [](char c, std::string& to) {
    if (c == '<')
      to += "&lt;";
    else if (c == '>')
      to += "&gt;";  // "]]>" is an error in XML content
    else if (c == '&')
      to += "&amp;";
    else if (c == '"')
      to += "&quot;";
    else
      to += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  });
  for (const std::string_view excluded : {"\xef\xbf\xbe", "\xef\xbf\xbf"})  // U+FFFE and U+FFFF, not in XML
    for (size_t at = 0; (at = out.find(excluded, at)) != out.npos;) out.replace(at, excluded.size(), "?");
  return out;
}

}  // namespace ttc::draw

#include "collector/draw/text_escape.hpp"

#include <cstdio>

#include "collector/program/utf8.hpp"

namespace ttc::draw {
namespace {

template <class One>
std::string escaped(std::string_view text, const One& ascii) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = program::utf8_length(text, at);
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

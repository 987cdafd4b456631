#include "collector/program/json_text.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/printable.hpp"
#include "collector/program/utf8.hpp"

namespace ttc::program {
namespace {

// `text` must be valid JSON: control characters below U+0020 are line ends of the layout there, all others are in
// strings.
std::string for_terminals(std::string text) {
  const auto plain = [](char c) { return static_cast<unsigned char>(c) < 0x7f; };
  if (std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    length = std::max<size_t>(utf8_length(text, at), 1);
    const char32_t point = utf8_point(text, at, length);
    if (point < 0x20 || !obeyed_by_terminals(point)) {
      out.append(text, at, length);
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(point & 0xffff));
    out += escape;
  }
  return out;
}

}  // namespace

std::string json_text(const nlohmann::json& value, int indent) {
  return for_terminals(value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return for_terminals(value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

nlohmann::json json_value(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace ttc::program

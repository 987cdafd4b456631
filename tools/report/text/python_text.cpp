#include "tools/report/text/python_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"

namespace ttc::report {
namespace {

// Single quotes, unless the text has some and no double ones.
std::string quoted(const std::string& text) {
  const bool single = text.find('\'') == std::string::npos || text.find('"') != std::string::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", byte);
      out += hex;
    } else {
      if (c == quote || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + quote;
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];
  const double size = std::abs(value);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string out(text, end);
  if (fixed && out.find('.') == std::string::npos) out += ".0";
  return out;
}

std::string python_rounded(double value, int digits) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return python_float(std::strtod(text, nullptr));
}

std::string python_repr(const nlohmann::ordered_json& value) {
  using Type = nlohmann::ordered_json::value_t;
  switch (value.type()) {
    case Type::string:
      return quoted(value.get_ref<const std::string&>());
    case Type::boolean:
      return value.get<bool>() ? "True" : "False";
    case Type::number_float:
      return python_float(value.get<double>());
    case Type::number_integer:
    case Type::number_unsigned:
      return program::json_text(value);
    case Type::object: {
      std::string out = "{";
      for (const auto& [key, member] : value.items())
        out += (out.size() > 1 ? ", " : "") + quoted(key) + ": " + python_repr(member);
      return out + "}";
    }
    case Type::array: {
      std::string out = "[";
      for (const auto& member : value) out += (out.size() > 1 ? ", " : "") + python_repr(member);
      return out + "]";
    }
    default:
      return "None";
  }
}

std::string python_str(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : python_repr(value);
}

}  // namespace ttc::report

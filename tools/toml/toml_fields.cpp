#include "tools/toml/toml_fields.hpp"

#include <algorithm>

namespace ttc::tools {
namespace {

// The number has no trailing zeros.
std::string plain(double d) {
  std::string s = std::to_string(d);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

// What is beyond ASCII is refused, or hidden in a comment: the parser's tests of whitespace take for granted that some characters
// never come (toml++ 3.3, is_non_ascii_horizontal_whitespace).
std::string ascii(std::string_view text, const std::string& name) {
  std::string out(text);
  size_t line = 1, comment = std::string::npos;
  bool quoted = false;  // this line has a quote before any #
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (c == '\n') {
      ++line, comment = std::string::npos, quoted = false;
    } else if (comment == std::string::npos && (c == '"' || c == '\'')) {
      quoted = true;
    } else if (c == '#' && !quoted) {
      comment = std::min(comment, i);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      if (comment == std::string::npos)
        throw TomlError(name + ":" + std::to_string(line) +
                        ": only comments may have characters beyond ASCII; write \\uXXXX in a text");
      out[i] = '?';
    }
  }
  return out;
}

}  // namespace

toml::table TomlFields::parsed(std::string_view text) const {
  try {
    return toml::parse(ascii(text, name_), name_);
  } catch (const toml::parse_error& e) {
    std::string what(e.description());  // it may quote a line's end
    std::replace_if(
        what.begin(), what.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    fail(e.source(), what);
  }
}

void TomlFields::fail(const toml::source_region& where, const std::string& what) const {
  throw TomlError(name_ + ":" + std::to_string(where.begin.line) + ": " + what);
}

void TomlFields::fields(const toml::table& table, const Fields& known) const {
  for (const auto& [key, node] : table) {
    const auto field = known.find(key.str());
    if (field != known.end()) {
      field->second(node);
      continue;
    }
    std::string all;
    for (const auto& [name, take] : known) all += (all.empty() ? "" : ", ") + std::string(name);
    fail(key.source(), "'" + std::string(key.str()) + "' is not known here; " + all + " are");
  }
}

const toml::table& TomlFields::table(const toml::node& n, const std::string& field) const {
  const toml::table* t = n.as_table();
  if (!t) fail(n, field + " must be a table, written as [" + field + "]");
  return *t;
}

std::string TomlFields::text(const toml::node& n, const std::string& field) const {
  const auto value = n.value_exact<std::string>();
  if (!value || value->empty()) fail(n, field + " must be a text in quotes");
  return *value;
}

bool TomlFields::flag(const toml::node& n, const std::string& field) const {
  const auto value = n.value_exact<bool>();
  if (!value) fail(n, field + " must be true or false");
  return *value;
}

double TomlFields::number(const toml::node& n, const std::string& field, double least, double most) const {
  const auto value = n.value<double>();
  if (!n.is_number() || !value || !(*value >= least && *value <= most))
    fail(n, field + " must be a number from " + plain(least) + " to " + plain(most));
  return *value;
}

int64_t TomlFields::whole_number(const toml::node& n, const std::string& field, int64_t least,
                                 int64_t most) const {
  const auto value = n.value_exact<int64_t>();
  if (!value || *value < least || *value > most)
    fail(n, field + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

}  // namespace ttc::tools

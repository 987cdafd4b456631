#include "tools/fleet/wire/op_codes.hpp"

#include <xxhash.h>

#include <charconv>
#include <cstdio>

#include "collector/program/printable.hpp"

namespace ttc::fleet {

uint32_t code_of(std::string_view name) {
  const uint32_t code = XXH32(name.data(), name.size(), 0);
  return code ? code : 1;
}

uint32_t OpCodes::add(std::string_view name) {
  const std::string shown = program::printable(std::string(name.substr(0, kMostLength)));
  const uint32_t code = code_of(shown);
  if (names_.size() >= kMost && !names_.contains(code)) return 0;
  names_[code] = shown;
  return code;
}

bool OpCodes::add_line(std::string_view line) {
  constexpr size_t kDigits = 8;
  uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + std::min(line.size(), kDigits), code, 16);
  if (line.size() < kDigits + 2 || error != std::errc() || end != line.data() + kDigits ||
      line[kDigits] != '=')
    return false;
  if (code_of(line.substr(kDigits + 1)) != code) return false;
  return add(line.substr(kDigits + 1)) == code;
}

std::vector<std::string> OpCodes::lines() const {
  std::vector<std::string> all;
  for (const auto& [code, name] : names_) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%08x=", code);
    all.push_back(digits + name);
  }
  return all;
}

std::string OpCodes::name_of(uint64_t op) const {
  if (!(op >> 32)) return "op " + std::to_string(op);
  const auto known = names_.find(static_cast<uint32_t>(op));
  if (known != names_.end()) return known->second;
  char text[24];
  std::snprintf(text, sizeof text, "name %08x", static_cast<uint32_t>(op));
  return text;
}

}  // namespace ttc::fleet

// Lines of the host's side that are left out, and numbers in their fields.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/report/host/host_ops.hpp"
#include "tools/report/text/csv_file.hpp"

namespace ttc::report {

template <class T>
std::optional<T> number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '"')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\n'))
    text.remove_suffix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The call count of an op in the text of its zone, id:N.
inline std::optional<uint32_t> op_id_in(std::string_view text) {
  const size_t colon = text.rfind(':');
  return number<uint32_t>(colon == std::string_view::npos ? text : text.substr(colon + 1));
}

// Counts what was left out, with its first place.
struct Skips {
  std::string name, what;
  bool damage = true;  // not: a whole file may hold it
  std::string line = "in line ";
  uint64_t count = 0, first = 0;
  void add(uint64_t line) { first = count++ == 0 ? line : std::min(first, line); }
  void remark(HostLog& log) const {
    if (count == 0) return;
    log.damaged = log.damaged || damage;
    log.remarks.push_back(name + ": " + std::to_string(count) + " " + what + ", the first " + line +
                          std::to_string(first));
  }
};

// A file whose last line has no end was cut.
inline void remark_cut(const CsvFile& file, const std::string& name, HostLog& log) {
  if (file.ended() && !file.unclosed()) return;
  log.damaged = true;
  log.remarks.push_back(name + " ends in the middle of a line; it was cut");
}

}  // namespace ttc::report

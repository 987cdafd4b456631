#include "collector/attach/metal_sync.hpp"

#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

namespace ttc::collect {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    std::string_view field = line.substr(0, comma);
    while (!field.empty() && (field.front() == ' ' || field.front() == '\r')) field.remove_prefix(1);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\r')) field.remove_suffix(1);
    fields.push_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> metal_sync_hz(const std::string& log_directory, uint32_t chip) {
  std::ifstream file(log_directory + "/sync_device_info.csv");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  size_t device_at = ~size_t{0}, frequency_at = ~size_t{0};
  const auto head = fields_of(line);
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == "device id") device_at = i;
    if (head[i] == "frequency") frequency_at = i;
  }
  std::optional<double> hz;
  while (std::getline(file, line)) {
    const auto row = fields_of(line);
    if (device_at >= row.size() || frequency_at >= row.size() || number<uint32_t>(row[device_at]) != chip)
      continue;
    if (const auto ghz = number<double>(row[frequency_at]); ghz && *ghz > 0) hz = *ghz * 1e9;
  }
  return hz;
}

}  // namespace ttc::collect

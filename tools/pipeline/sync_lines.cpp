#include "tools/pipeline/sync_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ttc::tools {
namespace {

std::vector<std::string_view> padded_fields(std::string_view line) {
  std::vector<std::string_view> all;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    std::string_view field = line.substr(begin, end - begin);
    const size_t text = field.find_first_not_of(" \r");
    field = text == field.npos ? "" : field.substr(text, field.find_last_not_of(" \r") + 1 - text);
    all.push_back(field);
    begin = end + 1;
  }
  return all;
}

bool finite_number(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(out);
}

bool device_number(std::string_view text, uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string SyncLines::read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (!in) return {};
  if (!std::getline(in, line)) return path.string() + " is empty; it relates no clocks";
  const auto head = padded_fields(line);
  const auto column = [&](std::string_view name) {
    return static_cast<size_t>(std::find(head.begin(), head.end(), name) - head.begin());
  };
  const size_t device = column("device id"), ratio = column("device_frequency_ratio"),
               shift = column("device_shift"), most = std::max({device, ratio, shift});
  if (device >= head.size())
    return path.string() + ": line 1 names no column 'device id'; it relates no clocks";
  if (most >= head.size()) return {};  // early 2024: every device on its own
  uint64_t bad = 0, first_bad = 0;
  for (uint64_t number = 2; std::getline(in, line); ++number) {
    const auto fields = padded_fields(line);
    uint32_t chip = 0;
    Line l;
    if (fields.size() == head.size() && device_number(fields[device], chip) &&
        finite_number(fields[ratio], l.ratio) && finite_number(fields[shift], l.shift) && l.ratio > 0)
      lines_[chip] = l;
    else if (line.find_first_not_of(" \r") != std::string::npos && bad++ == 0)
      first_bad = number;
  }
  // The root of a sync is the only one that keeps its own cycles: if several do, nothing was compared.
  const auto own = [](const auto& of) { return of.second.own(); };
  if (std::count_if(lines_.begin(), lines_.end(), own) > 1) std::erase_if(lines_, own);
  if (bad == 0) return {};
  return path.string() + ": " + std::to_string(bad) +
         " lines have another number of columns than the head, or no number for device, ratio or shift; they "
         "relate no clocks; the first is line " +
         std::to_string(first_bad);
}

std::optional<uint32_t> SyncLines::root() const {
  for (const auto& [chip, line] : lines_)
    if (line.own()) return chip;
  return std::nullopt;
}

uint64_t SyncLines::on_root(uint32_t chip, uint64_t cycles) const {
  const Line& line = lines_.at(chip);
  const double at = static_cast<double>(cycles) * line.ratio + line.shift;
  return at > 0 ? static_cast<uint64_t>(std::llround(at)) : 0;
}

}  // namespace ttc::tools

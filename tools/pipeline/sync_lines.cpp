#include "tools/pipeline/sync_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

}  // namespace

bool SyncLines::read(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) return false;
  const auto head = padded_fields(line);
  const auto column = [&](std::string_view name) {
    return static_cast<size_t>(std::find(head.begin(), head.end(), name) - head.begin());
  };
  const size_t device = column("device id"), ratio = column("device_frequency_ratio"),
               shift = column("device_shift"), most = std::max({device, ratio, shift});
  if (most >= head.size()) return false;
  while (std::getline(in, line)) {
    const auto fields = padded_fields(line);
    if (fields.size() <= most) continue;
    const auto chip = static_cast<uint32_t>(std::strtoul(std::string(fields[device]).c_str(), nullptr, 10));
    const Line l{std::strtod(std::string(fields[ratio]).c_str(), nullptr),
                 std::strtod(std::string(fields[shift]).c_str(), nullptr)};
    if (l.ratio > 0 && std::isfinite(l.ratio) && std::isfinite(l.shift)) lines_[chip] = l;
  }
  // Only the root of a sync keeps its own cycles: where several do, nothing was compared.
  const auto own = [](const auto& of) { return of.second.own(); };
  if (std::count_if(lines_.begin(), lines_.end(), own) > 1) std::erase_if(lines_, own);
  return true;
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

#include "firmware_markers/zone_names.hpp"

#include <algorithm>
#include <charconv>

namespace ttc::markers {

std::string_view zone_string_in(std::string_view line) {
  constexpr std::string_view kMark = "'#pragma message: ";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kMark.size());
  while (!rest.empty() && (rest.back() == '\r' || rest.back() == '\n')) rest.remove_suffix(1);
  if (rest.empty()) return {};
  rest.remove_suffix(1);  // the closing quote
  return rest;
}

std::optional<ZoneSource> parse_zone_string(std::string_view zone_string) {
  const size_t name_end = zone_string.find(',');
  const size_t tail = zone_string.rfind(',');
  if (name_end == std::string_view::npos || tail <= name_end) return std::nullopt;
  if (zone_string.substr(tail + 1) != "KERNEL_PROFILER") return std::nullopt;
  const size_t line_at = zone_string.rfind(',', tail - 1);
  if (line_at == std::string_view::npos || line_at <= name_end) return std::nullopt;
  const std::string_view line = zone_string.substr(line_at + 1, tail - line_at - 1);
  ZoneSource source{std::string(zone_string.substr(0, name_end)),
                    std::string(zone_string.substr(name_end + 1, line_at - name_end - 1)), 0};
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), source.line);
  if (error != std::errc{} || end != line.data() + line.size()) return std::nullopt;
  return source;
}

bool could_run_on(std::string_view name, std::string_view processor) {
  if (name.starts_with("ACTIVE-")) name.remove_prefix(7);
  for (const std::string_view own : {"BRISC", "NCRISC", "TRISC", "ERISC"}) {
    if (!name.starts_with(own) || name.substr(own.size(), 1) != "-") continue;
    return processor == "TENSIX_RISC_AGG" ? own != "ERISC" : processor.starts_with(own);
  }
  return true;
}

bool ZoneNames::add_zone_string(std::string_view zone_string) {
  auto source = parse_zone_string(zone_string);
  if (!source) {
    ++malformed_;
    return false;
  }
  auto& sources = by_hash_[hash16(zone_string)];
  if (std::find(sources.begin(), sources.end(), *source) != sources.end()) return false;
  sources.push_back(std::move(*source));
  ++count_;
  return true;
}

const ZoneSource* ZoneNames::find(uint16_t hash) const {
  const auto it = by_hash_.find(hash);
  return it == by_hash_.end() ? nullptr : &it->second.front();
}

bool ZoneNames::ambiguous(uint16_t hash) const {
  const auto it = by_hash_.find(hash);
  return it != by_hash_.end() && it->second.size() > 1;
}

std::span<const ZoneSource> ZoneNames::sources(uint16_t hash) const {
  const auto it = by_hash_.find(hash);
  return it == by_hash_.end() ? std::span<const ZoneSource>() : it->second;
}

ZoneNames::Choice ZoneNames::choose(uint16_t hash, std::string_view processor) const {
  const auto all = sources(hash);
  if (all.empty()) return {};
  if (all.size() == 1) return {&all.front(), false};
  Choice choice;
  for (const ZoneSource& source : all) {
    if (!could_run_on(source.name, processor)) continue;
    if (!choice.source)
      choice.source = &source;
    else if (source.name != choice.source->name)
      choice.undecided = true;
  }
  if (!choice.source) return {&all.front(), true};
  return choice;
}

}  // namespace ttc::markers

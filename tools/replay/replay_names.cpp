#include "tools/replay/replay_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "firmware_markers/zone_names.hpp"
#include "tools/pipeline/host_semantics.hpp"

namespace ttc::emulation {
namespace {

constexpr uint32_t kMostTries = 1u << 21;  // a 16-bit hash is found after 2^16 on average

constexpr std::string_view kProcessorNames[] = {"BRISC",   "NCRISC", "TRISC_0",        "TRISC_1",
                                                "TRISC_2", "ERISC",  "TENSIX_RISC_AGG"};

std::string zone_string_of(std::string_view name, std::string_view file, uint32_t line) {
  return std::string(name) + "," + std::string(file) + "," + std::to_string(line) + ",KERNEL_PROFILER";
}

uint32_t fnv1a(uint32_t h, std::string_view text) {
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 16777619u;
  return h;
}

// A file name that makes the hash right; name, line and the path in front of the '#' stay.
std::optional<std::string> bent_note(std::string_view name, std::string_view file, uint32_t line,
                                     uint16_t id) {
  const std::string front = std::string(name) + "," + std::string(file) + "#";
  const std::string back = "," + std::to_string(line) + ",KERNEL_PROFILER";
  const uint32_t so_far = fnv1a(2166136261u, front);
  for (uint32_t n = 0; n < kMostTries; ++n) {
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, n, 16).ptr;
    const std::string_view suffix(digits, static_cast<size_t>(end - digits));
    const uint32_t h = fnv1a(fnv1a(so_far, suffix), back);
    if (static_cast<uint16_t>((h & 0xffff) ^ (h >> 16)) == id)
      return std::string(front).append(suffix).append(back);
  }
  return std::nullopt;
}

// Follows the exporter's rule: an event is its own id, and fixed ids have no names on data.
bool has_name(const tools::DeviceLogRow& row) {
  return tools::named_by_id({0, row.id, row.type, 0, 0});
}

}  // namespace

void ReplayNames::Trouble::add(uint64_t line, uint64_t count) {
  if (count == 0) return;
  if (rows == 0 || line < first_line) first_line = line;
  rows += count;
}

ReplayNames::Spelling ReplayNames::spelling_of(uint16_t id, std::string_view name,
                                               const tools::DeviceLogRow& row) {
  Spelling s{std::string(name),
             std::string(row.source_file),
             row.source_line,
             zone_string_of(name, row.source_file, row.source_line),
             false,
             {}};
  s.exact = markers::hash16(s.zone_string) == id;
  if (s.exact) return s;
  std::string path(row.source_file);  // an export writes a semicolon for a comma in a path
  std::replace(path.begin(), path.end(), ';', ',');
  const std::string zone_string = zone_string_of(name, path, row.source_line);
  if (markers::hash16(zone_string) == id) s.zone_string = zone_string, s.exact = true;
  return s;
}

bool ReplayNames::add(const tools::DeviceLogRow& row) {
  std::string_view name = row.zone_name;
  if (!has_name(row)) {
    if (!name.empty()) nameless_kinds_.add(row.line);
    return false;
  }
  Zone& zone = zones_[row.id];
  const auto processor = static_cast<size_t>(row.risc);
  if (name.empty()) {
    zone.unnamed[processor].add(row.line);
    return false;
  }
  bool renamed = false;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos)
    if (spelling_of(row.id, name.substr(0, colon), row).exact) {
      renamed = true;
      name = name.substr(0, colon);
    }
  auto it = std::find_if(zone.spellings.begin(), zone.spellings.end(), [&](const Spelling& s) {
    return s.name == name && s.file == row.source_file && s.source_line == row.source_line;
  });
  if (it == zone.spellings.end()) {
    if (zone.spellings.size() == kMostSpellings) {
      zone.crowded.add(row.line);
      return renamed;
    }
    it = zone.spellings.insert(zone.spellings.end(), spelling_of(row.id, name, row));
  }
  it->rows[processor].add(row.line);
  return renamed;
}

// If no spelling is the id's own, the first one is changed until it is.
std::string ReplayNames::chosen_zone_string(uint16_t id, const Zone& zone) {
  const Spelling& first = zone.spellings.front();
  return bent_note(first.name, first.file, first.source_line, id).value_or(std::string());
}

ReplayNames::Result ReplayNames::finish() const {
  Result result;
  result.lost = nameless_kinds_;
  const std::map<uint16_t, Zone> ordered(zones_.begin(), zones_.end());
  for (const auto& [id, zone] : ordered) {
    result.lost.add(zone.crowded.first_line, zone.crowded.rows);
    if (zone.spellings.empty()) continue;
    markers::ZoneNames names;
    std::string bent;
    for (const Spelling& s : zone.spellings)
      if (s.exact && names.add_zone_string(s.zone_string)) result.zone_strings.push_back(s.zone_string);
    if (names.size() == 0 && names.add_zone_string(bent = chosen_zone_string(id, zone)))
      result.zone_strings.push_back(bent);
    for (size_t p = 0; p < kProcessors; ++p) {
      const markers::ZoneSource* source = names.choose(id, kProcessorNames[p]).source;
      if (source) result.gained.add(zone.unnamed[p].first_line, zone.unnamed[p].rows);
      for (const Spelling& s : zone.spellings) {
        if (source && s.exact && markers::parse_zone_string(s.zone_string) == *source) continue;
        Trouble& trouble =
            source && !bent.empty() && &s == &zone.spellings.front() ? result.other_file : result.lost;
        trouble.add(s.rows[p].first_line, s.rows[p].rows);
      }
    }
  }
  return result;
}

}  // namespace ttc::emulation

#include "tools/report/input/common_time.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace ttc::report {
namespace {

using collect::ClockSegment;
constexpr unsigned kTimeBits = 44;  // of a marker

// From `from` to a marker's time, which has lost its upper bits.
int64_t cycles_since(uint64_t from, uint64_t marker_time) {
  const uint64_t difference = (marker_time - from) << (64 - kTimeBits);
  return static_cast<int64_t>(difference) >> (64 - kTimeBits);
}

// The segment that holds what `outside` is 0 for, else the nearest.
template <class Outside>
const ClockSegment& nearest(const std::vector<ClockSegment>& all, const Outside& outside) {
  return *std::min_element(all.begin(), all.end(), [&](const ClockSegment& a, const ClockSegment& b) {
    return outside(a) < outside(b);
  });
}

double ticks_per_cycle(const ClockSegment& s) {
  return static_cast<double>(s.host_to - s.host_from) / static_cast<double>(s.to_cycles - s.from_cycles);
}

std::vector<std::string_view> fields_of(std::string_view line) {
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

void CommonTime::clock(uint32_t chip, const collect::ClockMap& map) {
  if (map.head().domain != 0) return;  // that of the reference tile
  std::vector<ClockSegment>& known = segments_[chip];
  for (const ClockSegment& s : map.segments())
    if ((s.flags & collect::kFinalSegment) && s.to_cycles > s.from_cycles && s.host_to > s.host_from &&
        (known.empty() || s.host_from >= known.back().host_to))
      known.push_back(s);
  if (known.empty()) segments_.erase(chip);
}

bool CommonTime::read_sync_info(std::istream& in) {
  std::string line;
  if (!std::getline(in, line)) return false;
  const auto head = fields_of(line);
  const auto column = [&](std::string_view name) {
    return static_cast<size_t>(std::find(head.begin(), head.end(), name) - head.begin());
  };
  const size_t device = column("device id"), ratio = column("device_frequency_ratio"),
               shift = column("device_shift"), most = std::max({device, ratio, shift});
  if (most >= head.size()) return false;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    if (fields.size() <= most) continue;
    const auto chip = static_cast<uint32_t>(std::strtoul(std::string(fields[device]).c_str(), nullptr, 10));
    const Line l{std::strtod(std::string(fields[ratio]).c_str(), nullptr),
                 std::strtod(std::string(fields[shift]).c_str(), nullptr)};
    if (l.ratio > 0 && std::isfinite(l.ratio) && std::isfinite(l.shift)) lines_[chip] = l;
  }
  // Only the root device of a sync keeps its own cycles: where several do, nothing was compared.
  const auto own = [](const auto& of) { return of.second.ratio == 1 && of.second.shift == 0; };
  if (std::count_if(lines_.begin(), lines_.end(), own) > 1) std::erase_if(lines_, own);
  return true;
}

uint64_t CommonTime::common(uint32_t chip, uint64_t cycles) const {
  const auto own = segments_.find(chip);
  if (own == segments_.end()) {
    const auto line = lines_.find(chip);
    if (line == lines_.end()) return cycles;
    const double at = static_cast<double>(cycles) * line->second.ratio + line->second.shift;
    return at > 0 ? static_cast<uint64_t>(std::llround(at)) : 0;
  }
  if (own == segments_.begin()) return cycles;
  const ClockSegment& from = nearest(own->second, [&](const ClockSegment& s) {
    const int64_t since = cycles_since(s.from_cycles, cycles);
    const auto length = static_cast<int64_t>(s.to_cycles - s.from_cycles);
    return since < 0 ? -since : std::max<int64_t>(0, since - length);
  });
  const double host = static_cast<double>(cycles_since(from.from_cycles, cycles)) * ticks_per_cycle(from);
  const ClockSegment& to = nearest(segments_.begin()->second, [&](const ClockSegment& s) {
    const double since = static_cast<double>(static_cast<int64_t>(from.host_from - s.host_from)) + host;
    return since < 0 ? -since : std::max(0.0, since - static_cast<double>(s.host_to - s.host_from));
  });
  const double since = static_cast<double>(static_cast<int64_t>(from.host_from - to.host_from)) + host;
  return static_cast<uint64_t>(static_cast<int64_t>(to.from_cycles) +
                               std::llround(since / ticks_per_cycle(to))) &
         ((uint64_t{1} << kTimeBits) - 1);
}

}  // namespace ttc::report

#include "tools/report/input/common_time.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::report {
namespace {

using collect::ClockSegment;
constexpr unsigned kTimeBits = 44;  // of a marker

// The cycles from `from` to a marker's time, which has lost its upper bits.
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

}  // namespace

void CommonTime::clock(uint32_t chip, const collect::ClockMap& map) {
  if (map.head().domain != 0) return;  // that of the reference tile
  std::vector<ClockSegment>& known = segments_[chip];
  const auto all = map.segments();
  size_t first = all.size();
  while (first > 0 && (known.empty() || all[first - 1].host_from >= known.back().host_to)) --first;
  for (const ClockSegment& s : all.subspan(first))
    if ((s.flags & collect::kFinalSegment) && s.to_cycles > s.from_cycles && s.host_to > s.host_from &&
        (known.empty() || s.host_from >= known.back().host_to))
      known.push_back(s);
  if (known.empty()) segments_.erase(chip);
}

std::optional<uint64_t> CommonTime::raw_ns(uint32_t chip, uint64_t cycles) const {
  const auto own = segments_.find(chip);
  if (own == segments_.end()) return std::nullopt;
  const std::vector<ClockSegment>& all = own->second;
  const auto outside = [&](const ClockSegment& s) {
    const int64_t since = cycles_since(s.from_cycles, cycles);
    const auto length = static_cast<int64_t>(s.to_cycles - s.from_cycles);
    return since < 0 ? -since : std::max<int64_t>(0, since - length);
  };
  size_t& last = last_[chip];
  for (size_t tries = 0; tries < 2 && last + 1 < all.size() && outside(all[last]) != 0; ++tries) ++last;
  if (last >= all.size() || outside(all[last]) != 0)
    last = static_cast<size_t>(&nearest(all, outside) - all.data());
  const ClockSegment& s = all[last];
  const double since = static_cast<double>(cycles_since(s.from_cycles, cycles)) * ticks_per_cycle(s);
  return (s.host_from + static_cast<uint64_t>(std::llround(since))) / collect::kHostTicksPerNs;
}

uint64_t CommonTime::common(uint32_t chip, uint64_t cycles) const {
  const auto own = segments_.find(chip);
  if (own == segments_.end()) return sync_.known(chip) ? sync_.on_root(chip, cycles) : cycles;
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

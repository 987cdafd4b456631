#include "tools/report/zones/clock_bounds.hpp"

#include <algorithm>
#include <utility>

namespace ttc::report {

void ClockBounds::clock(uint32_t chip, const collect::ClockMap& map) {
  size_t& seen = seen_[chip];
  const auto segments = map.segments();
  for (seen = std::min(seen, segments.size()); seen < segments.size(); ++seen) {
    const collect::ClockSegment& s = segments[seen];
    if (s.bound == collect::kNoBound || s.to_cycles <= s.from_cycles) continue;
    chips_[chip].push_back(
        {s.from_cycles, s.to_cycles, static_cast<double>(s.bound) / collect::kHostTicksPerNs});
  }
}

double ClockBounds::bound_of_share(const std::vector<Stretch>& stretches, double share) {
  std::vector<std::pair<double, double>> by_bound;  // bound, cycles
  double all = 0, sum = 0;
  for (const Stretch& s : stretches) {
    by_bound.emplace_back(s.bound_ns, static_cast<double>(s.to_cycles - s.from_cycles));
    all += by_bound.back().second;
  }
  std::sort(by_bound.begin(), by_bound.end());
  for (const auto& [bound, cycles] : by_bound)
    if ((sum += cycles) >= share * all) return bound;
  return by_bound.empty() ? 0 : by_bound.back().first;
}

std::vector<ClockBounds::Stretch> ClockBounds::joined(const std::vector<Stretch>& stretches, size_t most) {
  const size_t step = (stretches.size() + most - 1) / std::max<size_t>(1, most);
  std::vector<Stretch> all;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (i % std::max<size_t>(1, step) == 0) {
      all.push_back(stretches[i]);
      continue;
    }
    all.back().to_cycles = stretches[i].to_cycles;
    all.back().bound_ns = std::max(all.back().bound_ns, stretches[i].bound_ns);
  }
  return all;
}

}  // namespace ttc::report

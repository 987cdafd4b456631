// The usual ways of turning device time into host time, for the same reads: tt-metal's two-point sync, one
// regression line, and anchors that are taken again and again.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "collector/clock/clock_read.hpp"

namespace ttc::bench {

struct Anchor {
  uint64_t cycles = 0;
  collect::HostTime host = 0;
  double hz = 1e9;
  collect::HostTime at(uint64_t c) const {
    return host + static_cast<collect::HostTime>(
                      std::llround(static_cast<double>(static_cast<int64_t>(c - cycles)) * 16e9 / hz));
  }
};

inline collect::HostTime middle(const collect::ClockRead& r) {
  return r.before + (r.after - r.before) / 2;
}

inline Anchor two_points(const collect::ClockRead& a, const collect::ClockRead& b) {
  return {a.cycles, middle(a),
          static_cast<double>(b.cycles - a.cycles) * 16e9 / static_cast<double>(middle(b) - middle(a))};
}

// Least squares through the middles of the reads.
inline Anchor regression(std::span<const collect::ClockRead> reads) {
  const auto& o = reads[reads.size() / 2];
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& r : reads) {
    const auto x = static_cast<double>(static_cast<int64_t>(r.cycles - o.cycles));
    const auto y = static_cast<double>(static_cast<int64_t>(middle(r) - o.before));
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const auto n = static_cast<double>(reads.size());
  const double slope = (n * sxy - sx * sy) / std::max(n * sxx - sx * sx, 1.0);
  return {o.cycles, o.before + static_cast<collect::HostTime>(std::llround((sy - slope * sx) / n)),
          16e9 / std::max(slope, 1.0)};
}

// Again every second, from the reads of a tenth of a second.
inline std::vector<Anchor> anchors(const std::vector<collect::ClockRead>& reads) {
  std::vector<Anchor> list;
  for (size_t from = 0; from < reads.size();) {
    size_t until = from;
    while (until < reads.size() && reads[until].before < reads[from].before + 1'600'000'000) ++until;
    if (until - from > 1) list.push_back(regression({reads.data() + from, until - from}));
    const auto next = reads[from].before + 16'000'000'000;
    while (from < reads.size() && reads[from].before < next) ++from;
  }
  return list;
}

}  // namespace ttc::bench

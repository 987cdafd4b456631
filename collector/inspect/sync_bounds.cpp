#include "collector/inspect/sync_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ttc::collect {

std::string duration(double ns) {
  char text[32];
  if (ns < 1000)
    std::snprintf(text, sizeof text, "%.0f ns", ns);
  else if (ns < 1e6)
    std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
  else if (ns < 1e9)
    std::snprintf(text, sizeof text, "%.1f ms", ns / 1e6);
  else
    std::snprintf(text, sizeof text, "%.1f s", ns / 1e9);
  return text;
}

double since_start(const SyncResult& r, HostTime t) {
  return r.segments.empty()
             ? 0
             : static_cast<double>(static_cast<int64_t>(t - r.segments.front().host_from)) / 16e9;
}

double hz_of(const ClockSegment& s) {
  return static_cast<double>(s.to_cycles - s.from_cycles) * 16e9 /
         static_cast<double>(s.host_to - s.host_from);
}

namespace {

constexpr size_t kMostWide = 3;
constexpr double kTogetherS = 0.02;  // segments of one movement
constexpr double kLongReadGapNs = 5e6;

// Time between segment `i` and the one in front of it.
double jump_before(const SyncResult& r, size_t i) {
  if (i == 0 || i >= r.segments.size() || r.segments[i].era != r.segments[i - 1].era) return 0;
  return static_cast<double>(r.segments[i].host_from - r.segments[i - 1].host_to) / kHostTicksPerNs;
}

// What made the bound of segment `i` wide, as the segments beside it show.
std::string why_wide(const SyncResult& r, size_t i) {
  const ClockSegment& s = r.segments[i];
  const double ns = static_cast<double>(s.host_to - s.host_from) / kHostTicksPerNs;
  const double jumps = jump_before(r, i) + jump_before(r, i + 1);
  if (jumps > 0) return "the counter stood, or was read late, for up to " + duration(jumps + ns);
  if (s.kind != BoundKind::conditional && ns > kLongReadGapNs) return "no read for " + duration(ns);
  if (s.kind != BoundKind::conditional) return "the reads contradict the condition, or there are too few";
  // Of the pieces that the movement began and ended with.
  size_t first = i, last = i;
  while (first > 0 &&
         since_start(r, s.host_from) - since_start(r, r.segments[first - 1].host_to) < kTogetherS)
    --first;
  while (last + 1 < r.segments.size() &&
         since_start(r, r.segments[last + 1].host_from) - since_start(r, s.host_to) < kTogetherS)
    ++last;
  char text[96];
  std::snprintf(text, sizeof text, "the frequency moved: %.1f, %.1f, %.1f MHz",
                hz_of(r.segments[first]) / 1e6, hz_of(s) / 1e6, hz_of(r.segments[last]) / 1e6);
  return text;
}

}  // namespace

BoundShares bound_shares_of(const SyncResult& r) {
  BoundShares s;
  double covered = 0;
  for (const ClockSegment& segment : r.segments) {
    const auto ticks = static_cast<double>(segment.host_to - segment.host_from);
    const double ns = static_cast<double>(segment.bound) / kHostTicksPerNs;
    covered += ticks;
    double& share = segment.kind != BoundKind::conditional ? s.hard
                    : ns <= 100                            ? s.up_to_100_ns
                    : ns <= 1000                           ? s.up_to_1_us
                    : ns <= 10'000                         ? s.up_to_10_us
                                                           : s.wider;
    share += ticks;
  }
  for (double* share : {&s.up_to_100_ns, &s.up_to_1_us, &s.up_to_10_us, &s.wider, &s.hard})
    *share = covered > 0 ? *share / covered : 0;
  return s;
}

std::string text_of(const BoundShares& s) {
  char text[160];
  std::snprintf(text, sizeof text,
                "%.1f %% of the time within 100 ns, %.1f %% 1 us, %.1f %% 10 us, %.1f %% wider; hard %.1f %%",
                100 * s.up_to_100_ns, 100 * s.up_to_1_us, 100 * s.up_to_10_us, 100 * s.wider, 100 * s.hard);
  return text;
}

std::vector<WideBound> widest_bounds(const SyncResult& r) {
  std::vector<size_t> order(r.segments.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return r.segments[a].bound > r.segments[b].bound; });
  std::vector<WideBound> list;
  for (const size_t i : order) {
    const double at = since_start(r, r.segments[i].host_from);
    if (std::any_of(list.begin(), list.end(),
                    [&](const WideBound& w) { return std::abs(w.at_s - at) < kTogetherS; }))
      continue;
    list.push_back({at, static_cast<double>(r.segments[i].bound) / kHostTicksPerNs, why_wide(r, i)});
    if (list.size() == kMostWide) break;
  }
  return list;
}

std::string text_of(const WideBound& wide) {
  char at[32];
  std::snprintf(at, sizeof at, "at %.3f s ", wide.at_s);
  return at + duration(wide.bound_ns) + ": " + wide.why;
}

}  // namespace ttc::collect

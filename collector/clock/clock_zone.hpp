// A stretch in which the frequency moves: limits on the time of single cycles, and limits on the pace between
// them. Propagation along the stretch gives the tightest limits that follow (CLOCK.md, "Where it moves").
//
// x: cycles, y: nanoseconds, both from an origin of the caller's that keeps them small.
#pragma once
#include <vector>

namespace ttc::collect {

inline constexpr double kUnlimited = 1e300;

// The time of cycle x lies in [low, high].
struct ZonePoint {
  double x;
  double low = -kUnlimited, high = kUnlimited;
  double middle() const { return (low + high) / 2; }
  double half() const { return (high - low) / 2; }
};

// How the pace goes on from one point to the next: anyhow, only to slower ones, or only to faster ones.
enum class ZoneBend { any, slower, faster };

// Nanoseconds a cycle from one point to the next: at least `fast`, at most `slow`.
struct ZonePace {
  double fast, slow = kUnlimited;
  ZoneBend bend = ZoneBend::any;
};

// `paces` has one entry for each two neighbours. False: no course of the counter meets all limits.
bool narrow_zone(std::vector<ZonePoint>& points, const std::vector<ZonePace>& paces);

// Limits at x between two neighbours that narrow_zone() went over.
ZonePoint zone_at(const ZonePoint& from, const ZonePoint& to, const ZonePace& pace, double x);
// Where those limits bend, in order: at most two, whole numbers within (from.x, to.x).
std::vector<double> zone_bends(const ZonePoint& from, const ZonePoint& to, const ZonePace& pace);

}  // namespace ttc::collect

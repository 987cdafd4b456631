#include "collector/clock/geometry/even_slew.hpp"

#include <algorithm>
#include <cmath>

namespace ttc::collect {
namespace {

constexpr int kMostExchanges = 200;  // a dozen are usual; to stop earlier gives a larger limit

struct At {
  double x, y;
};

// The parabola through three points.
struct Parabola {
  At left, middle, right;
  double bend;

  Parabola(At l, At m, At r) : left(l), middle(m), right(r) {
    bend = 2 * ((r.y - m.y) / (r.x - m.x) - (m.y - l.y) / (m.x - l.x)) / (r.x - l.x);
  }
  double at(double x) const {
    const double chord = (right.y - left.y) / (right.x - left.x);
    return left.y + chord * (x - left.x) + bend / 2 * (x - left.x) * (x - right.x);
  }
};

// The largest bend upwards for sign 1, downwards for -1. A parabola that passes below at two reads and above at one between
// them bends upwards by no more than the one through those limits, whichever three they are. The three that limit most are
// found by exchange: the read that the parabola misses by most takes the place of one of them. Below 0: every such parabola bends
// the other way.
double largest_bend(std::span<const SlewLimit> reads, double sign) {
  const auto low = [&](const SlewLimit& r) { return sign > 0 ? r.low : -r.high; };
  const auto high = [&](const SlewLimit& r) { return sign > 0 ? r.high : -r.low; };
  const SlewLimit &first = reads.front(), &middle = reads[reads.size() / 2], &last = reads.back();
  Parabola p({first.x, high(first)}, {middle.x, low(middle)}, {last.x, high(last)});
  for (int i = 0; i < kMostExchanges; ++i) {
    const SlewLimit* missed = nullptr;
    double by = 0;
    bool above = false;
    for (const SlewLimit& r : reads) {
      const double here = p.at(r.x);
      if (here - high(r) > by) missed = &r, by = here - high(r), above = true;
      if (low(r) - here > by && r.x > p.left.x && r.x < p.right.x)
        missed = &r, by = low(r) - here, above = false;
    }
    if (missed == nullptr || by < 1e-6) break;
    const At limit{missed->x, above ? high(*missed) : low(*missed)};
    const Parabola next = !above                 ? Parabola(p.left, limit, p.right)
                          : limit.x < p.middle.x ? Parabola(limit, p.middle, p.right)
                                                 : Parabola(p.left, p.middle, limit);
    if (!(next.bend < p.bend)) break;
    p = next;
  }
  return p.bend;
}

}  // namespace

std::optional<double> largest_even_slew(std::span<const SlewLimit> reads) {
  if (reads.size() < 3) return kAnySlew;
  const double upwards = largest_bend(reads, 1), downwards = largest_bend(reads, -1);
  if (upwards < -downwards) return std::nullopt;
  return std::max(upwards, downwards);
}

}  // namespace ttc::collect

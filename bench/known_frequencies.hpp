// The bounds that follow from all reads of a world, given every frequency, where each steady stretch begins and ends, and
// how fast the counter ran at most between any two reads. Only the offset to host time has to come from the reads. No model
// has this input: the figure shows the worth of an assumption, not a reachable bound.
//
// A steady stretch is sure but for the trim at either end, if it lasts for three. There every read limits the
// offset, less exactly the farther it is (the crystal wanders by up to 1 ppm a second). Elsewhere limits carry over
// from read to read at no more than the largest frequency of the interval and its two neighbours, and between
// two adjacent stretches at no more and no less than theirs.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/moving_world.hpp"

namespace ttc::bench {

class KnownFrequencies {
 public:
  KnownFrequencies(const test::MovingWorld& world, const std::vector<collect::ClockRead>& reads,
                   bool pace_known)
      : world_(world), reads_(reads), pace_known_(pace_known) {
    for (const auto& r : reads_) points_.push_back({before_ns(r), ns(r.after), 0});
    for (size_t i = 0; i < reads_.size(); ++i) anchor(i);
    propagate();
  }

  // Half the range of the time of what the counter showed at `t`, a cycle included.
  double bound_ns(collect::HostTime t) const {
    const double cycle = 1e9 / world_.hz(t);
    double best = between(t);
    const auto span = sure(t);
    if (span.steady) best = std::min(best, steady(t, span));
    return best + cycle;
  }

 private:
  static constexpr size_t kWindow = 128;
  static constexpr double kWanderPerNs = 1e-15;  // of the pace
  struct Point {
    double low, high;  // ns, of the time of the read's number
    double fast;       // ns a cycle from here to the next
  };
  double ns(collect::HostTime t) const {
    return static_cast<double>(static_cast<int64_t>(t - world_.begin())) / 16;
  }
  // The read showed that the next number was not reached: a cycle of its own frequency earlier for this one.
  double before_ns(const collect::ClockRead& r) const { return ns(r.before) - 1e9 / 7e8; }

  static constexpr collect::HostTime kTrim = 16 * 3'800'000;
  bool lasts(const test::MovingWorld::Span& s) const {
    const auto until = std::min(s.until, reads_.back().after);
    return s.steady && until > s.from && until - s.from >= 3 * kTrim;
  }
  // The stretch around t without its trims; not steady where t is in them.
  test::MovingWorld::Span sure(collect::HostTime t) const {
    auto s = world_.span(t);
    s.steady = lasts(s);
    if (s.from > world_.begin()) s.from += kTrim;
    if (s.until < reads_.back().after) s.until -= kTrim;
    s.steady = s.steady && s.from <= t && t < s.until;
    return s;
  }
  // Two adjacent steady stretches that border near the interval after read i.
  bool near_single_change(size_t i, double& fast, double& slow) const {
    const auto t = reads_[i].before, u = reads_[i + 1].after;
    for (const auto at : {t, u}) {
      const auto s = world_.span(at);
      if (!lasts(s)) continue;
      for (const bool end : {false, true}) {
        const auto edge = end ? s.until : s.from;
        if (edge <= world_.begin() || edge >= reads_.back().after ||
            !lasts(world_.span(end ? edge : edge - 1)))
          continue;
        if (t + kTrim < edge || u > edge + kTrim) continue;
        const auto r = world_.range(edge - 16, edge + 16);
        if (r.low <= 0 || r.high - r.low < 1e-3 * r.high) continue;
        fast = 1e9 / r.high, slow = 1e9 / r.low;
        return true;
      }
    }
    return false;
  }

  size_t next_read(collect::HostTime t) const {
    return static_cast<size_t>(
        std::upper_bound(reads_.begin(), reads_.end(), t,
                         [](collect::HostTime at, const collect::ClockRead& r) { return at < r.before; }) -
        reads_.begin());
  }

  struct Limit {
    double x, low, high;  // cycles from t, ns from t
  };
  // Reads within the stretch, as limits on the offset at t.
  std::vector<Limit> limits(collect::HostTime t, const test::MovingWorld::Span& span) const {
    std::vector<Limit> list;
    const size_t middle = next_read(t);
    const double pace = 1e9 / world_.hz(t);
    const uint64_t here = world_.cycles(t);
    for (size_t i = middle - std::min(middle, kWindow); i < std::min(middle + kWindow, reads_.size()); ++i) {
      const auto& r = reads_[i];
      if (r.after <= span.from || r.before >= span.until) continue;
      if (r.before < span.from || r.after > span.until) continue;
      const double x = static_cast<double>(static_cast<int64_t>(r.cycles - here));
      const double d = x * pace, off = kWanderPerNs * d * d / 2;
      list.push_back({x, ns(r.before) - ns(t) - pace - off, ns(r.after) - ns(t) + off});
    }
    return list;
  }
  double steady(collect::HostTime t, const test::MovingWorld::Span& span) const {
    const auto list = limits(t, span);
    if (list.empty()) return 1e18;
    if (pace_known_) {
      const Range r = offsets(list, 1e9 / world_.hz(t));
      return (r.high - r.low) / 2;
    }
    // The pace is free: the widest range over all that leave one, by bisection of a concave width.
    const double pace = 1e9 / world_.hz(t);
    double least = pace * (1 - 1e-3), most = pace * (1 + 1e-3), from = pace, until = pace;
    const auto possible = [&](double s) {
      const Range r = offsets(list, s);
      return r.high >= r.low;
    };
    for (int i = 0; i < 40; ++i) {
      (possible((least + from) / 2) ? from : least) = (least + from) / 2;
      (possible((most + until) / 2) ? until : most) = (most + until) / 2;
    }
    double low = 1e18, high = -1e18;
    for (int i = 0; i <= 64; ++i) {
      const Range r = offsets(list, from + (until - from) * i / 64);
      if (r.high < r.low) continue;
      low = std::min(low, r.low), high = std::max(high, r.high);
    }
    return (high - low) / 2;
  }
  struct Range {
    double low, high;
  };
  static Range offsets(const std::vector<Limit>& list, double pace) {
    Range r{-1e18, 1e18};
    for (const Limit& l : list) {
      r.low = std::max(r.low, l.low - pace * l.x);
      r.high = std::min(r.high, l.high - pace * l.x);
    }
    return r;
  }

  // A read in a steady stretch gets the bounds of all reads of the stretch.
  void anchor(size_t i) {
    const auto& r = reads_[i];
    const auto span = sure(r.before);
    const double most = world_
                            .range(reads_[i - std::min<size_t>(i, 1)].before,
                                   reads_[std::min(i + 2, reads_.size() - 1)].after)
                            .high;
    points_[i].fast = 1e9 / std::max(most, 1e6);
    if (!span.steady || r.after > span.until) return;
    const auto list = limits(r.before, span);
    if (list.empty()) return;
    const double pace = 1e9 / world_.hz(r.before);
    const Range known = offsets(list, pace);
    // limits() counts from the number at `before`; the read's own number is a little later.
    const double later = static_cast<double>(r.cycles - world_.cycles(r.before)) * pace;
    points_[i].low = std::max(points_[i].low, ns(r.before) + known.low + later);
    points_[i].high = std::min(points_[i].high, ns(r.before) + known.high + later);
  }
  double cycles(size_t i) const { return static_cast<double>(reads_[i + 1].cycles - reads_[i].cycles); }
  void propagate() {
    for (size_t i = 1; i < points_.size(); ++i)
      points_[i].low = std::max(points_[i].low, points_[i - 1].low + points_[i - 1].fast * cycles(i - 1));
    for (size_t i = points_.size() - 1; i-- > 0;)
      points_[i].high = std::min(points_[i].high, points_[i + 1].high - points_[i].fast * cycles(i));
  }
  double between(collect::HostTime t) const {
    const size_t next = next_read(t);
    if (next == 0 || next >= reads_.size()) return 1e18;
    size_t i = next - 1;
    const uint64_t here = world_.cycles(t);
    if (here < reads_[i].cycles && i > 0) --i;
    if (here > reads_[i + 1].cycles && i + 2 < reads_.size()) ++i;
    const Point &p = points_[i], &q = points_[i + 1];
    const double behind = static_cast<double>(here - reads_[i].cycles);
    const double ahead = static_cast<double>(static_cast<int64_t>(reads_[i + 1].cycles - here));
    double low = p.low + p.fast * behind, high = q.high - p.fast * ahead;
    double fast = 0, slow = 0;
    if (near_single_change(i, fast, slow)) {
      low = std::max(low, q.low - slow * ahead);
      high = std::min(high, p.high + slow * behind);
      const double part = behind / std::max(behind + ahead, 1.0);
      if (world_.hz(reads_[i].before) >= world_.hz(reads_[i + 1].after))
        high = std::min(high, p.high + part * (q.high - p.high));
      if (world_.hz(reads_[i].before) <= world_.hz(reads_[i + 1].after))
        low = std::max(low, p.low + part * (q.low - p.low));
    }
    return std::max(high - low, 0.0) / 2;
  }

  const test::MovingWorld& world_;
  const std::vector<collect::ClockRead>& reads_;
  bool pace_known_;
  std::vector<Point> points_;
};

}  // namespace ttc::bench

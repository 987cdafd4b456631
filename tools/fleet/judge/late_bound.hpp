// How far a card's time over consecutive ops can be from the true one, by the bounds of its single times. Pure.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

#include "tools/fleet/wire/batch.hpp"
#include "tools/ranks/clock_points.hpp"

namespace ttc::fleet {

// A sum of durations; once one of them has no bound, the sum has none.
class LateBound {
 public:
  // From the end of the card's op before, whose time has the bound `before`. Where that op is the one that was added last, its end is part of the sum on
  // both sides, and its error is not.
  void add_following(uint32_t before, uint32_t end, bool continues) {
    if (!known(before) || !known(end)) return add_unknown();
    const double at_begin = before, at_end = end;
    ns_ += continues ? at_end - at_begin : at_end + at_begin;
  }
  // Of an op alone, both of whose times have the bound `times`.
  void add_alone(uint32_t times) {
    if (!known(times)) return add_unknown();
    ns_ += 2.0 * times;
  }
  void add(const std::optional<double>& ns) {
    if (!ns) return add_unknown();
    ns_ += *ns;
  }
  // Hosts count time by crystals of their own. Any two differ by kDriftPpm at most, so each by half of it from a rate between them all.
  void add_drift(double took_ns) { ns_ += took_ns * (tools::kDriftPpm / 2.0 / 1e6); }
  void add_unknown() { unknown_ = true; }
  std::optional<double> ns() const { return unknown_ ? std::nullopt : std::optional(ns_); }

 private:
  static bool known(uint32_t bound) { return bound != kUnknownBoundNs; }
  double ns_ = 0;
  bool unknown_ = false;
};

// As it is written beside a lateness, which is rounded to a nanosecond.
inline std::optional<int64_t> written_bound_ns(const std::optional<double>& ns) {
  return ns ? std::optional(static_cast<int64_t>(std::ceil(*ns)) + 1) : std::nullopt;
}

}  // namespace ttc::fleet

// What the samples are turned into: segments along steady cores, and along the stretches between them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr double kUsualTicks = 16;  // a cycle, while no frequency is known

uint64_t ticks_up(double ns) {
  return ns < 1e18 ? static_cast<uint64_t>(std::ceil(ns * kTicks)) : kNoBound;
}

}  // namespace

// How far a segment between the samples `left` and `right` can be from the truth, when nothing is known of
// the frequency but its largest value. All limits are straight, so the ends are the worst.
uint64_t ClockEstimator::hard_error(size_t left, size_t right, const ClockSegment& s) const {
  const double ns_a_cycle = fastest_pace();
  const ClockRead& l = sample(left).best;
  const HostTime origin = l.before;
  const auto error = [&](uint64_t cycles) {
    // A number is shown from its first moment to its successor's; a read says that its own had been reached
    // and its successor had not.
    const size_t from = cycles > l.cycles || left == base_ ? left : left - 1;
    const Sample& f = sample(from);
    const bool shown_then = cycles >= sample(right).best.cycles && right < newest();
    const ClockRead& r = sample(shown_then ? right + 1 : right).best;
    const double low = ns_of(std::max(f.best.before, f.showed_since), origin) +
                       (cycles_of(cycles, f.best.cycles) - 1) * ns_a_cycle;
    const double high = ns_of(r.after, origin) - (cycles_of(r.cycles, cycles) - 1) * ns_a_cycle;
    const double here = ns_of(host_time_at(s, cycles), origin);
    return std::max(here - low, high - here);
  };
  double worst = error(s.from_cycles);
  if (s.to_cycles - s.from_cycles > 1)
    worst = std::max({worst, error(s.from_cycles + 1), error(s.to_cycles - 1)});
  return ticks_up(std::max(worst, 0.0) + kPadNs) + 1;
}

DrawnLine ClockEstimator::line_to(const Position& from, uint64_t until, HostTime host_to) const {
  return {from.cycles, from.host, until, host_to, hz_ > 0 ? 1e9 * kTicks / hz_ : kUsualTicks};
}

void ClockEstimator::emit(std::vector<ClockSegment>& to, size_t left, size_t right, const DrawnLine& line,
                          double error_ns, BoundKind kind, bool final) {
  ClockSegment s = line.segment();
  s.era = era_;
  s.domain = domain_;
  s.kind = kind;
  s.flags = final ? kFinalSegment : 0;
  s.hard_bound = s.bound = hard_error(left, right, s);
  if (kind == BoundKind::conditional)
    s.bound = std::min(s.hard_bound, ticks_up(error_ns + line.ticks_a_cycle() / kTicks + kPadNs) + 2);
  to.push_back(s);
}

// From knot to knot, to the core's last sample or the last before `last`.
ClockEstimator::Position ClockEstimator::along_core(std::vector<ClockSegment>& to, Position at,
                                                    const Core& core, size_t last, bool final) {
  while (at.sample < core.last) {
    const size_t next = knot_behind(at.sample, core);
    if (next > last) break;
    const Knot here = knot(at.sample, core), there = knot(next, core);
    double slew = 0;
    for (size_t k = at.sample; k <= next; ++k) slew = std::max(slew, slew_at(k, core));
    const double ns = ns_between(at.sample, next);
    const double error = std::max(at.half, there.half) + slew * ns * ns / 8;
    const bool good = here.good && there.good && at.half >= 0 && slew < kAnySlew;
    Position end{next, sample(next).best.cycles, there.host, there.good ? there.half : -1};
    if (end.cycles <= at.cycles) {  // begins behind the number that is shown
      at.sample = next;
      continue;
    }
    const DrawnLine line = line_to(at, end.cycles, end.host);
    emit(to, at.sample, next, line, error, good && line.straight() ? BoundKind::conditional : BoundKind::hard,
         final);
    if (line.next() != end.host) end.host = line.next(), end.half = -1;
    if (final && good) {
      const auto paces = paces_of({core.first, core.last});
      hz_ = 2e9 / (paces.low + paces.high);
      if (next == core.last) learn_from(core);
    }
    at = end;
  }
  return at;
}

ClockEstimator::Position ClockEstimator::segments_from(std::vector<ClockSegment>& to, Position at,
                                                       size_t last, bool final) {
  if (at.host == 0) {  // an era's beginning: nothing is known of when its number began
    at.cycles = sample(at.sample).best.cycles + 1;
    at.host = middle_of(sample(at.sample).best);
    at.half = -1;
  }
  find_shifts();
  std::optional<Core> before;
  for (size_t r = 0; r < runs_.size() && at.sample < last; ++r) {
    if (runs_[r].last < at.sample) continue;
    const auto core = core_of(r);
    if (!core) continue;
    if (core->last <= at.sample) {
      if (core->last == at.sample) before = core;
      continue;
    }
    if (core->first > at.sample) {
      const Position end = along_zone(to, at, before, core, last, final);
      if (end.sample != core->first) return end;
      at = end;
    }
    at = along_core(to, at, *core, last, final);
    if (at.sample < core->last) return at;
    before = core;
  }
  if (at.sample < last) at = along_zone(to, at, before, std::nullopt, last, final);
  return at;
}

}  // namespace ttc::collect

// What the samples are turned into: segments along steady cores, and along the stretches between them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr double kUsualTicks = 16;    // a cycle, while no frequency is known
constexpr size_t kFarthestKnot = 16;  // samples
// The largest bound for all of a line, in terms of what is left of the course.
constexpr double kLeanShare = 1.25, kLeanNs = 2;

uint64_t ticks_up(double ns) {
  return ns < 1e18 ? static_cast<uint64_t>(std::ceil(ns * kTicks)) : kNoBound;
}

}  // namespace

// How far a segment between the samples `left` and `right` can be from the truth, when only the largest
// frequency is known. All limits are straight, so the ends are the worst.
uint64_t ClockEstimator::hard_error(size_t left, size_t right, const ClockSegment& s) const {
  const double ns_a_cycle = fastest_pace();
  const ClockRead& l = sample(left).best;
  const HostTime origin = l.before;
  const auto error = [&](uint64_t cycles) {
    // A number is shown from its first moment to its successor's; a read shows that its own had been reached
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
                          const Proof& proof, bool final) {
  ClockSegment s = line.segment();
  s.era = era_;
  s.domain = domain_;
  s.kind = proof.kind;
  s.flags = final ? kFinalSegment : 0;
  s.hard_bound = s.bound = hard_error(left, right, s);
  if (proof.kind == BoundKind::conditional) {
    const double pace = line.ticks_a_cycle() / kTicks;
    s.bound = std::min(s.hard_bound, ticks_up(proof.error_ns + pace + kPadNs) + 2);
    set_pace_error(s, std::max(proof.paces.high / pace - 1, 1 - proof.paces.low / pace));
  }
  to.push_back(s);
}

// The error of a line from the sample `from` to the sample `to`: the distance from what is left of the course at any
// sample on the way, plus what the course can bend between two of them.
ClockEstimator::Proof ClockEstimator::proof_along(const Core& core, size_t from, size_t to,
                                                  const DrawnLine& line) const {
  constexpr Proof kNone{BoundKind::hard, 0, {0, kUnlimited}};
  Proof proof{BoundKind::conditional, 0, {kUnlimited, 0}};
  const double pace = line.ticks_a_cycle() / kTicks;
  double bent = 0, drift = 0;
  for (size_t i = from; i <= to; ++i) {
    const CourseStates& states = core.state(i);
    if (states.empty() || (i < to && core.pacing(i).any_bend())) return kNone;
    const ClockRead& best = sample(i).best;
    const double here =
        ns_of(line.host_from(), best.before) - cycles_of(line.from_cycles(), best.cycles) * pace;
    const Range times = states.times(), paces = states.paces();
    proof.error_ns = std::max({proof.error_ns, times.high - here, here - times.low});
    proof.paces = {std::min(proof.paces.low, paces.low), std::max(proof.paces.high, paces.high)};
    if (!core.beside.empty() && !core.beside[i - core.states_first].empty()) {
      const Range aside = core.beside[i - core.states_first].times();
      proof.error_ns = std::max({proof.error_ns, aside.high - here, here - aside.low});
    }
    if (i == to) break;
    const double cycles = cycles_of(sample(i + 1).best.cycles, best.cycles), bend = core.pacing(i).most_bend;
    bent = std::max(bent, bend * cycles * cycles / 8);
    drift = std::max(drift, bend * cycles / 2);
  }
  proof.error_ns += bent;
  proof.paces = {proof.paces.low - drift, proof.paces.high + drift};
  // A hidden disturbance has a pace of its own.
  if (shifts_near(from)) proof.paces = {0, kUnlimited};
  return proof;
}

// The middle of what is left of the course at a sample.
HostTime ClockEstimator::knot(size_t i, const Core& core) const {
  const CourseStates& states = core.state(i);
  const ClockRead& best = sample(i).best;
  if (states.empty()) return middle_of(best);
  const Range times = states.times();
  return later_by(best.before, (times.low + times.high) / 2);
}

// The piece to a knot that is so near that one bound for all of the line is hardly larger than what is left of the course
// there; at most kFarthestKnot samples away, and not behind `end`.
ClockEstimator::Piece ClockEstimator::piece_along(const Position& at, const Core& core, size_t end) const {
  const auto usual_half = [&](size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i <= to; ++i) {
      const Range times = core.state(i).times();
      sum += (times.high - times.low) / 2;
    }
    return sum / static_cast<double>(to - from + 1);
  };
  for (size_t apart = rules_.offline ? 1 : kFarthestKnot;; apart /= 2) {
    size_t next = std::min((at.sample / apart + 1) * apart, end);
    while (next < end && sample(next).best.cycles <= at.cycles) ++next;
    const DrawnLine line = line_to(at, std::max(sample(next).best.cycles, at.cycles + 1), knot(next, core));
    Proof proof = proof_along(core, at.sample, next, line);
    if (!line.straight()) proof.kind = BoundKind::hard;
    if (apart == 1 || proof.kind == BoundKind::hard ||
        proof.error_ns <= kLeanShare * usual_half(at.sample, next) + kLeanNs)
      return {next, line, proof};
  }
}

// Emits segments from knot to knot, to the core's last sample or the last before `last`.
ClockEstimator::Position ClockEstimator::along_core(std::vector<ClockSegment>& to, Position at,
                                                    const Core& core, size_t last, bool final) {
  const size_t end = std::min(core.last, last);
  while (at.sample < end) {
    const Piece piece = piece_along(at, core, end);
    if (sample(piece.next).best.cycles <= at.cycles) {  // begins behind the number that is shown
      at.sample = piece.next;
      continue;
    }
    emit(to, at.sample, piece.next, piece.line, piece.proof, final);
    if (final && piece.proof.kind == BoundKind::conditional) {
      const auto paces = paces_of({core.first, core.last});
      hz_ = 2e9 / (paces.low + paces.high);
    }
    at = {piece.next, sample(piece.next).best.cycles, piece.line.next(), -1};
  }
  return at;
}

ClockEstimator::Position ClockEstimator::segments_from(std::vector<ClockSegment>& to, Position at,
                                                       size_t last, bool final) {
  if (at.host == 0) {  // an era's beginning: the begin of its number is unknown
    at.cycles = sample(at.sample).best.cycles + 1;
    at.host = middle_of(sample(at.sample).best);
    at.half = -1;
  }
  std::optional<Core> before;
  for (size_t r = 0; r < runs_.size() && at.sample < last; ++r) {
    if (runs_[r].last < at.sample) continue;
    auto core = core_of(r);
    if (!core || core->last < at.sample) continue;
    find_states(*core, std::max(core->first, at.sample),
                core->first > last ? core->first : std::min(core->last, last));
    if (core->first > at.sample) {
      const Position end = along_zone(to, at, before ? &*before : nullptr, &*core, last, final);
      if (end.sample != core->first) return end;
      at = end;
    }
    at = along_core(to, at, *core, last, final);
    if (at.sample < core->last) return at;
    before = std::move(core);
  }
  if (at.sample < last) at = along_zone(to, at, before ? &*before : nullptr, nullptr, last, final);
  return at;
}

}  // namespace ttc::collect

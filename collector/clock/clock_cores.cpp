// The parts of runs that no step disturbs, how fast the frequency may change there, and the knots that follow.
#include <algorithm>
#include <cmath>

#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kFewestOfCore = 6;        // samples
constexpr size_t kBeside = 3;              // samples
constexpr double kEstablishedShare = 0.5;  // of the least step: slopes of a run that is relied on
constexpr double kStepShare = 0.75;        // of the least step: what is nearer may be a ramp
constexpr double kFarthestNs = 200e6;      // of samples from a knot
constexpr double kLeanShare = 0.1;         // of a knot's half: what a straight segment may be off
constexpr double kLearntSpread = 40e-6;    // of a pace, for the grid
constexpr size_t kLongRun = 150;           // samples
constexpr size_t kSettled = 20;            // samples of an open run whose pace is compared
constexpr size_t kLeastBesideShifts = 24;  // samples of a core
constexpr double kLittleShare = 4;         // of a read's width
constexpr size_t kBrief = 14;              // samples from core to core
constexpr uint64_t kShiftsForNs = 10'000'000'000;
// Distances from an end of a run at which the slew is limited again, in samples.
constexpr size_t kDepths[] = {2,  3,  4,  5,  6,  8,  10,  12,  15,  19, 24,
                              30, 38, 48, 60, 75, 95, 120, 150, 190, 240};

}  // namespace

// The first sample behind the step that a run may begin with: one of the run's reads before it would show that step.
size_t ClockEstimator::behind_first_step(const Run& run, double usual_ns) const {
  double surely = trim_ns(run.first, usual_ns);
  for (size_t i = run.first; i < run.last; ++i) {
    const double behind = ns_between(run.first, i);
    surely = std::min(surely, behind + trim_ns(i, usual_ns));
    if (behind >= surely) return i;
  }
  return run.last;
}

// The last sample, up to `until`, before the step that a run may end with: likewise.
size_t ClockEstimator::before_last_step(const Run& run, size_t until, size_t oldest, double usual_ns) const {
  double surely = trim_ns(run.last, usual_ns);
  for (size_t i = run.last; i > oldest; --i) {
    const double ahead = ns_between(i, run.last);
    surely = std::min(surely, ahead + trim_ns(i, usual_ns));
    if (i <= until && ahead >= surely) return i;
  }
  return oldest;
}

// The samples of a run that surely lie between the steps at its ends, and those of them that have enough beside
// them to say how fast the frequency changes.
std::optional<ClockEstimator::Straight> ClockEstimator::straight_part(size_t index) {
  Run& run = runs_[index];
  const size_t oldest = std::max(run.first, base_);
  if (run.last < oldest + kFewestOfCore) return std::nullopt;
  const double usual = widest_usual_ns(run.first, run.last);
  if (run.first >= base_) run.sure_first = behind_first_step(run, usual);
  size_t until = run.last;
  if (index + 1 < runs_.size()) {
    Run& next = runs_[index + 1];
    if (!next.reach_known && next.last >= next.first + kFewestOfCore) find_reach(next);
    if (next.reach_known && next.reaches_back <= until) until = std::max(next.reaches_back, oldest + 1) - 1;
  }
  if (!run.open) until = before_last_step(run, until, oldest, usual);
  run.sure_last = until;
  const Straight part{std::max(run.sure_first + kBeside, base_), until - std::min(until, kBeside)};
  if (part.last < part.first + 2) return std::nullopt;
  return part;
}

LineFamily::Range ClockEstimator::paces_of(const Straight& part) const {
  const LineFamily f = family(std::max(part.first, part.last - std::min(part.last, 2 * half_window())),
                              part.last, part.last, part.last);
  return f.empty() ? LineFamily::Range{1, 1e9} : f.slopes();
}

// Two runs that adjoin, so far apart that the one goes over into the other by a step or by a ramp that is too
// steep to reach into either.
bool ClockEstimator::steps_between(size_t index, size_t next) {
  if (next >= runs_.size() || runs_[next].gap_before || runs_[next].first > runs_[index].last + 2)
    return false;
  const auto a = straight_part(index), b = straight_part(next);
  if (!a || !b) return false;
  const auto pa = paces_of(*a), pb = paces_of(*b);
  const double apart = std::max(pb.low / pa.high, pa.low / pb.high) - 1;
  return apart >= kStepShare * rules_.least_step_ppm * 1e-6;
}

bool ClockEstimator::on_grid(size_t index) {
  const auto part = straight_part(index);
  return part && grid_.on_grid(middle_of(sample(part->last).best), paces_of(*part));
}

// Steady between two steps or for long, if anything is: a frequency of the PLL's.
void ClockEstimator::learn_from(const Core& core) {
  const bool is_long = core.last - core.first >= kLongRun;
  const bool steps =
      core.run > 0 && steps_between(core.run - 1, core.run) && steps_between(core.run, core.run + 1);
  if (!is_long && !steps) return;
  const auto paces = paces_of({core.first, core.last});
  if (paces.high - paces.low < kLearntSpread * paces.low)
    grid_.learn(middle_of(sample(core.last).best), paces);
}

// A brief disturbance that left the frequency as it was and the counter a little off: there may be smaller ones
// that hide between reads.
void ClockEstimator::find_shifts() {
  std::optional<Straight> before;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const auto part = straight_part(r);
    if (!part) continue;
    const bool settled = !runs_[r].open || part->last - part->first >= kSettled;
    if (before && !runs_[r].compared && !runs_[r].gap_before && settled) {
      runs_[r].compared = true;
      if (part->first - before->last <= kBrief && little_apart(*before, *part))
        last_shift_ = middle_of(sample(part->first).best);
    }
    before = part;
  }
}

bool ClockEstimator::little_apart(const Straight& before, const Straight& after) const {
  const size_t h = half_window(), at = after.first;
  const LineFamily a =
      family(std::max(before.first, before.last - std::min(before.last, h)), before.last, at, at);
  const LineFamily b = family(at, std::min(after.last, at + h), at, at);
  if (a.empty() || b.empty()) return true;
  const auto sa = a.slopes(), sb = b.slopes(), va = a.values_at(0), vb = b.values_at(0);
  const double apart_ns = std::max({va.low - vb.high, vb.low - va.high, 0.0});
  return sa.low <= sb.high && sb.low <= sa.high && apart_ns <= kLittleShare * usual_width_ns();
}

bool ClockEstimator::shifts_near(size_t i) const {
  const HostTime at = middle_of(sample(i).best);
  return last_shift_ != 0 && at < last_shift_ + kShiftsForNs * kHostTicksPerNs;
}

std::optional<ClockEstimator::Core> ClockEstimator::core_of(size_t index) {
  const auto part = straight_part(index);
  if (!part) return std::nullopt;
  if (shifts_near(part->first) && part->last - part->first < kLeastBesideShifts) return std::nullopt;
  const auto paces = paces_of(*part);
  if (paces.high - paces.low > kEstablishedShare * rules_.least_step_ppm * 1e-6 * paces.low)
    return std::nullopt;
  Core core{part->first, part->last, index, true, true, false, paces};
  if (grid_.relied_on() && on_grid(index)) {
    core.slews_from_left = index == 0 || !on_grid(index - 1) || !steps_between(index - 1, index);
    core.slews_from_right =
        index + 1 >= runs_.size() || !on_grid(index + 1) || !steps_between(index, index + 1);
    core.on_grid = !core.slews_from_left || !core.slews_from_right;
  }
  find_slews(core);
  return core;
}

// --- how fast the frequency may change

// Of an even change through all of the samples, as a share of the pace per ns.
double ClockEstimator::largest_slew(size_t first, size_t last) const {
  const LineFamily lines = family(first, last, (first + last) / 2, first);
  if (lines.empty()) return kAnySlew;
  const double end = cycles_of(sample(last).best.cycles, sample(first).best.cycles);
  const auto at_first = lines.values_at(0), at_last = lines.values_at(end);
  const double offset = (at_first.low + at_first.high) / 2;
  const double slope = ((at_last.low + at_last.high) / 2 - offset) / std::max(end, 1.0);
  std::vector<SlewLimit> reads;
  reads.reserve(last - first + 1);
  const ClockRead& o = sample(first).best;
  for (size_t i = first; i <= last; ++i) {
    const ClockRead& r = sample(i).best;
    reads.push_back(
        {cycles_of(r.cycles, o.cycles), ns_of(r.before, o.before) - slope, ns_of(r.after, o.before)});
  }
  const double bend = largest_even_slew(reads, offset, slope);
  return bend >= kAnySlew ? kAnySlew : bend / (slope * slope);
}

// `other`: the last sample that the run has in the direction away from `end`.
void ClockEstimator::extend(SlewProfile& profile, size_t end, size_t other) const {
  if (profile.end != end) profile = {end, 0, {}};
  const size_t length = other > end ? other - end : end - other;
  if (length <= profile.known) return;
  profile.known = length;
  for (size_t k = profile.most.size(); k < std::size(kDepths) && kDepths[k] <= length; ++k) {
    const size_t far = other > end ? end + kDepths[k] : end - kDepths[k];
    const double most = largest_slew(std::min(far, end), std::max(far, end));
    // A shorter stretch of the same reads has to be explained as well.
    profile.most.push_back(k == 0 ? most : std::min(most, profile.most.back()));
  }
}

void ClockEstimator::find_slews(const Core& core) {
  Run& run = runs_[core.run];
  if (run.sure_first >= base_) extend(run.at_first, run.sure_first, run.sure_last);
  extend(run.at_last, run.sure_last, std::max(run.sure_first, base_));
}

double ClockEstimator::slew_at(size_t i, const Core& core) const {
  const Run& run = runs_[core.run];
  const auto of = [&](const SlewProfile& p) {
    const size_t depth = i > p.end ? i - p.end : p.end - i;
    double most = kAnySlew;
    for (size_t k = 0; k < p.most.size() && kDepths[k] <= depth; ++k) most = p.most[k];
    return most;
  };
  double most = 0;
  if (core.slews_from_left) most = std::max(most, of(run.at_first));
  if (core.slews_from_right) most = std::max(most, of(run.at_last));
  if (most >= kAnySlew) return kAnySlew;
  return most * rules_.slew_share + rules_.wander_ppb_per_s * 1e-18;
}

// --- knots

LineFamily ClockEstimator::tangents(const Core& core, size_t first, size_t last, size_t tangent,
                                    size_t origin, std::optional<LineFamily::Range> slopes) const {
  LineFamily f(slopes.value_or(LineFamily::Range{fastest_pace(), 1000}), {-1e11, 1e11});
  if (first <= tangent && tangent <= last) pass(f, tangent, origin, kPadNs);
  for (const bool back : {true, false}) {
    // How far the pace and the time can have gone from the tangent's, on the way from sample to sample.
    double pace = 0, time = 0, here = slew_at(tangent, core);
    for (size_t i = tangent; (back ? i > first : i < last) && !f.empty();) {
      const size_t next = back ? i - 1 : i + 1;
      const double there = slew_at(next, core), most = std::max(here, there);
      if (most >= kAnySlew) break;
      const double ns = std::abs(ns_between(i, next));
      time += ns * (pace + most * ns / 2);
      pace += most * ns;
      here = there;
      i = next;
      if (first <= i && i <= last) pass(f, i, origin, time + kPadNs);
    }
  }
  return f;
}

// If a small disturbance that left the frequency as it was hides among the reads: it leaves one half of them
// alone, which have the pace, and all on one side of i, which then have the time.
std::optional<LineFamily::Range> ClockEstimator::values_with_shift(size_t i, const Window& w,
                                                                   const Core& core) const {
  const size_t middle = (w.first + w.last) / 2;
  const LineFamily early = tangents(core, w.first, middle, i, i);
  const LineFamily late = tangents(core, middle + 1, w.last, i, i);
  if (early.empty() || late.empty()) return std::nullopt;
  const auto a = early.slopes(), b = late.slopes();
  const LineFamily::Range paces{std::min(a.low, b.low), std::max(a.high, b.high)};
  const LineFamily left = tangents(core, w.first, i, i, i, paces),
                   right = tangents(core, i, w.last, i, i, paces);
  if (left.empty() || right.empty()) return std::nullopt;
  const auto l = left.values_at(0), r = right.values_at(0);
  return LineFamily::Range{std::min(l.low, r.low), std::max(l.high, r.high)};
}

const ClockEstimator::Knot& ClockEstimator::knot(size_t i, const Core& core) {
  Sample& s = sample(i);
  const Run& run = runs_[core.run];
  const size_t h = half_window();
  Window w{std::max({core.first, i - std::min(i, h), base_}), std::min(core.last, i + h),
           core.slews_from_left ? run.sure_first : 0, core.slews_from_right ? run.sure_last : 0,
           core.on_grid};
  while (w.first < i && ns_between(w.first, i) > kFarthestNs) ++w.first;
  while (w.last > i && ns_between(i, w.last) > kFarthestNs) --w.last;
  w.one_sided = shifts_near(i);
  if (s.knot.host != 0 && s.window == w) return s.knot;
  s.window = w;
  s.knot = {middle_of(s.best), 0, false};
  LineFamily f = tangents(core, w.first, w.last, i, i);
  if (f.empty()) return s.knot;
  if (core.on_grid) {
    if (const auto on = grid_.on_grid(middle_of(s.best), core.paces)) {
      const LineFamily narrow = tangents(core, w.first, w.last, i, i, on);
      if (!narrow.empty()) f = narrow;
    }
  }
  auto values = f.values_at(0);
  if (w.one_sided) {
    const auto apart = values_with_shift(i, w, core);
    if (!apart) return s.knot;
    values = {std::min(values.low, apart->low), std::max(values.high, apart->high)};
  }
  s.knot = {later_by(s.best.before, (values.low + values.high) / 2), (values.high - values.low) / 2, true};
  return s.knot;
}

// The next sample with a knot: so near that a straight segment is hardly off for the frequency's change.
size_t ClockEstimator::knot_behind(size_t i, const Core& core) {
  const double half = std::max(knot(i, core).half, 1.0);
  for (size_t apart = 16; apart > 1; apart /= 2) {
    const size_t next = std::min((i / apart + 1) * apart, core.last);
    double slew = 0;
    for (size_t k = i; k <= next; ++k) slew = std::max(slew, slew_at(k, core));
    const double ns = ns_between(i, next);
    if (slew * ns * ns / 8 <= kLeanShare * half) return next;
  }
  return i + 1;
}

}  // namespace ttc::collect

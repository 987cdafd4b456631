// The parts of runs that no step disturbs, how fast the frequency may change there, and the knots that follow.
#include <algorithm>
#include <cmath>

#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kFewestOfCore = 6;        // samples
constexpr size_t kBeside = 3;              // samples
constexpr double kEstablishedShare = 0.5;  // of the least step: slopes of a run that is relied on
constexpr double kStepShare = 0.75;        // of the least step: what is nearer may be a ramp
constexpr double kFarthestNs = 200e6;      // of reads that limit a sample's time
constexpr size_t kMostBeside = 150;        // likewise, samples
constexpr size_t kBesideShifts = 16;       // samples whose states are from the same reads
constexpr double kPaceSafety = 1.01;
constexpr double kLearntSpread = 40e-6;    // of a pace, for the grid
constexpr size_t kLongRun = 150;           // samples
constexpr size_t kSettled = 20;            // samples of an open run whose pace is compared
constexpr size_t kLeastBesideShifts = 24;  // samples of a core
constexpr double kLittleShare = 4;         // of a read's width
constexpr double kPaceRoom = 1e-6;         // of a pace: how far two that are one may be apart
constexpr double kHiddenShare = 2;  // likewise: a line passes the reads on both sides, by one width each
constexpr double kShorterThanAStepNs = 1.1e6;  // a PLL step stays for 1 ms, and reads are up to 1.06 apart
constexpr size_t kBrief = 14;                  // samples from core to core
constexpr uint64_t kShiftsForNs = 10'000'000'000, kShiftsBeforeNs = 250'000'000;
constexpr size_t kLeastDepth = 2;                             // samples
constexpr double kDepthShare = 1.25, kFineDepthShare = 1.08;  // from one to the next
constexpr size_t kFineDepth = 600;                            // samples

// Distances from an end of a run at which the slew is limited again, in samples; finer where segments become final.
size_t deeper(size_t depth) {
  const double share = depth < kFineDepth ? kDepthShare : kFineDepthShare;
  return std::max(depth + 1, static_cast<size_t>(static_cast<double>(depth) * share));
}

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
// them to show how fast the frequency changes.
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

Range ClockEstimator::paces_of(const Straight& part) const {
  const LineFamily f = family(std::max(part.first, part.last - std::min(part.last, 2 * half_window())),
                              part.last, part.last, part.last);
  return f.empty() ? Range{1, 1e9} : f.slopes();
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

// Learns a frequency of the PLL's from what is steady between two steps or for long. Later runs also limit
// earlier ones that are not final.
void ClockEstimator::learn() {
  for (size_t r = 0; r < runs_.size(); ++r) {
    if (runs_[r].learnt) continue;
    const auto part = straight_part(r);
    if (!part || shifts_near(part->first)) continue;
    const bool is_long = part->last - part->first >= kLongRun;
    const bool steps = !runs_[r].open && r > 0 && steps_between(r - 1, r) && steps_between(r, r + 1);
    if (!is_long && !steps) continue;
    const auto paces = paces_of(*part);
    if (paces.high - paces.low >= kLearntSpread * paces.low) continue;
    grid_.learn(middle_of(sample(part->last).best), paces);
    runs_[r].learnt = true;
  }
}

// A brief disturbance that left the frequency as it was and the counter a little off: there may be smaller ones
// that do not show between reads.
void ClockEstimator::find_shifts() {
  std::optional<Straight> before;
  size_t run_before = 0;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const auto part = straight_part(r);
    if (!part) continue;
    const bool settled = !runs_[r].open || part->last - part->first >= kSettled;
    if (before && !runs_[r].compared && !runs_[r].gap_before && settled) {
      runs_[r].compared = true;
      if (brief_between(*before, r, *part) && (little_apart(sure_part(run_before), sure_part(r)) ||
                                               within_an_interval(run_before, *before, r, *part)))
        note_shift(middle_of(sample(part->first).best));
    }
    before = part;
    run_before = r;
  }
}

// Where a read was made amid a disturbance, lines may explain it with what is behind: that is a run of its own until enough
// reads contradict it, and the lines of the next one explain all of its reads but the first.
bool ClockEstimator::brief_between(const Straight& before, size_t r, const Straight& after) {
  Run& run = runs_[r];
  if (!run.reach_known && run.last >= run.first + kFewestOfCore) find_reach(run);
  const size_t earlier = run.reach_known ? run.first - std::min(run.reaches_back, run.first) : 0;
  return after.first <= before.last + kBrief + earlier;
}

// The lines of a run and those of the one before explain every read, at one frequency: what was between two reads so near each
// other is over sooner than a PLL step.
bool ClockEstimator::within_an_interval(size_t run_before, const Straight& before, size_t r,
                                        const Straight& after) const {
  const Run& run = runs_[r];
  const size_t last = runs_[run_before].last;
  if (last < before.last || !run.reach_known || run.reaches_back > last + 1 || last + 1 > newest())
    return false;
  const size_t h = half_window();
  size_t left = last;
  const size_t first = std::max(before.first, before.last - std::min(before.last, h));
  while (left > before.last && family(first, left, before.last, before.last).empty()) --left;
  if (run.reaches_back > left + 1) return false;
  if (ns_between(left, left + 1) > kShorterThanAStepNs) return false;
  const Range a = paces_of(before), b = paces_of(after);
  const double most = kEstablishedShare * rules_.least_step_ppm * 1e-6 * a.low;
  return a.low <= b.high && b.low <= a.high && a.high - a.low <= most && b.high - b.low <= most;
}

// The samples of a run that are surely between two steps: those of its core and the ones beside it.
ClockEstimator::Straight ClockEstimator::sure_part(size_t run) const {
  return {std::max(runs_[run].sure_first, base_), runs_[run].sure_last};
}

// A disturbance that left the frequency as it was has one pace on both sides. A few reads leave many paces, and lines of all of
// them would meet anywhere.
bool ClockEstimator::little_apart(const Straight& before, const Straight& after) const {
  const size_t h = half_window(), at = after.first;
  const size_t first = std::max(before.first, before.last - std::min(before.last, h)),
               last = std::min(after.last, at + h);
  const LineFamily a = family(first, before.last, at, at), b = family(at, last, at, at);
  if (a.empty() || b.empty()) return true;
  const auto sa = a.slopes(), sb = b.slopes();
  if (sa.low > sb.high || sb.low > sa.high) return false;
  const Range both{std::max(sa.low, sb.low) * (1 - kPaceRoom), std::min(sa.high, sb.high) * (1 + kPaceRoom)};
  const LineFamily a_of_both = family(first, before.last, at, at, both),
                   b_of_both = family(at, last, at, at, both);
  if (a_of_both.empty() || b_of_both.empty()) return true;
  const auto va = a_of_both.values_at(0), vb = b_of_both.values_at(0);
  return std::max(va.low - vb.high, vb.low - va.high) <= kLittleShare * usual_width_ns();
}

void ClockEstimator::note_shift(HostTime at) {
  if (shifts_.empty() || at > shifts_.back().last + kShiftsForNs * kHostTicksPerNs)
    shifts_.push_back({at, at});
  shifts_.back().last = at;
}

void ClockEstimator::forget_shifts(HostTime before) {
  while (!shifts_.empty() && shifts_.front().last + kShiftsForNs * kHostTicksPerNs < before)
    shifts_.pop_front();
}

bool ClockEstimator::shifts_near(size_t i) const {
  const HostTime at = middle_of(sample(i).best);
  return std::any_of(shifts_.begin(), shifts_.end(), [at](const Shifts& s) {
    return at + kShiftsBeforeNs * kHostTicksPerNs > s.first && at < s.last + kShiftsForNs * kHostTicksPerNs;
  });
}

std::optional<ClockEstimator::Core> ClockEstimator::core_of(size_t index) {
  const auto part = straight_part(index);
  if (!part) return std::nullopt;
  if (shifts_near(part->first) && part->last - part->first < kLeastBesideShifts) return std::nullopt;
  const auto paces = paces_of(*part);
  if (paces.high - paces.low > kEstablishedShare * rules_.least_step_ppm * 1e-6 * paces.low)
    return std::nullopt;
  Core core{part->first, part->last, index, true, true, false, {}, paces, 0, {}, {}, {}};
  if (grid_.relied_on() && on_grid(index)) {
    core.slews_from_left = index == 0 || !on_grid(index - 1) || !steps_between(index - 1, index);
    core.slews_from_right =
        index + 1 >= runs_.size() || !on_grid(index + 1) || !steps_between(index, index + 1);
    core.on_grid = !core.slews_from_left || !core.slews_from_right;
  }
  find_slews(core);
  if (core.on_grid) find_off_grid(core);
  return core;
}

// If only one end is a step, the frequency was the PLL's there, and may have changed since as fast as the slews allow.
void ClockEstimator::find_off_grid(Core& core) const {
  const Run& run = runs_[core.run];
  core.off_grids.assign(core.last - core.first + 1, 0);
  if (!core.slews_from_left && !core.slews_from_right) return;
  const bool forwards = !core.slews_from_left;
  if (forwards && run.first < base_) {  // how long it has been on its way is not known any more
    core.on_grid = false;
    return;
  }
  const size_t begin = forwards ? core.first : core.last, step = forwards ? run.first : run.last;
  double off = slew_at(begin, core) * std::abs(ns_between(step, begin));
  for (size_t n = 0; n < core.off_grids.size(); ++n) {
    const size_t i = forwards ? core.first + n : core.last - n;
    if (n > 0) {
      const size_t before = forwards ? i - 1 : i + 1;
      off += std::max(slew_at(i, core), slew_at(before, core)) * std::abs(ns_between(before, i));
    }
    core.off_grids[i - core.first] = off;
  }
}

// --- how fast the frequency may change

// The largest even change through all of the samples, as a share of the pace per ns. No value: none passes all of them.
std::optional<double> ClockEstimator::largest_slew(size_t first, size_t last) const {
  const ClockRead &o = sample(first).best, &end = sample(last).best;
  const double cycles = cycles_of(end.cycles, o.cycles);
  // Limits of the mean pace: late reads leave it open where there are few.
  const double least_ns = ns_of(end.before, o.after), most_ns = ns_of(end.after, o.before);
  if (cycles <= 0 || least_ns <= 0) return kAnySlew;
  const double least = least_ns / (cycles + 1), most = most_ns / std::max(cycles - 1, 1.0);
  std::vector<SlewLimit> reads;
  reads.reserve(last - first + 1);
  for (size_t i = first; i <= last; ++i) {
    const ClockRead& r = sample(i).best;
    reads.push_back(
        {cycles_of(r.cycles, o.cycles), ns_of(r.before, o.before) - most, ns_of(r.after, o.before)});
  }
  const auto bend = largest_even_slew(reads);
  if (!bend || *bend >= kAnySlew) return bend;
  return *bend / (least * least);
}

// `other`: the last sample that the run has in the direction away from `end`.
void ClockEstimator::extend(SlewProfile& profile, size_t end, size_t other) const {
  if (profile.end != end) profile = {end, kLeastDepth, false, {}};
  const size_t length = other > end ? other - end : end - other;
  for (; profile.next <= length && !profile.complete; profile.next = deeper(profile.next)) {
    const size_t far = other > end ? end + profile.next : end - profile.next;
    const auto most = largest_slew(std::min(far, end), std::max(far, end));
    // The wander bends what is longer: no even change passes it, and it limits none.
    profile.complete = !most;
    // A shorter stretch of the same reads has to be explained as well.
    if (most && (profile.limits.empty() || *most < profile.limits.back().most))
      profile.limits.push_back({profile.next, *most});
  }
}

// The largest even change on the way from sample `i` to the profile's end.
double ClockEstimator::most_even(const SlewProfile& profile, size_t i) {
  const size_t depth = i > profile.end ? i - profile.end : profile.end - i;
  const auto behind = std::upper_bound(profile.limits.begin(), profile.limits.end(), depth,
                                       [](size_t d, const SlewLimitAt& l) { return d < l.depth; });
  return behind == profile.limits.begin() ? kAnySlew : std::prev(behind)->most;
}

// Whether reads that follow would limit a change at sample `i` hardly better: those behind it limit one as well as those in front, or
// to half of the wander.
bool ClockEstimator::surely_limited(size_t i) const {
  const double enough = rules_.wander_ppb_per_s * 1e-18 / rules_.slew_share;
  const auto most = largest_slew(i, newest());
  return !most || *most <= std::max(most_even(runs_.back().at_first, i), enough);
}

void ClockEstimator::find_slews(const Core& core) {
  Run& run = runs_[core.run];
  if (run.sure_first >= base_) extend(run.at_first, run.sure_first, run.sure_last);
  extend(run.at_last, run.sure_last, std::max(run.sure_first, base_));
}

double ClockEstimator::slew_at(size_t i, const Core& core) const {
  const Run& run = runs_[core.run];
  double most = 0;
  if (core.slews_from_left) most = std::max(most, most_even(run.at_first, i));
  if (core.slews_from_right) most = std::max(most, most_even(run.at_last, i));
  if (most >= kAnySlew) return kAnySlew;
  return most * rules_.slew_share + rules_.wander_ppb_per_s * 1e-18;
}

// --- courses

// The change of the pace that is possible from one point to another.
double ClockEstimator::CoreCourse::drift(size_t from, size_t to) const {
  double sum = 0;
  for (size_t k = from; k < to; ++k)
    sum += std::min(course.pacing(k).most_bend, 1.0) * (course.point(k + 1).x - course.point(k).x);
  return sum;
}

// What is assumed between the samples `left` and `left` + 1.
Pacing ClockEstimator::pacing_in(const Core& core, size_t left) const {
  const double slew = std::max(slew_at(left, core), slew_at(left + 1, core));
  const ClockRead &from = sample(left).best, &to = sample(left + 1).best;
  const double cycles = cycles_of(to.cycles, from.cycles);
  if (slew >= kAnySlew || cycles <= 1) return {fastest_pace(), kSlowestPace};
  // The bend is a change of the pace a cycle. The pace itself is at most the largest mean that both reads leave (late
  // reads leave a large one), and a few shares of a million more.
  const double pace = ns_of(to.after, from.before) / (cycles - 1) * kPaceSafety;
  const double bend = slew * pace * pace;
  Pacing m{fastest_pace(), kSlowestPace, -bend, bend};
  if (core.on_grid)
    if (const auto on = grid_.on_grid(middle_of(sample(left).best), core.paces))
      if (const double off = std::max(core.off_grid(left), core.off_grid(left + 1)); off < 1)
        m.fast = on->low * (1 - off), m.slow = on->high * (1 + off);
  return m;
}

// Times from the begin of the tightest read of sample `first`.
ClockEstimator::CoreCourse ClockEstimator::course_of(const Core& core, size_t first, size_t last) const {
  const ClockRead& o = sample(first).best;
  std::vector<Course::Point> points;
  std::vector<Pacing> pacings;
  std::vector<size_t> point_of;
  for (size_t i = first; i <= last; ++i) {
    const Sample& s = sample(i);
    std::vector<ClockRead> reads(s.reads.begin(), s.reads.end());
    std::sort(reads.begin(), reads.end(),
              [](const ClockRead& a, const ClockRead& b) { return a.cycles < b.cycles; });
    for (const ClockRead& r : reads) {
      Course::Point point{cycles_of(r.cycles, o.cycles)};
      point.times.high = ns_of(r.after, o.before) + kPadNs;
      if (r.before) point.next_after = ns_of(r.before, o.before) - kPadNs;
      if (!points.empty()) pacings.push_back(pacing_in(core, std::max(i, first + 1) - 1));
      points.push_back(point);
      if (r.cycles == s.best.cycles && point_of.size() == i - first) point_of.push_back(points.size() - 1);
    }
  }
  return {{std::move(points), std::move(pacings), Course::anything(), Course::anything()},
          std::move(point_of),
          first};
}

// The farthest sample in the direction of `to` whose reads limit the time of `from`.
size_t ClockEstimator::reach(size_t from, size_t to, size_t most) const {
  size_t i = from;
  while (i != to && (i > from ? i - from : from - i) < most && std::abs(ns_between(from, i)) < kFarthestNs)
    i += to > from ? 1 : -1;
  return i;
}

void ClockEstimator::find_states(Core& core, size_t first, size_t last) const {
  core.states_first = first;
  core.states.assign(last - first + 1, CourseStates());
  core.pacings.clear();
  for (size_t i = first; i < last; ++i) core.pacings.push_back(pacing_in(core, i));
  if (shifts_near(first)) return find_states_beside_shifts(core, first, last);
  const size_t begin = reach(first, std::max(core.first, base_), kMostBeside),
               end = reach(last, core.last, kMostBeside);
  const CoreCourse c = course_of(core, begin, end);
  if (!c.course.agrees()) return;
  for (size_t i = first; i <= last; ++i) {
    CourseStates s = c.course.at(c.point_at(i));
    s.shift_origin(ns_of(sample(i).best.before, sample(begin).best.before));
    core.states[i - first] = s;
  }
}

// The states at sample i by its neighbour `beside` and the reads behind that up to `end`, but not by the read of i: a
// disturbance beside it or around it may have moved the course off theirs.
CourseStates ClockEstimator::without_read(const CoreCourse& c, size_t i, size_t beside, size_t end) {
  if (i == end) return {};
  const size_t at = c.point_at(i), from = c.point_at(beside);
  CourseStates s = beside < i ? c.course.by_earlier(from) : c.course.by_later(from);
  const double cycles = std::abs(c.course.point(at).x - c.course.point(from).x);
  if (beside < i)
    s.advance(cycles, c.course.pacing(at - 1));
  else
    s.retreat(cycles, c.course.pacing(at));
  return s;
}

// A small disturbance that left the frequency as it was may be among the reads without showing. A sample is on the one side of it or on
// the other, so all reads of one side have the time. One half of all reads is without it, and has the pace.
void ClockEstimator::find_states_beside_shifts(Core& core, size_t first, size_t last) const {
  core.beside.assign(last - first + 1, CourseStates());
  for (size_t from = first; from <= last; from += kBesideShifts) {
    const size_t until = std::min(from + kBesideShifts - 1, last);
    const size_t begin = reach(from, std::max(core.first, base_), half_window()),
                 end = reach(until, core.last, half_window());
    if (begin == end) continue;
    const CoreCourse c = course_of(core, begin, end);
    const size_t middle = (begin + end) / 2;
    const CourseStates early = c.course.by_earlier(c.point_at(middle)),
                       late = c.course.by_later(c.point_at(middle + 1));
    if (early.empty() || late.empty()) continue;
    const Range a = early.paces(), b = late.paces();
    for (size_t i = from; i <= until; ++i) {
      const double drift = c.drift(c.point_at(std::min(i, middle)), c.point_at(std::max(i, middle + 1)));
      const Range paces{std::min(a.low, b.low) - drift, std::max(a.high, b.high) + drift};
      CourseStates left = c.course.by_earlier(c.point_at(i)), right = c.course.by_later(c.point_at(i));
      left.keep_paces(paces);
      right.keep_paces(paces);
      if (left.empty() || right.empty()) continue;
      left.join(right);
      const double origin = ns_of(sample(i).best.before, sample(begin).best.before);
      CourseStates beside = without_read(c, i, i - 1, begin);
      beside.join(without_read(c, i, i + 1, end));
      beside.keep_paces(paces);
      beside.shift_origin(origin);
      const double little = kHiddenShare * widest_usual_ns(begin, end);
      beside.keep_times({-little, ns_of(sample(i).best.after, sample(i).best.before) + little});
      core.beside[i - first] = beside;
      left.shift_origin(origin);
      core.states[i - first] = left;
    }
  }
}

}  // namespace ttc::collect

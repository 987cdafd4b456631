// Segments between two steady cores: where the frequency changes, ramps, stops.
#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "collector/clock/clock_ceiling.hpp"
#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kStepsKept = 1024;
constexpr size_t kLongZone = 40;         // samples: beyond, the end of a stretch is not waited for
constexpr double kShortestCut = 20'000;  // cycles
// Limits for cutting a stretch: a part with a smaller or more even bound is not cut.
struct Cutting {
  double wide_ns, uneven_share;
  int most_halvings;
};
constexpr Cutting kUsual{100, 1.2, 4}, kFine{5, 1.02, 9};
constexpr double kApartShare = 0.75;  // of the least step: frequencies of a single change

double half(const CourseStates& states) {
  const Range r = states.times();
  return (r.high - r.low) / 2;
}
double middle(const CourseStates& states) {
  const Range r = states.times();
  return (r.high + r.low) / 2;
}

}  // namespace

// What a stretch is made of: two points a sample, its number's first moment and the next one's.
struct ClockEstimator::Zone {
  std::vector<size_t> nodes;          // samples, the first where the stretch begins
  std::vector<Course::Point> points;  // the beginning; then two a node, but one of the last
  std::vector<Pacing> pacings;
  CourseStates begin = Course::anything(), end = Course::anything();
  std::vector<size_t> node_of;     // of each point, an index into `nodes`
  std::vector<bool> ends_segment;  // by point
  std::vector<bool> too_long;      // by pacing: only a hard bound
  Range first_alone{};             // the first point as its read alone limits it
  std::vector<double> estimates;   // of the points, for hard bounds
  bool single = false;             // one change between two cores
  bool agrees = true;              // false: the limits contradict each other
  std::optional<Course> course;    // what they leave

  void add(const Course::Point& point, size_t node, bool ends, const Pacing& pacing, bool is_too_long) {
    if (!points.empty()) pacings.push_back(pacing), too_long.push_back(is_too_long);
    points.push_back(point);
    node_of.push_back(node);
    ends_segment.push_back(ends);
  }
};

// --- the limits

// Tight samples in the stretch, and those beside it that limit how fast the counter can have been.
std::vector<size_t> ClockEstimator::tight_between(size_t first, size_t last) const {
  std::vector<size_t> nodes;
  for (size_t i = first; i <= last; ++i)
    if (i == first || i == last || sample(i).tight || sample(i).showed_since) nodes.push_back(i);
  return nodes;
}

ClockEstimator::Frequencies ClockEstimator::mean_between(size_t left, size_t right) const {
  const Sample &l = sample(left), &r = sample(right);
  const double cycles = cycles_of(r.best.cycles, l.best.cycles);
  const double longest = ns_of(r.best.after, std::max(l.best.before, l.showed_since));
  const double shortest = ns_of(r.best.before, l.showed_since ? l.showed_since : l.best.after);
  const auto fastest = static_cast<double>(rules_.largest_hz);
  return {std::max(cycles - 1, 0.0) * 1e9 / std::max(longest, 1.0),
          shortest <= 0 ? fastest : std::min((cycles + 1) * 1e9 / shortest, fastest)};
}

// Nanoseconds a cycle that the counter takes at least in each interval of `nodes`.
std::vector<double> ClockEstimator::fastest_paces(const std::vector<size_t>& nodes) const {
  const size_t oldest = std::max(base_, era_first_);
  const auto longest_ns = static_cast<double>(rules_.longest_moving_gap_ns);
  const double needed = shown_ns_needed(longest_ns);
  std::deque<size_t> around(nodes.begin(), nodes.end());
  const auto shown = [&](size_t left, size_t right) {
    return stands(left) || stands(right) ? 0 : ns_between(left, right);
  };
  double beside = 0;
  for (size_t i = nodes.front(); i > oldest && beside < needed; --i)
    if (sample(i - 1).tight) beside += shown(i - 1, around.front()), around.push_front(i - 1);
  const size_t shift = around.size() - nodes.size();
  beside = 0;
  for (size_t i = nodes.back() + 1; i <= newest() && beside < needed; ++i)
    if (sample(i).tight) beside += shown(around.back(), i), around.push_back(i);
  std::vector<ReadInterval> intervals;
  for (size_t i = 1; i < around.size(); ++i) {
    const size_t left = around[i - 1], right = around[i];
    const Frequencies mean = mean_between(left, right);
    const HostTime from = std::max(sample(left).best.before, sample(left).showed_since);
    intervals.push_back(
        {mean.low, mean.high, ns_of(sample(right).best.after, from), stands(left) || stands(right)});
  }
  const std::vector<double> largest =
      largest_frequencies(intervals, grid_.rate(middle_of(sample(nodes.front()).best)), longest_ns);
  std::vector<double> paces;
  for (size_t i = 0; i + 1 < nodes.size(); ++i)
    paces.push_back(1e9 / std::min(largest[i + shift], static_cast<double>(rules_.largest_hz)));
  return paces;
}

// Whether the counter may have followed a line of the one core up to some sample, and one of the other from
// the next on. Then the counter was never slower or faster than both in between.
std::optional<Pacing> ClockEstimator::single_change(const std::vector<size_t>& nodes, const Core& before,
                                                    const Core& after) const {
  const size_t h = half_window(), left = nodes.front(), right = nodes.back();
  if (before.last != left || after.first != right || nodes.size() > kLongZone) return std::nullopt;
  const CourseStates &a = before.state(left), &b = after.state(right);
  if (a.empty() || b.empty()) return std::nullopt;
  const Range sa = a.paces(), sb = b.paces();
  if (!(sa.high < sb.low || sb.high < sa.low)) return std::nullopt;
  // Nearer than the PLL can come, one of the two is not what it seems.
  const double apart = std::abs((sb.low + sb.high) / (sa.low + sa.high) - 1);
  if (apart < kApartShare * rules_.least_step_ppm * 1e-6) return std::nullopt;
  // One line for all of them, not any for each: the lines of a short core fan out.
  const size_t first = std::max({before.first, left - std::min(left, h), base_});
  const size_t last = std::min(after.last, right + h);
  size_t of_a = 1, of_b = nodes.size() - 1;
  while (of_a < nodes.size() && !family(first, nodes[of_a], left, left).empty()) ++of_a;
  while (of_b > 0 && !family(nodes[of_b - 1], last, right, right).empty()) --of_b;
  for (const size_t i : nodes)
    if (sample(i).showed_since != 0) return std::nullopt;
  if (of_b > of_a) return std::nullopt;
  const bool slower = sa.high < sb.low;
  return Pacing{std::min(sa.low, sb.low), std::max(sa.high, sb.high), slower ? 0 : -kAnyBend,
                slower ? kAnyBend : 0};
}

// What is known of the first moment of a sample's number but for its surroundings.
Range ClockEstimator::read_alone(size_t i) const {
  const Sample& s = sample(i);
  const double high = ns_of(s.best.after, s.best.before) + kPadNs;
  if (i == base_) return {-kUnlimited / 2, high};
  const Sample& earlier = sample(i - 1);
  const double cycles = cycles_of(s.best.cycles, earlier.best.cycles) - 1;
  return {ns_of(std::max(earlier.best.before, earlier.showed_since), s.best.before) +
              cycles * fastest_pace() - kPadNs,
          high};
}

// --- segments

// Emits between two points of a zone, with what is checked between them.
class ClockEstimator::ZoneWriter {
 public:
  ZoneWriter(ClockEstimator& estimator, std::vector<ClockSegment>& to, const Position& at, bool final)
      : estimator_(estimator), to_(to), at_(at), final_(final), origin_(estimator.sample(at.sample).best) {}

  void check(const Place& at) {
    checks_.push_back({at.x, at.states.times()});
    const Range paces = at.states.paces();
    proof_.paces = {std::min(proof_.paces.low, paces.low), std::max(proof_.paces.high, paces.high)};
  }
  // A stretch of one pacing.
  void check(const Place& from, const Place& to, const Pacing& pacing) {
    check(from);
    check(to);
    if (pacing.any_bend()) {
      proof_.paces = {std::min(proof_.paces.low, pacing.fast), std::max(proof_.paces.high, pacing.slow)};
      return;
    }
    // A course that only gets slower is below chords and above the straight continuation from either side; one that only
    // gets faster the other way round. Both sides are nearest to each other where they intersect.
    const double cycles = to.x - from.x;
    const auto meet = [&](bool low) -> std::optional<Check> {
      const auto side = [&](const CourseStates& s, double on) {
        const Range r = s.times_straight_on(on);
        return low ? r.low : -r.high;
      };
      const double a0 = side(from.states, 0), a1 = side(from.states, cycles), b0 = side(to.states, -cycles),
                   b1 = side(to.states, 0);
      if (!(a0 > b0 && b1 > a1)) return std::nullopt;
      const double share = (a0 - b0) / (a0 - b0 + b1 - a1), least = a0 + share * (a1 - a0);
      const double x = from.x + share * cycles;
      return low ? Check{x, {least, -kUnlimited}} : Check{x, {kUnlimited, -least}};
    };
    if (pacing.most_bend > 0)
      if (const auto c = meet(true)) checks_.push_back(*c);
    if (pacing.least_bend < 0)
      if (const auto c = meet(false)) checks_.push_back(*c);
  }
  void hard() { proof_.kind = BoundKind::hard; }
  // Ends the segment at a point at or behind the sample `at_sample` and not behind `right`.
  void end(double x, Range times, size_t at_sample, size_t right) {
    end_at(x, times, (times.low + times.high) / 2, at_sample, right);
  }
  // The same behind a number that may have been shown for long: its own time and the next one's are drawn apart.
  void end_with_jump(double x, Range number, Range next, size_t at_sample) {
    const double x0 = cycles_of(at_.cycles, origin_.cycles), y0 = ns_of(at_.host, origin_.before);
    if (x - 1 <= x0) return end(x, next, at_sample, at_sample);
    const double of_number = (number.low + number.high) / 2, of_next = (next.low + next.high) / 2;
    const double pace = (of_number - y0) / (x - 1 - x0);
    const HostTime begun = later_by(origin_.before, of_next);
    end_at(x, next, of_number + pace, at_sample, at_sample);
    if (at_.host >= begun) return;
    at_.host = begun;
    at_.half = (next.high - next.low) / 2;
  }
  // The same, where another time than the middle of the limits is the better estimate.
  void end_at(double x, Range times, double estimate, size_t at_sample, size_t right) {
    const uint64_t until = origin_.cycles + static_cast<uint64_t>(x);
    if (until > at_.cycles) {
      const DrawnLine line = estimator_.line_to(at_, until, later_by(origin_.before, estimate));
      proof_.error_ns = error_of(line);
      estimator_.emit(to_, at_.sample, right, line, proof_, final_);
      const double next = ns_of(line.next(), origin_.before);
      at_ = {at_sample, until, line.next(), std::max(times.high - next, next - times.low)};
    }
    checks_.clear();
    proof_ = kNothing;
  }
  const Position& at() const { return at_; }

 private:
  static constexpr Proof kNothing{BoundKind::conditional, 0, {kUnlimited, 0}};
  struct Check {
    double x;
    Range times;
  };
  double error_of(const DrawnLine& line) const {
    const double x0 = cycles_of(at_.cycles, origin_.cycles), y0 = ns_of(line.host_from(), origin_.before);
    double error = 0;
    for (const Check& c : checks_) {
      const double here = y0 + line.ticks_a_cycle() / kTicks * (c.x - x0);
      error = std::max({error, c.times.high - here, here - c.times.low});
    }
    return error;
  }

  ClockEstimator& estimator_;
  std::vector<ClockSegment>& to_;
  Position at_;
  bool final_;
  ClockRead origin_;
  std::vector<Check> checks_;
  Proof proof_ = kNothing;
};

// The stretch from `at` to the sample `end`, where `after` begins if it is given.
ClockEstimator::Zone ClockEstimator::zone(const Position& at, const Core* before, const Core* after,
                                          size_t end) const {
  Zone z;
  z.nodes = tight_between(at.sample, end);
  const ClockRead o = sample(at.sample).best;
  const auto reached = [&](const Sample& s) {
    return ns_of(std::max(s.best.before, s.showed_since), o.before) - kPadNs;
  };
  std::optional<Pacing> single;
  if (after && before) single = single_change(z.nodes, *before, *after);
  const auto unread_ns = [&](size_t k) {
    const Sample &left = sample(z.nodes[k - 1]), &right = sample(z.nodes[k]);
    return ns_of(right.best.before, std::max(left.best.after, left.showed_since));
  };
  // In a longer time without a read there may have been several changes, there and back.
  for (size_t k = 1; k < z.nodes.size(); ++k)
    if (unread_ns(k) > static_cast<double>(rules_.longest_change_gap_ns)) single.reset();
  z.single = single.has_value();
  const std::vector<double> fastest = fastest_paces(z.nodes);
  const double start = cycles_of(at.cycles, o.cycles), host = ns_of(at.host, o.before);
  z.first_alone = start > 0 ? Range{reached(sample(at.sample)), kUnlimited} : read_alone(at.sample);
  Course::Point first{start, z.first_alone};
  const bool from_core = before && start == 0 && !before->state(at.sample).empty();
  if (from_core)
    z.begin = before->state(at.sample), first.times = {-kUnlimited, kUnlimited};
  else if (at.half >= 0)
    first.times = {host - at.half, host + at.half};
  z.add(first, 0, true, {}, false);
  for (size_t k = 1; k < z.nodes.size(); ++k) {
    const Sample &s = sample(z.nodes[k]), &left = sample(z.nodes[k - 1]);
    const bool too_long = unread_ns(k) > static_cast<double>(rules_.longest_moving_gap_ns);
    Pacing pacing = single ? *single : Pacing{fastest[k - 1]};
    if (too_long) pacing = {fastest_pace()};
    const double x = cycles_of(s.best.cycles, o.cycles), left_x = cycles_of(left.best.cycles, o.cycles);
    if (left_x + 1 > z.points.back().x)
      z.add({left_x + 1, {reached(left), kUnlimited}}, k - 1, k > 1 || left.showed_since != 0, pacing, false);
    const bool is_last = k + 1 == z.nodes.size();
    z.add({x, {-kUnlimited, ns_of(s.best.after, o.before) + kPadNs}}, k, is_last || s.showed_since != 0,
          pacing, too_long);
    if (is_last && after && !after->state(z.nodes[k]).empty()) {
      z.end = after->state(z.nodes[k]);
      z.end.shift_origin(ns_of(o.before, s.best.before));
    }
  }
  narrow(z);
  if (std::find(z.too_long.begin(), z.too_long.end(), true) != z.too_long.end()) z.estimates = likely(z, at);
  return z;
}

void ClockEstimator::narrow(Zone& z) const {
  z.course.emplace(z.points, z.pacings, z.begin, z.end);
  z.agrees = z.course->agrees();
  if (z.agrees) return;
  // Something that is assumed does not hold: the reads and the largest frequency are what is left.
  z.begin = z.end = Course::anything();
  z.points.front().times = z.first_alone;
  z.points.back().times = {-kUnlimited,
                           ns_of(sample(z.nodes.back()).best.after, sample(z.nodes.front()).best.before)};
  std::fill(z.too_long.begin(), z.too_long.end(), true);
  std::fill(z.pacings.begin(), z.pacings.end(), Pacing{fastest_pace()});
  z.course.emplace(z.points, z.pacings, z.begin, z.end);
  if (z.course->agrees()) return;
  // All samples of an era agree with the largest frequency (belongs_to_era), but for rounding.
  std::fill(z.pacings.begin(), z.pacings.end(), Pacing{});
  z.course.emplace(z.points, z.pacings, z.begin, z.end);
}

// The middles of what is left where the counter was never slower than it is while it runs: their slopes are
// possible ones. Between two reads where it surely stood it may have done so anywhere.
std::vector<double> ClockEstimator::likely(const Zone& z, const Position& at) const {
  constexpr double kSlowest = 1e9 / static_cast<double>(kSlowestHz);
  const HostTime origin = sample(at.sample).best.before;
  const double begin = ns_of(at.host, origin);
  const Sample& last = sample(z.nodes.back());
  for (const bool from_begin : {true, false}) {
    std::vector<Course::Point> points = z.points;
    if (from_begin) points.front().times = {begin, begin};
    // The number of the last read was not over before it.
    if (last.showed_since == 0)
      points.back().times.low = std::max(points.back().times.low, ns_of(last.best.before, origin) - kSlowest);
    std::vector<Pacing> pacings = z.pacings;
    for (size_t i = 0; i < pacings.size(); ++i) {
      const Range p = z.course->at(i).times(), q = z.course->at(i + 1).times();
      const double cycles = points[i + 1].x - points[i].x;
      const bool stood =
          sample(z.nodes[z.node_of[i]]).showed_since != 0 || q.low - p.high > kSlowest * cycles;
      pacings[i] = {fastest_pace(), stood ? kUnlimited : kSlowest};
    }
    const Course course(points, pacings, Course::anything(), Course::anything());
    if (!course.agrees()) continue;
    std::vector<double> middles;
    for (size_t i = 0; i < points.size(); ++i) middles.push_back(middle(course.at(i)));
    return middles;
  }
  return {};
}

// The segment up to point i.
void ClockEstimator::end_segment(ZoneWriter& writer, const Zone& z, size_t i) const {
  const size_t left = z.nodes[z.node_of[i - 1]], right = z.nodes[z.node_of[i]];
  const double x = z.points[i].x;
  const Range times = z.course->at(i).times();
  // A number that the counter stood at: a marker of it may be as old as the stop, or as young.
  const bool stood = left == right && sample(left).showed_since != 0;
  if (stood) {
    writer.hard();
    return writer.end(x, times, right, std::min(right + 1, newest()));
  }
  // Beside a long interval nearly all of what it can lose is next to the read: the middle of the limits would be
  // far from it.
  const auto too_long = [&](size_t pacing) { return pacing < z.too_long.size() && z.too_long[pacing]; };
  const bool beside_long = too_long(i - 1) || too_long(i) || (left == right && i >= 2 && too_long(i - 2));
  const double of_read = ns_of(middle_of(sample(right).best), sample(z.nodes.front()).best.before);
  const double estimate = z.estimates.empty() ? of_read : z.estimates[i];
  if (beside_long && estimate >= times.low && estimate <= times.high)
    return writer.end_at(x, times, estimate, right, right);
  if (left == right) return writer.end_with_jump(x, z.course->at(i - 1).times(), times, right);
  writer.end(x, times, right, right);
}

void ClockEstimator::write(ZoneWriter& writer, const Zone& z) const {
  const Course& course = *z.course;
  for (size_t i = 0; i + 1 < z.points.size(); ++i) {
    const double from = z.points[i].x, to = z.points[i + 1].x;
    if (z.too_long[i]) writer.hard();
    if (to - from > 1) {
      Place a{from, course.within(i, from)}, b{to, course.within(i, to)};
      // If the limits leave a tiny set, rounding can make it empty.
      if (a.states.empty()) a.states = course.at(i);
      if (b.states.empty()) b.states = course.at(i + 1);
      write_between(writer, z, i, a, b, z.too_long[i] ? kFine.most_halvings : 0);
    } else {
      writer.check({from, course.at(i)});
    }
    if (z.ends_segment[i + 1]) end_segment(writer, z, i + 1);
  }
}

// Cuts what is between two places of an interval in half as long as its bound is not the same everywhere, as one bound
// holds for a whole segment.
void ClockEstimator::write_between(ZoneWriter& writer, const Zone& z, size_t i, const Place& from,
                                   const Place& to, int halvings) const {
  const Cutting& cutting = rules_.offline ? kFine : kUsual;
  Place between{std::floor((from.x + to.x) / 2), {}};
  const bool is_short = to.x - from.x <= kShortestCut || halvings >= cutting.most_halvings;
  if (!is_short) between.states = z.course->within(i, between.x);
  if (is_short || between.states.empty()) return writer.check(from, to, z.pacings[i]);
  const double a = half(from.states), b = half(between.states), c = half(to.states);
  const double most = std::max({a, b, c}), least = std::min({a, b, c});
  if (most < cutting.wide_ns || most < cutting.uneven_share * least) {
    writer.check(from, between, z.pacings[i]);
    writer.check(between, to, z.pacings[i]);
    return;
  }
  write_between(writer, z, i, from, between, halvings + 1);
  writer.end(between.x, between.states.times(), z.nodes[z.node_of[i]], z.nodes[z.node_of[i + 1]]);
  write_between(writer, z, i, between, to, halvings + 1);
}

ClockEstimator::Position ClockEstimator::along_zone(std::vector<ClockSegment>& to, const Position& at,
                                                    const Core* before, const Core* after, size_t last,
                                                    bool final) {
  const bool complete = after && after->first <= last;
  if (final && !complete && last < newest() && last - at.sample <= kLongZone) return at;
  const size_t end = complete ? after->first : last;
  const Zone z = zone(at, before, complete ? after : nullptr, end);
  const bool moved = complete || (before && runs_.back().first > before->last);
  if (final && before && moved) note_motion(*before, complete ? after : nullptr, z.single && z.agrees);
  ZoneWriter writer(*this, to, at, final);
  write(writer, z);
  Position there = writer.at();
  there.sample = end;
  if (!z.agrees) there.half = -1;
  return there;
}

void ClockEstimator::note_motion(const Core& before, const Core* after, bool single) {
  if (!single) {
    ++stats_.violations;
    return;
  }
  ++stats_.steps;
  const auto hz = [&](const Core& core) {
    const LineFamily f = family(std::max(core.first, core.last - std::min(core.last, half_window())),
                                core.last, core.last, core.last);
    return f.empty() ? 0.0 : 2e9 / (f.slopes().low + f.slopes().high);
  };
  Step step;
  step.after = sample(before.last).best.before;
  step.before = sample(after->first).best.after;
  step.hz_before = hz(before);
  step.hz_after = hz(*after);
  if (steps_.size() == kStepsKept) steps_.erase(steps_.begin());
  steps_.push_back(step);
}

}  // namespace ttc::collect

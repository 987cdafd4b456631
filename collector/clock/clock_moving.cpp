// Segments between two steady cores: where the frequency changes, ramps, stops.
#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "collector/clock/clock_ceiling.hpp"
#include "collector/clock/clock_estimator.hpp"
#include "collector/clock/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kStepsKept = 1024;
constexpr size_t kLongZone = 40;         // samples: beyond, the end of a stretch is not waited for
constexpr double kShortestCut = 20'000;  // cycles
constexpr double kWideNs = 250;
constexpr double kApartShare = 0.75;  // of the least step: frequencies of a single change
constexpr double kBendSlack = 17;     // cycles: bends are whole numbers, and near ones are one

// Where an interval is cut: where its limits bend, and in the middle of parts that are wide, as one bound
// holds for a whole segment.
std::vector<double> cuts(const ZonePoint& p, const ZonePoint& q, const ZonePace& pace) {
  std::vector<double> bends = zone_bends(p, q, pace), all;
  bends.push_back(q.x);
  double from = p.x;
  for (const double to : bends) {
    if (to - from > kShortestCut &&
        std::max(zone_at(p, q, pace, from).half(), zone_at(p, q, pace, to).half()) > kWideNs)
      all.push_back(std::floor((from + to) / 2));
    if (to != q.x) all.push_back(to);
    from = to;
  }
  return all;
}

// Limits that cross by what doubles round.
void close_up(std::vector<ZonePoint>& points) {
  for (ZonePoint& p : points)
    if (p.low > p.high) p.low = p.high = p.middle();
}

}  // namespace

// What a stretch is made of: two points a sample, its number's first moment and the next one's.
struct ClockEstimator::Course {
  std::vector<size_t> nodes;      // samples, the first where the stretch begins
  std::vector<ZonePoint> points;  // the beginning; then two a node, but one of the last
  std::vector<ZonePace> paces;
  std::vector<size_t> node_of;     // of each point, an index into `nodes`
  std::vector<bool> ends_segment;  // by point
  std::vector<bool> too_long;      // by pace: only a hard bound
  ZonePoint first_alone;           // the first point as its read alone limits it
  std::vector<double> estimates;   // of the points, for hard bounds
  bool single = false;             // one change between two cores
  bool agrees = true;              // false: the limits contradict each other

  void add(const ZonePoint& point, size_t node, bool ends, const ZonePace& pace, bool is_too_long) {
    if (!points.empty()) paces.push_back(pace), too_long.push_back(is_too_long);
    points.push_back(point);
    node_of.push_back(node);
    ends_segment.push_back(ends);
  }
};

// --- the limits

// Tight samples in the stretch, and those beside it that say how fast the counter can have been.
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
// the next on. Then nothing between was slower or faster than both.
std::optional<ZonePace> ClockEstimator::single_change(const std::vector<size_t>& nodes, const Core& before,
                                                      const Core& after) const {
  const size_t h = half_window(), left = nodes.front(), right = nodes.back();
  if (before.last != left || after.first != right || nodes.size() > kLongZone) return std::nullopt;
  const LineFamily a =
      tangents(before, std::max({before.first, left - std::min(left, h), base_}), left, left, left);
  const LineFamily b = tangents(after, right, std::min(after.last, right + h), right, left);
  if (a.empty() || b.empty()) return std::nullopt;
  const auto sa = a.slopes(), sb = b.slopes();
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
  return ZonePace{std::min(sa.low, sb.low), std::max(sa.high, sb.high),
                  sa.high < sb.low ? ZoneBend::slower : ZoneBend::faster};
}

// What is known of the first moment of a sample's number but for its surroundings.
ZonePoint ClockEstimator::read_alone(size_t i) const {
  const Sample& s = sample(i);
  if (i == base_) return {0, -kUnlimited / 2, ns_of(s.best.after, s.best.before)};
  const Sample& earlier = sample(i - 1);
  const double cycles = cycles_of(s.best.cycles, earlier.best.cycles) - 1;
  return {0,
          ns_of(std::max(earlier.best.before, earlier.showed_since), s.best.before) + cycles * fastest_pace(),
          ns_of(s.best.after, s.best.before)};
}

// --- segments

// Emits between two points of a course, with what is checked between them.
class ClockEstimator::ZoneWriter {
 public:
  ZoneWriter(ClockEstimator& estimator, std::vector<ClockSegment>& to, const Position& at, bool final)
      : estimator_(estimator), to_(to), at_(at), final_(final), origin_(estimator.sample(at.sample).best) {}

  void check(const ZonePoint& limits) { checks_.push_back(limits); }
  void hard() { kind_ = BoundKind::hard; }
  // Ends the segment at a point that lies at or behind the sample `at_sample` and not behind `right`.
  void end(const ZonePoint& at, size_t at_sample, size_t right, double slack) {
    end_at(at, at.middle(), at_sample, right, slack);
  }
  // The same behind a number that may have been shown for long: its own time and the next one's are drawn apart.
  void end_with_jump(const ZonePoint& number, const ZonePoint& next, size_t at_sample, double slack) {
    const double x0 = cycles_of(at_.cycles, origin_.cycles), y0 = ns_of(at_.host, origin_.before);
    if (number.x <= x0) return end(next, at_sample, at_sample, slack);
    const double pace = (number.middle() - y0) / (number.x - x0);
    const HostTime begun = later_by(origin_.before, next.middle());
    end_at(next, number.middle() + pace, at_sample, at_sample, slack);
    if (at_.host >= begun) return;
    at_.host = begun;
    at_.half = next.half();
  }
  // The same, where another time than the middle of the limits is the better estimate.
  void end_at(const ZonePoint& at, double estimate, size_t at_sample, size_t right, double slack) {
    const uint64_t until = origin_.cycles + static_cast<uint64_t>(at.x);
    if (until > at_.cycles) {
      const DrawnLine line = estimator_.line_to(at_, until, later_by(origin_.before, estimate));
      estimator_.emit(to_, at_.sample, right, line, error_of(line) + slack, kind_, final_);
      const double next = ns_of(line.next(), origin_.before);
      at_ = {at_sample, until, line.next(), std::max(at.high - next, next - at.low)};
    }
    checks_.clear();
    kind_ = BoundKind::conditional;
  }
  const Position& at() const { return at_; }

 private:
  double error_of(const DrawnLine& line) const {
    const double x0 = cycles_of(at_.cycles, origin_.cycles), y0 = ns_of(line.host_from(), origin_.before);
    double error = 0;
    for (const ZonePoint& c : checks_) {
      const double here = y0 + line.ticks_a_cycle() / kTicks * (c.x - x0);
      error = std::max({error, c.high - here, here - c.low});
    }
    return error;
  }

  ClockEstimator& estimator_;
  std::vector<ClockSegment>& to_;
  Position at_;
  bool final_;
  ClockRead origin_;
  std::vector<ZonePoint> checks_;
  BoundKind kind_ = BoundKind::conditional;
};

// From `at` to the sample `end`, where `after` begins if it is given.
ClockEstimator::Course ClockEstimator::course(const Position& at, const std::optional<Core>& before,
                                              const Core* after, size_t end) {
  Course c;
  c.nodes = tight_between(at.sample, end);
  const ClockRead o = sample(at.sample).best;
  const auto reached = [&](const Sample& s) {
    return ns_of(std::max(s.best.before, s.showed_since), o.before);
  };
  std::optional<ZonePace> single;
  if (after && before) single = single_change(c.nodes, *before, *after);
  c.single = single.has_value();
  const auto unread_ns = [&](size_t k) {
    const Sample &left = sample(c.nodes[k - 1]), &right = sample(c.nodes[k]);
    return ns_of(right.best.before, std::max(left.best.after, left.showed_since));
  };
  // In a longer time without a read there may have been several changes, there and back.
  for (size_t k = 1; k < c.nodes.size(); ++k)
    if (unread_ns(k) > static_cast<double>(rules_.longest_change_gap_ns)) single.reset();
  const std::vector<double> fastest = fastest_paces(c.nodes);
  const double start = cycles_of(at.cycles, o.cycles), host = ns_of(at.host, o.before);
  c.first_alone =
      start > 0 ? ZonePoint{start, reached(sample(at.sample)), kUnlimited} : read_alone(at.sample);
  c.add(at.half >= 0 ? ZonePoint{start, host - at.half, host + at.half} : c.first_alone, 0, true, {}, false);
  for (size_t k = 1; k < c.nodes.size(); ++k) {
    const Sample &s = sample(c.nodes[k]), &left = sample(c.nodes[k - 1]);
    const bool too_long = unread_ns(k) > static_cast<double>(rules_.longest_moving_gap_ns);
    ZonePace pace = single ? *single : ZonePace{fastest[k - 1]};
    if (too_long) pace = {fastest_pace()};
    const ZonePace standing{pace.fast, left.showed_since || !single ? kUnlimited : pace.slow};
    const double x = cycles_of(s.best.cycles, o.cycles), left_x = cycles_of(left.best.cycles, o.cycles);
    if (left_x + 1 > c.points.back().x)
      c.add({left_x + 1, reached(left)}, k - 1, k > 1 || left.showed_since != 0, standing, false);
    const bool is_last = k + 1 == c.nodes.size();
    ZonePoint point{x, -kUnlimited, ns_of(s.best.after, o.before)};
    if (is_last && after) {
      const Knot& there = knot(c.nodes[k], *after);
      const double middle = ns_of(there.host, o.before);
      if (there.good) point = {x, middle - there.half, middle + there.half};
    }
    c.add(point, k, is_last || s.showed_since != 0, pace, too_long);
  }
  narrow(c);
  if (std::find(c.too_long.begin(), c.too_long.end(), true) != c.too_long.end()) c.estimates = likely(c, at);
  return c;
}

void ClockEstimator::narrow(Course& c) const {
  const std::vector<ZonePoint> before = c.points;
  c.agrees = narrow_zone(c.points, c.paces);
  if (c.agrees) return;
  // Something that is assumed does not hold: the reads and the largest frequency are what is left.
  c.points = before;
  c.points.front() = c.first_alone;
  c.points.back().low = -kUnlimited;
  c.points.back().high = ns_of(sample(c.nodes.back()).best.after, sample(c.nodes.front()).best.before);
  for (ZonePace& p : c.paces) p = {fastest_pace()};
  std::fill(c.too_long.begin(), c.too_long.end(), true);
  // All samples of an era agree with the largest frequency (belongs_to_era).
  if (!narrow_zone(c.points, c.paces)) close_up(c.points);
}

// The middles of what is left where the counter was never slower than it is while it runs: their slopes are
// possible ones. Between two reads where it surely stood it may have done so anywhere.
std::vector<double> ClockEstimator::likely(const Course& c, const Position& at) const {
  constexpr double kSlowestPace = 1e9 / static_cast<double>(kSlowestHz);
  const HostTime origin = sample(at.sample).best.before;
  const double begin = ns_of(at.host, origin);
  const Sample& last = sample(c.nodes.back());
  for (const bool from_begin : {true, false}) {
    std::vector<ZonePoint> points = c.points;
    if (from_begin) points.front().low = points.front().high = begin;
    // The number of the last read was not over before it.
    if (last.showed_since == 0)
      points.back().low = std::max(points.back().low, ns_of(last.best.before, origin) - kSlowestPace);
    std::vector<ZonePace> paces = c.paces;
    for (size_t i = 0; i < paces.size(); ++i) {
      const ZonePoint &p = points[i], &q = points[i + 1];
      paces[i].fast = fastest_pace();
      const bool stood =
          sample(c.nodes[c.node_of[i]]).showed_since != 0 || q.low - p.high > kSlowestPace * (q.x - p.x);
      if (!stood) paces[i].slow = std::min(paces[i].slow, kSlowestPace);
    }
    if (!narrow_zone(points, paces)) continue;
    std::vector<double> middles;
    middles.reserve(points.size());
    for (const ZonePoint& p : points) middles.push_back(p.middle());
    return middles;
  }
  return {};
}

// The segment up to point i of the course.
void ClockEstimator::end_segment(ZoneWriter& writer, const Course& c, size_t i, double slack) const {
  const size_t left = c.nodes[c.node_of[i - 1]], right = c.nodes[c.node_of[i]];
  const ZonePoint& q = c.points[i];
  // A number that the counter stood at: a marker of it may be as old as the stop, or as young.
  const bool stood = left == right && sample(left).showed_since != 0;
  if (stood) {
    writer.hard();
    return writer.end(q, right, std::min(right + 1, newest()), slack);
  }
  // Beside a long interval nearly all of what it can lose is next to the read: the middle of the limits would be
  // far from it.
  const auto too_long = [&](size_t pace) { return pace < c.too_long.size() && c.too_long[pace]; };
  const bool beside_long = too_long(i - 1) || too_long(i) || (left == right && i >= 2 && too_long(i - 2));
  const double of_read = ns_of(middle_of(sample(right).best), sample(c.nodes.front()).best.before);
  const double estimate = c.estimates.empty() ? of_read : c.estimates[i];
  if (beside_long && estimate >= q.low && estimate <= q.high)
    return writer.end_at(q, estimate, right, right, slack);
  if (left == right) return writer.end_with_jump(c.points[i - 1], q, right, slack);
  writer.end(q, right, right, slack);
}

void ClockEstimator::write(ZoneWriter& writer, const Course& c) const {
  for (size_t i = 0; i + 1 < c.points.size(); ++i) {
    const ZonePoint &p = c.points[i], &q = c.points[i + 1];
    const ZonePace& pace = c.paces[i];
    if (c.too_long[i]) writer.hard();
    const double slack = pace.slow < kUnlimited ? kBendSlack * (pace.slow - pace.fast) : 0;
    if (q.x - p.x <= 1) {
      writer.check(p);
    } else {
      writer.check(zone_at(p, q, pace, p.x));
      if (!c.too_long[i])
        for (const double x : cuts(p, q, pace)) {
          const ZonePoint cut = zone_at(p, q, pace, x);
          writer.check(cut);
          writer.end(cut, c.nodes[c.node_of[i]], c.nodes[c.node_of[i + 1]], slack);
          writer.check(cut);
        }
      writer.check(zone_at(p, q, pace, q.x));
    }
    if (c.ends_segment[i + 1]) end_segment(writer, c, i + 1, slack);
  }
}

ClockEstimator::Position ClockEstimator::along_zone(std::vector<ClockSegment>& to, const Position& at,
                                                    const std::optional<Core>& before,
                                                    const std::optional<Core>& after, size_t last,
                                                    bool final) {
  const bool complete = after && after->first <= last;
  if (final && !complete && last < newest() && last - at.sample <= kLongZone) return at;
  const size_t end = complete ? after->first : last;
  const Course c = course(at, before, complete ? &*after : nullptr, end);
  const bool moved = complete || (before && runs_.back().first > before->last);
  if (final && before && moved) note_motion(*before, complete ? after : std::nullopt, c.single && c.agrees);
  ZoneWriter writer(*this, to, at, final);
  write(writer, c);
  Position there = writer.at();
  there.sample = end;
  if (!c.agrees) there.half = -1;
  return there;
}

void ClockEstimator::note_motion(const Core& before, const std::optional<Core>& after, bool single) {
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

#include "collector/clock/clock_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ttc::collect {
namespace {

constexpr double kTicks = static_cast<double>(kHostTicksPerNs);
constexpr double kSlowest = 1000;           // ns a cycle; what is slower counts as standing
constexpr double kPadNs = 0.05;             // for the rounding of doubles (CLOCK.md, "Arithmetic")
constexpr double kWidestShare = 0.5;        // of the least step's effect in a period: a tight read
constexpr double kEstablishedShare = 0.25;  // of the least step: slopes of a family that may be relied on
constexpr size_t kReadsWanted = 32;         // either side of a sample, for its knot
constexpr size_t kFewest = 4, kMost = 32;   // samples either side
constexpr size_t kUnconfirmed = 2;          // samples: a change shows within two periods
constexpr size_t kFinalAfter = 12;          // samples; see CLOCK.md, "When a segment is final"
constexpr HostTime kTooClose = 100'000 * kHostTicksPerNs;
constexpr uint64_t kLongestGap = uint64_t{1}
                                 << 42;  // cycles; beyond, 44 bits would no longer tell wraps apart
constexpr size_t kStepsKept = 1024;
constexpr double kKinkCycles = 16;  // kinks nearer than this are one

double ns_of(HostTime later, HostTime earlier) {
  return static_cast<double>(static_cast<int64_t>(later - earlier)) / kTicks;
}
double cycles_of(uint64_t later, uint64_t earlier) {
  return static_cast<double>(static_cast<int64_t>(later - earlier));
}
uint64_t ticks_up(double ns) {
  return ns < 1e18 ? static_cast<uint64_t>(std::ceil(ns * kTicks)) : kNoBound;
}
HostTime later_by(HostTime t, double ns) {
  return t + static_cast<uint64_t>(static_cast<int64_t>(std::llround(ns * kTicks)));
}
HostTime width(const ClockRead& r) {
  return r.after - r.before;
}
double middle_of(LineFamily::Range r) {
  return (r.low + r.high) / 2;
}

// Only what came after the counter last went back: a reset in the middle of a burst.
std::span<const ClockRead> after_reset(std::span<const ClockRead> burst) {
  for (size_t i = burst.size(); i-- > 1;)
    if (burst[i].cycles < burst[i - 1].cycles) return burst.subspan(i);
  return burst;
}

}  // namespace

ClockEstimator::ClockEstimator(const ClockRules& rules, uint8_t domain, uint32_t first_era)
    : rules_(rules), domain_(domain), era_(first_era) {}

double ClockEstimator::ns_between(size_t from, size_t to) const {
  return ns_of(middle(sample(to).best), middle(sample(from).best));
}

// --- taking samples in

void ClockEstimator::add(std::span<const ClockRead> all) {
  const auto burst = after_stop(after_reset(all));
  if (burst.empty()) return;
  Sample s;
  std::vector<ClockRead> reads(burst.begin(), burst.end());
  if (reads.size() > kMostReads) {
    std::nth_element(reads.begin(), reads.begin() + kMostReads, reads.end(),
                     [](const ClockRead& a, const ClockRead& b) { return width(a) < width(b); });
    reads.resize(kMostReads);
  }
  std::copy(reads.begin(), reads.end(), s.reads.begin());
  s.count = reads.size();
  s.best = *std::min_element(reads.begin(), reads.end(),
                             [](const ClockRead& a, const ClockRead& b) { return width(a) < width(b); });
  ++stats_.samples;
  stats_.reads += burst.size();
  if (!samples_.empty() && !belongs_to_era(s.best)) end_era();
  const double dwell_ns = static_cast<double>(rules_.period_ns) * rules_.dwell_periods;
  double gap_ns = 0;
  if (!samples_.empty()) {
    const ClockRead& last = samples_.back().best;
    gap_ns = ns_of(s.best.before, std::max(last.after, samples_.back().showed_since));
    if (burst.front().before < last.after + kTooClose) return;
    const double widest = kWidestShare * static_cast<double>(rules_.period_ns) * rules_.least_step_ppm * 1e-6;
    if (ns_of(s.best.after, s.best.before) > widest && gap_ns < dwell_ns) {
      ++stats_.wide;
      return;
    }
  }
  if (seen_.after != 0 && seen_.cycles < s.best.cycles) s.reads[s.count++] = seen_;
  seen_ = {};
  samples_.push_back(s);
  const size_t n = newest();
  if (pieces_.empty() || (!pieces_.back().open && !change_)) {
    start_piece(n);
  } else if (gap_ns > dwell_ns) {
    change_.reset();
    close_piece(n - std::min(n, kUnconfirmed));
    start_piece(n);
  } else if (change_) {
    narrow_change();
  } else {
    test_newest();
  }
  const size_t lag = std::max(half_window() + 6, kFinalAfter);
  if (n >= lag + next_) finalise(n - lag);
}

void ClockEstimator::seen(uint64_t cycles, HostTime by) {
  if (samples_.empty() || hz_ == 0 || cycles <= samples_.back().best.cycles) return;
  const auto slack = [&](const ClockRead& r) {
    return static_cast<double>(r.after) / kTicks -
           cycles_of(r.cycles, samples_.back().best.cycles) * 1e9 / hz_;
  };
  const ClockRead limit{0, by, cycles};
  if (seen_.after == 0 || slack(limit) < slack(seen_)) seen_ = limit;
}

void ClockEstimator::finish() {
  if (!samples_.empty()) finalise(newest());
}

uint64_t ClockEstimator::cycles_about(HostTime at) const {
  if (samples_.empty()) return 0;
  const ClockRead& last = samples_.back().best;
  const double hz = hz_ != 0 ? hz_ : static_cast<double>(rules_.largest_hz);
  return last.cycles + static_cast<uint64_t>(static_cast<int64_t>(ns_of(at, middle(last)) * hz / 1e9));
}

// Neither back nor faster than any clock of the chip: otherwise the counter was reset, or the host slept.
bool ClockEstimator::belongs_to_era(const ClockRead& read) const {
  const ClockRead& last = samples_.back().best;
  if (read.cycles < last.cycles || read.cycles - last.cycles > kLongestGap) return false;
  const double fastest_ns =
      cycles_of(read.cycles, last.cycles) * 1e9 / static_cast<double>(rules_.largest_hz);
  return fastest_ns <= ns_of(read.after, last.before) + 2;
}

// Reads that still show the last sample's number say that the counter stood meanwhile; the others are left.
std::span<const ClockRead> ClockEstimator::after_stop(std::span<const ClockRead> burst) {
  if (samples_.empty()) return burst;
  Sample& last = samples_.back();
  size_t same = 0;
  while (same < burst.size() && burst[same].cycles == last.best.cycles) ++same;
  if (same == 0 || burst.front().before < last.best.after + kTooClose) return burst;
  stats_.stops += last.showed_since == 0;
  last.showed_since = burst[same - 1].before;
  change_.reset();
  if (!pieces_.empty()) close_piece(newest());
  return burst.subspan(same);
}

void ClockEstimator::end_era() {
  finalise(newest());
  base_ += samples_.size();
  samples_.clear();
  pieces_.clear();
  change_.reset();
  seen_ = {};
  era_first_ = next_ = base_;
  ++era_;
  ++stats_.eras;
}

// --- pieces of one frequency

void ClockEstimator::start_piece(size_t first) {
  Piece p;
  p.first = first;
  p.open = true;
  pieces_.push_back(p);
}

// `end`: the first sample that is not surely in it.
void ClockEstimator::close_piece(size_t end) {
  Piece& p = pieces_.back();
  if (!p.open) return;
  p.open = false;
  p.good = p.good && end > p.first;
  p.last = std::max(end, p.first + 1) - 1;
}

LineFamily ClockEstimator::family(size_t first, size_t last, size_t tangent, size_t origin) const {
  const ClockRead& o = sample(origin).best;
  const double reach = 4 * std::abs(ns_between(first, last)) + 1e10;
  LineFamily f({1e9 / static_cast<double>(rules_.largest_hz), kSlowest}, {-reach, reach});
  for (size_t i = first; i <= last; ++i) {
    const double seconds = ns_between(tangent, i) / 1e9;
    const double allowed = rules_.wander_ppb_per_s * seconds * seconds / 2 + kPadNs;
    const Sample& s = sample(i);
    for (size_t r = 0; r < s.count; ++r) {
      const double x = cycles_of(s.reads[r].cycles, o.cycles);
      f.pass_below(x, ns_of(s.reads[r].after, o.before) + allowed);
      // The counter shows a number until the next one's time.
      if (s.reads[r].before) f.pass_above(x + 1, ns_of(s.reads[r].before, o.before) - allowed);
    }
    if (f.empty()) return f;
  }
  return f;
}

size_t ClockEstimator::half_window() const {
  const size_t reads = std::max<size_t>(rules_.reads_a_sample, 1);
  return std::clamp((kReadsWanted + reads - 1) / reads, kFewest, kMost);
}

void ClockEstimator::test_newest() {
  Piece& p = pieces_.back();
  const size_t n = newest(), reach = 2 * half_window();
  const size_t first = std::max(p.first, n > reach ? n - reach : 0);
  if (!family(std::max(first, base_), n, n, n).empty()) return;
  Change c;
  c.found = n;
  for (size_t j = std::max(p.first + 1, n - std::min(n, kUnconfirmed)); j <= n; ++j)
    c.first_after.push_back(j);
  if (c.first_after.empty()) return;
  c.earliest = c.first_after.front();
  p.open = false;
  change_ = c;
  narrow_change();
}

// Whether one change, between the sample before `first_after` and it, explains everything.
bool ClockEstimator::crosses(size_t first_after) const {
  const Piece& p = pieces_.back();
  const size_t left = first_after - 1, n = newest(), reach = 2 * half_window();
  size_t first = p.first + (p.after_change ? 0 : kUnconfirmed);
  if (first > left) first = p.first;
  first = std::max({first, left > reach ? left - reach : 0, base_});
  const LineFamily a = family(first, left, left, left), b = family(first_after, n, first_after, left);
  if (a.empty() || b.empty()) return false;
  const double end = cycles_of(sample(first_after).best.cycles, sample(left).best.cycles);
  const double seconds = ns_between(left, first_after) / 1e9;
  const double pad = rules_.wander_ppb_per_s * seconds * seconds;
  const auto apart = [&](double x) {
    const auto va = a.values_at(x), vb = b.values_at(x);
    return vb.low - va.high > pad ? 1 : va.low - vb.high > pad ? -1 : 0;
  };
  const int at_left = apart(0), at_right = apart(end);
  return at_left == 0 || at_right == 0 || at_left != at_right;
}

void ClockEstimator::narrow_change() {
  auto& candidates = change_->first_after;
  std::erase_if(candidates, [this](size_t j) { return !crosses(j); });
  if (candidates.empty()) {
    const size_t found = change_->found, n = newest();
    violate(family(found, n, n, n).empty() ? n : found);
    return;
  }
  pieces_.back().last = candidates.front() - 1;
  if (newest() >= change_->found + kUnconfirmed) settle_change();
}

void ClockEstimator::violate(size_t restart_at) {
  ++stats_.violations;
  pieces_.back().last = change_->earliest - 1;
  change_.reset();
  start_piece(restart_at);
}

void ClockEstimator::settle_change() {
  Piece& p = pieces_.back();
  Piece next;
  next.first = change_->first_after.back();
  next.left = change_->first_after.front() - 1;
  next.left_host = sample(next.left).best.before;
  next.open = next.after_change = true;
  change_.reset();
  // Two changes that were surely nearer than a dwell.
  const double dwell_ns = static_cast<double>(rules_.period_ns) * rules_.dwell_periods;
  if (p.after_change && ns_of(sample(next.first).best.after, p.left_host) < dwell_ns) {
    ++stats_.violations;
    p.good = false;
  } else {
    ++stats_.steps;
  }
  const size_t reach = 2 * half_window();
  remember_step(std::max({p.first, next.left > reach ? next.left - reach : 0, base_}), next.left, next.first);
  pieces_.push_back(next);
}

void ClockEstimator::remember_step(size_t first_before, size_t left, size_t right) {
  const LineFamily a = family(first_before, left, left, left), b = family(right, newest(), right, right);
  Step step;
  step.after = sample(left).best.before;
  step.before = sample(right).best.after;
  if (!a.empty()) step.hz_before = 1e9 / middle_of(a.slopes());
  if (!b.empty()) step.hz_after = 1e9 / middle_of(b.slopes());
  if (steps_.size() == kStepsKept) steps_.erase(steps_.begin());
  steps_.push_back(step);
}

// --- knots: the relation at the samples

// The samples of a piece that surely lie in it: a change that the condition allows shows within two periods,
// so the newest two of an open piece may lie behind one, and the first two of a piece whose beginning is not
// known in front of one.
std::optional<std::pair<size_t, size_t>> ClockEstimator::usable(const Piece& p) const {
  const size_t first = std::max(p.first + (p.after_change ? 0 : kUnconfirmed), base_);
  const size_t n = newest();
  const size_t last = p.open ? n - std::min(n, kUnconfirmed) : p.last;
  if (!p.good || last < first) return std::nullopt;
  return std::pair{first, last};
}

const ClockEstimator::Piece* ClockEstimator::piece_of(size_t i) const {
  for (auto p = pieces_.rbegin(); p != pieces_.rend(); ++p)
    if (const auto u = usable(*p); u && u->first <= i && i <= u->second) return &*p;
  return nullptr;
}

const ClockEstimator::Piece* ClockEstimator::piece_behind(size_t i) const {
  for (auto p = pieces_.rbegin(); p != pieces_.rend(); ++p)
    if (p->after_change && p->left == i) return &*p;
  return nullptr;
}

std::pair<size_t, size_t> ClockEstimator::window_of(size_t i) const {
  const Piece* p = piece_of(i);
  if (!p) return {1, 0};
  const auto u = *usable(*p);
  const size_t h = half_window();
  return {std::max(u.first, i - std::min(i, h)), std::min(u.second, i + h)};
}

bool ClockEstimator::established(const LineFamily& f) const {
  const auto slopes = f.slopes();
  return slopes.high - slopes.low <= kEstablishedShare * rules_.least_step_ppm * 1e-6 * slopes.low;
}

const ClockEstimator::Knot& ClockEstimator::knot(size_t i) {
  Sample& s = sample(i);
  const auto window = window_of(i);
  if (s.knot.host != 0 && s.window_first == window.first && s.window_last == window.second) return s.knot;
  s.window_first = window.first;
  s.window_last = window.second;
  s.knot = {middle(s.best), 0, false};
  if (window.second < window.first + 2) return s.knot;
  const LineFamily f = family(window.first, window.second, i, i);
  if (f.empty() || !established(f)) return s.knot;
  const auto values = f.values_at(0);
  s.knot = {later_by(s.best.before, middle_of(values)), (values.high - values.low) / 2, true};
  hz_ = 1e9 / middle_of(f.slopes());
  return s.knot;
}

// --- segments

// How far a segment between the samples `left` and `right` can be from the truth, when nothing is known of
// the frequency but its largest value. All limits are straight, so the ends are the worst.
uint64_t ClockEstimator::hard_error(size_t left, size_t right, const ClockSegment& s) const {
  const double ns_a_cycle = 1e9 / static_cast<double>(rules_.largest_hz);
  const ClockRead &l = sample(left).best, &r = sample(right).best;
  const HostTime origin = l.before;
  const auto error = [&](uint64_t cycles) {
    // A number is shown from its first moment to its successor's; a read says that its own had been reached
    // and its successor had not.
    const size_t from = cycles > l.cycles ? left : left - 1;
    const Sample& f = sample(from);
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

void ClockEstimator::emit(std::vector<ClockSegment>& to, size_t left, size_t right, uint64_t from,
                          HostTime host_from, uint64_t until, HostTime host_to, double error_ns,
                          BoundKind kind, bool final) {
  if (until <= from || host_to <= host_from) return;
  ClockSegment s = clock_segment_between(from, host_from, until, host_to);
  s.era = era_;
  s.domain = domain_;
  s.kind = kind;
  s.flags = final ? kFinalSegment : 0;
  s.hard_bound = s.bound = hard_error(left, right, s);
  if (kind == BoundKind::conditional) {
    const double cycle_ns = ns_of(host_to, host_from) / cycles_of(until, from);
    s.bound = std::min(s.hard_bound, ticks_up(error_ns + cycle_ns + kPadNs) + 2);
  }
  to.push_back(s);
}

// Between the last sample surely before a change and the first surely behind it: the truth runs along a line
// of the one family, then along one of the other. False where that says nothing.
bool ClockEstimator::emit_change(std::vector<ClockSegment>& to, const Piece& before, const Piece& after,
                                 bool final) {
  const size_t left = after.left, right = after.first;
  const double dwell_ns = static_cast<double>(rules_.period_ns) * rules_.dwell_periods;
  if (ns_of(sample(right).best.after, sample(left).best.before) > dwell_ns) return false;
  if (!knot(left).conditional || !knot(right).conditional || piece_of(left) != &before) return false;
  const auto wa = window_of(left), wb = window_of(right);
  const LineFamily a = family(wa.first, wa.second, left, left), b = family(wb.first, wb.second, right, left);
  if (a.empty() || b.empty()) return false;
  const ClockRead& o = sample(left).best;
  const double end = cycles_of(sample(right).best.cycles, o.cycles);
  const double seconds = ns_between(left, right) / 1e9;
  const double pad = rules_.wander_ppb_per_s * seconds * seconds / 2;
  const auto sa = a.slopes(), sb = b.slopes();
  // A slower clock takes more time a cycle: the truth is then the later of the two lines.
  const bool later = sa.high<sb.low, earlier = sa.low> sb.high;
  const auto band = [&](double x) {
    const auto va = a.values_at(x), vb = b.values_at(x);
    if (later) return LineFamily::Range{std::max(va.low, vb.low) - pad, std::max(va.high, vb.high) + pad};
    if (earlier) return LineFamily::Range{std::min(va.low, vb.low) - pad, std::min(va.high, vb.high) + pad};
    return LineFamily::Range{std::min(va.low, vb.low) - pad, std::max(va.high, vb.high) + pad};
  };
  struct Point {
    double x;
    HostTime host;
  };
  std::vector<Point> points{{0, knot(left).host}};
  double slack = 0;
  if (later || earlier) {
    slack = kKinkCycles * std::max(sa.high, sb.high);  // of kinks that are taken together
    const auto kink = [&](auto side) {                 // where the two families' limits cross
      double from = 0, until = end;
      const auto sign = [&](double x) { return (side(a.values_at(x)) > side(b.values_at(x))) == later; };
      for (int i = 0; i < 64 && until - from > 0.5; ++i)
        (sign((from + until) / 2) ? from : until) = (from + until) / 2;
      return std::floor(from);
    };
    double kinks[] = {kink([](auto r) { return r.low; }), kink([](auto r) { return r.high; })};
    if (kinks[1] < kinks[0]) std::swap(kinks[0], kinks[1]);
    for (const double x : kinks) {
      if (x < points.back().x + kKinkCycles || x > end - kKinkCycles) continue;
      points.push_back({x, later_by(o.before, middle_of(band(x)))});
    }
  }
  points.push_back({end, knot(right).host});
  for (size_t i = 1; i < points.size(); ++i) {
    const auto ticks = static_cast<int64_t>(points[i].host - points[i - 1].host);
    if (static_cast<double>(ticks) < points[i].x - points[i - 1].x) return false;
  }
  const auto off = [&](const Point& p) {
    const auto r = band(p.x);
    const double here = ns_of(p.host, o.before);
    return std::max(r.high - here, here - r.low);
  };
  for (size_t i = 1; i < points.size(); ++i)
    emit(to, left, right, o.cycles + static_cast<uint64_t>(points[i - 1].x), points[i - 1].host,
         o.cycles + static_cast<uint64_t>(points[i].x), points[i].host,
         std::max(off(points[i - 1]), off(points[i])) + slack, BoundKind::conditional, final);
  return true;
}

// Emits what lies between samples i and `last`; returns the sample it ends at.
size_t ClockEstimator::segments_from(std::vector<ClockSegment>& to, size_t i, size_t last, bool final) {
  while (i < last) {
    if (const Piece* after = piece_behind(i)) {
      if (after->first > last) return i;
      const Piece* before = piece_of(i);
      if (before && after->good && emit_change(to, *before, *after, final)) {
        i = after->first;
        continue;
      }
    }
    const Sample &s = sample(i), &next = sample(i + 1);
    uint64_t from = s.best.cycles;
    HostTime host = knot(i).host;
    if (i == era_first_) ++from;  // nothing is known of when its number began
    if (s.showed_since) {         // the counter stood at this number, and went on afterwards
      if (i != era_first_)
        emit(to, i, i + 1, from, host, from + 1, s.showed_since, 0, BoundKind::hard, final);
      from = s.best.cycles + 1;
      host = s.showed_since;
    }
    const bool conditional = knot(i).conditional && knot(i + 1).conditional && piece_of(i) == piece_of(i + 1);
    const double seconds = ns_between(i, i + 1) / 1e9;
    const double error =
        std::max(knot(i).half, knot(i + 1).half) + rules_.wander_ppb_per_s * seconds * seconds / 8;
    emit(to, i, i + 1, from, host, next.best.cycles, knot(i + 1).host, error,
         conditional ? BoundKind::conditional : BoundKind::hard, final);
    ++i;
  }
  return i;
}

void ClockEstimator::finalise(size_t last) {
  next_ = segments_from(final_, next_, last, true);
  const size_t keep = 2 * kMost + 4;  // windows of what is not final, and of tests
  while (base_ + keep < next_) {
    samples_.pop_front();
    ++base_;
  }
  while (pieces_.size() > 1 && !pieces_.front().open && pieces_.front().last < base_ &&
         pieces_[1].first < next_)
    pieces_.pop_front();
}

std::vector<ClockSegment> ClockEstimator::take_final() {
  return std::exchange(final_, {});
}

std::vector<ClockSegment> ClockEstimator::provisional() {
  std::vector<ClockSegment> out;
  if (!samples_.empty()) segments_from(out, next_, newest(), false);
  return out;
}

}  // namespace ttc::collect

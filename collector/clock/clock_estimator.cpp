#include "collector/clock/clock_estimator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "collector/clock/geometry/clock_ticks.hpp"

namespace ttc::collect {
namespace {

constexpr double kSlowest = 1000;    // ns a cycle; what is slower counts as standing
constexpr double kWideShare = 1.3;   // of the usual width: as wide as a read is taken to be
constexpr double kTightShare = 2.5;  // reads up to this are tight
constexpr size_t kWidthsKept = 63;
constexpr size_t kReadsWanted = 96;             // either side of a sample, for its knot
constexpr size_t kFewest = 4, kMost = 96;       // samples either side
constexpr size_t kTested = 96;                  // samples that a new one is tested with
constexpr size_t kFewestOfRun = 6;              // samples
constexpr size_t kConfirming = 150;             // samples behind a window, in which what disturbs it shows
constexpr size_t kConfirmingOpen = 700;         // samples; of a run that continues
constexpr double kConfirmingOpenNs = 1e9;       // likewise
constexpr double kConfirmingLongestNs = 1.4e9;  // likewise, while later reads limit a change much better
constexpr size_t kExaminedAtOnce = 32;          // samples
constexpr size_t kFinalAtOnce = 64;             // samples
constexpr size_t kFewestOfFrequency = 24;       // samples of a run, for a first frequency
constexpr size_t kFewestOfDwell = 8;            // samples of the shortest core, with those beside it
constexpr double kTrimSafety = 3;
constexpr HostTime kTooClose = 100'000 * kHostTicksPerNs;
constexpr uint64_t kLongestGap = uint64_t{1}
                                 << 42;  // cycles; beyond, 44 bits would no longer distinguish wraps

HostTime width(const ClockRead& r) {
  return r.after - r.before;
}

// Returns the reads after the counter last went back: a reset in the middle of a burst.
std::span<const ClockRead> after_reset(std::span<const ClockRead> burst) {
  for (size_t i = burst.size(); i-- > 1;)
    if (burst[i].cycles < burst[i - 1].cycles) return burst.subspan(i);
  return burst;
}

}  // namespace

ClockEstimator::ClockEstimator(const ClockRules& rules, uint8_t domain, uint32_t first_era)
    : rules_(rules),
      domain_(domain),
      era_(first_era),
      grid_(rules.wander_ppb_per_s * 1e-9),
      reference_(rules.reference_hz, rules.wander_ppb_per_s * 1e-9) {}

double ClockEstimator::ns_between(size_t from, size_t to) const {
  return ns_of(middle_of(sample(to).best), middle_of(sample(from).best));
}

// --- taking samples in

void ClockEstimator::add(std::span<const ClockRead> all) {
  const auto burst = after_stop(after_reset(all));
  if (burst.empty()) return;
  Sample s;
  s.reads.assign(burst.begin(), burst.end());
  const auto tighter = [](const ClockRead& a, const ClockRead& b) { return width(a) < width(b); };
  if (s.reads.size() > kMostReads) {
    std::nth_element(s.reads.begin(), s.reads.begin() + kMostReads, s.reads.end(), tighter);
    s.reads.resize(kMostReads);
  }
  s.best = *std::min_element(s.reads.begin(), s.reads.end(), tighter);
  ++stats_.samples;
  stats_.reads += burst.size();
  if (!samples_.empty() && !belongs_to_era(s.best)) end_era();
  if (!samples_.empty() && burst.front().before < samples_.back().best.after + kTooClose) return;
  const double width_ns = static_cast<double>(width(s.best)) / kTicks;
  s.tight = widths_.empty() || width_ns <= kTightShare * usual_width_ns();
  stats_.wide += !s.tight;
  widths_.push_back(width_ns);
  if (widths_.size() > kWidthsKept) widths_.pop_front();
  s.usual_ns = usual_width_ns();
  if (seen_.after != 0 && seen_.cycles < s.best.cycles) s.reads.push_back(seen_);
  seen_ = {};
  s.not_over_before = not_over_before(s.best);
  samples_.push_back(std::move(s));
  test_newest();
  if (const Run& run = runs_.back(); hz_ == 0 && run.last - run.first >= kFewestOfFrequency)
    hz_ = cycles_of(sample(run.last).best.cycles, sample(run.first).best.cycles) * 1e9 /
          ns_between(run.first, run.last);
  if (const size_t until = final_until(); until > next_.sample) finalise(until);
}

// What disturbs a sample's window shows within kConfirming samples behind it. As long as its run lasts, how fast the
// frequency can change there is limited better and better, up to what the wander leaves.
bool ClockEstimator::is_final(size_t i) const {
  const size_t n = newest();
  if (rules_.offline) return false;
  if (n < i + half_window() + kConfirming + 2 * kFewestOfRun) return false;
  // What a session begins with waits for the PLL's multiples.
  if (!grid_.relied_on() && ns_between(std::max(era_first_, base_), n) < kConfirmingOpenNs) return false;
  if (!runs_.back().open || i < runs_.back().first || ns_between(i, n) >= kConfirmingLongestNs) return true;
  if (n - i < kConfirmingOpen && ns_between(i, n) < kConfirmingOpenNs) return false;
  return n % kExaminedAtOnce == 0 && surely_limited(i);
}

size_t ClockEstimator::final_until() const {
  size_t until = next_.sample;
  while (until + kFinalAtOnce <= newest() && is_final(until + kFinalAtOnce)) until += kFinalAtOnce;
  return until;
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

void ClockEstimator::reference(const ClockRead& read) {
  reference_.add(read);
  if (const auto rate = reference_.rate(read.before)) grid_.know(read.before, *rate);
}

void ClockEstimator::finish() {
  if (samples_.empty()) return;
  finalise(newest());
}

uint64_t ClockEstimator::cycles_about(HostTime at) const {
  if (samples_.empty()) return 0;
  const ClockRead& last = samples_.back().best;
  const double hz = hz_ != 0 ? hz_ : static_cast<double>(rules_.largest_hz);
  return last.cycles + static_cast<uint64_t>(static_cast<int64_t>(ns_of(at, middle_of(last)) * hz / 1e9));
}

// Neither back nor faster than any clock of the chip: otherwise the counter was reset, or the host slept. All reads
// of the era count: each two neighbours may agree with the largest frequency where three do not.
bool ClockEstimator::belongs_to_era(const ClockRead& read) const {
  const Sample& last = samples_.back();
  if (read.cycles < last.best.cycles || read.cycles - last.best.cycles > kLongestGap) return false;
  const double behind = cycles_of(read.cycles, last.best.cycles) - 1;
  return behind < 0 || behind * fastest_pace() <= ns_of(read.after, last.not_over_before);
}

HostTime ClockEstimator::not_over_before(const ClockRead& read) const {
  if (samples_.empty()) return read.before;
  const Sample& last = samples_.back();
  const double ns = cycles_of(read.cycles, last.best.cycles) * fastest_pace();
  return std::max(read.before, last.not_over_before + static_cast<HostTime>(ns * kTicks));
}

// Reads that still show the last sample's number show that the counter had stopped meanwhile; the others are left.
std::span<const ClockRead> ClockEstimator::after_stop(std::span<const ClockRead> burst) {
  if (samples_.empty()) return burst;
  Sample& last = samples_.back();
  size_t same = 0;
  while (same < burst.size() && burst[same].cycles == last.best.cycles) ++same;
  if (same == 0 || burst.front().before < last.best.after + kTooClose) return burst;
  stats_.stops += last.showed_since == 0;
  last.showed_since = burst[same - 1].before;
  last.not_over_before = std::max(last.not_over_before, last.showed_since);
  last_moved_ = last.showed_since;
  close_run();
  return burst.subspan(same);
}

void ClockEstimator::end_era() {
  finalise(newest());
  base_ += samples_.size();
  samples_.clear();
  runs_.clear();
  seen_ = {};
  era_first_ = base_;
  next_ = {base_, 0, 0, -1};
  last_moved_ = 0;
  ++era_;
  ++stats_.eras;
}

// --- runs of samples that straight lines explain

double ClockEstimator::usual_width_ns() const {
  std::vector<double> widths(widths_.begin(), widths_.end());
  const auto middle = widths.begin() + static_cast<ptrdiff_t>(widths.size() / 2);
  std::nth_element(widths.begin(), middle, widths.end());
  return *middle;
}

// Reads get wider and narrower with the load of the host: the widest time counts.
double ClockEstimator::widest_usual_ns(size_t first, size_t last) const {
  double usual = 0;
  for (size_t i = std::max(first, base_); i <= std::min(last + kWidthsKept, newest()); ++i)
    usual = std::max(usual, sample(i).usual_ns);
  return usual;
}

// The time after a change by the least step in which the counter gets off the line from before by more than the width
// of the read of sample `i`: that read would have shown the change.
double ClockEstimator::trim_ns(size_t i, double usual_ns) const {
  const double wide = std::max(kWideShare * usual_ns, static_cast<double>(width(sample(i).best)) / kTicks);
  return kTrimSafety * wide / (rules_.least_step_ppm * 1e-6);
}

double ClockEstimator::dwell_ns() const {
  if (samples_.size() <= kFewestOfDwell) return 0;
  const double trim = kTrimSafety * kWideShare * sample(newest()).usual_ns / (rules_.least_step_ppm * 1e-6);
  return 2 * trim + ns_between(newest() - kFewestOfDwell, newest());
}

void ClockEstimator::open_run(size_t first, bool gap_before) {
  Run r;
  r.first = r.last = first;
  r.gap_before = gap_before;
  runs_.push_back(r);
}

void ClockEstimator::close_run() {
  if (!runs_.empty()) runs_.back().open = false;
}

void ClockEstimator::test_newest() {
  const size_t n = newest();
  const bool gap =
      n > era_first_ && n > base_ && ns_between(n - 1, n) > static_cast<double>(rules_.longest_step_gap_ns);
  if (runs_.empty() || !runs_.back().open || gap) {
    close_run();
    open_run(n, runs_.empty() || gap);
    return;
  }
  Run& r = runs_.back();
  const size_t reach = std::min(2 * half_window(), kTested);
  const size_t first = std::max({r.first, n > reach ? n - reach : 0, base_});
  if (family(first, n, n, n).empty()) {
    last_moved_ = sample(n).best.after;
    close_run();
    open_run(n, false);
    return;
  }
  r.last = n;
}

void ClockEstimator::pass(LineFamily& lines, size_t i, size_t origin, double allowed) const {
  const ClockRead& o = sample(origin).best;
  const Sample& s = sample(i);
  for (const ClockRead& r : s.reads) {
    const double x = cycles_of(r.cycles, o.cycles);
    lines.pass_below(x, ns_of(r.after, o.before) + allowed);
    // The counter shows a number until the next one's time.
    if (r.before) lines.pass_above(x + 1, ns_of(r.before, o.before) - allowed);
  }
}

LineFamily ClockEstimator::family(size_t first, size_t last, size_t tangent, size_t origin,
                                  std::optional<Range> slopes) const {
  const double reach = 4 * std::abs(ns_between(first, last)) + 1e10;
  LineFamily f(slopes.value_or(Range{fastest_pace(), kSlowest}), {-reach, reach});
  for (size_t i = first; i <= last && !f.empty(); ++i) {
    const double seconds = ns_between(tangent, i) / 1e9;
    pass(f, i, origin, rules_.wander_ppb_per_s * seconds * seconds / 2 + kPadNs);
  }
  return f;
}

size_t ClockEstimator::half_window() const {
  const size_t reads = std::max<size_t>(rules_.reads_a_sample, 1);
  return std::clamp((kReadsWanted + reads - 1) / reads, kFewest, kMost);
}

// How far back the lines of a run go: the change in front of it is not before that.
void ClockEstimator::find_reach(Run& run) {
  const size_t until = std::min(run.last, run.first + half_window());
  size_t back = run.first;
  const size_t limit = std::max({base_, era_first_, run.first > kMost ? run.first - kMost : 0});
  while (!run.gap_before && back > limit && sample(back - 1).showed_since == 0 &&
         !family(back - 1, until, run.first, run.first).empty())
    --back;
  run.reaches_back = back;
  run.reach_known = true;
}

std::vector<ClockSegment> ClockEstimator::take_final() {
  return std::exchange(final_, {});
}

std::vector<ClockSegment> ClockEstimator::provisional() {
  std::vector<ClockSegment> out;
  if (samples_.empty()) return out;
  find_shifts();
  segments_from(out, next_, newest(), false);
  return out;
}

void ClockEstimator::finalise(size_t last) {
  find_shifts();
  learn();
  next_ = segments_from(final_, next_, last, true);
  forget();
}

void ClockEstimator::forget() {
  const size_t keep = 3 * kMost;  // windows of what is not final, and of tests
  while (base_ + keep < next_.sample) {
    samples_.pop_front();
    ++base_;
  }
  while (runs_.size() > 1 && !runs_.front().open && runs_.front().last < base_) runs_.pop_front();
  forget_shifts(middle_of(samples_.front().best));
}

}  // namespace ttc::collect

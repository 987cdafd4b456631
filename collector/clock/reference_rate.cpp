#include "collector/clock/reference_rate.hpp"

#include <algorithm>
#include <cmath>

#include "collector/clock/geometry/line_family.hpp"
#include "collector/clock/pll_grid.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kMostReads = 96;
constexpr HostTime kLongest = 8'000'000'000 * kHostTicksPerNs;  // within which reads explain each other
constexpr size_t kFewestReads = 4;
// The timer may show a new number with every fourth tick only (tt-metal streaming_profiler_common.h, of the same
// clock on Ethernet tiles).
constexpr double kTicksAtOnce = 4;

}  // namespace

void ReferenceRate::add(const ClockRead& read) {
  if (!reads_.empty() && read.cycles < reads_.back().cycles) reads_.clear();
  reads_.push_back(read);
  while (reads_.size() > kMostReads || reads_.front().before + kLongest < read.before) reads_.pop_front();
  if (find_rate()) return;
  reads_ = {read};
  rate_.reset();
}

// False: no line explains the reads.
bool ReferenceRate::find_rate() {
  if (reads_.size() < kFewestReads) return true;
  const ClockRead& o = reads_.back();
  LineFamily lines({pace_ * (1 - kCrystalTolerance), pace_ * (1 + kCrystalTolerance)}, {-1e10, 1e10});
  for (const ClockRead& r : reads_) {
    const double seconds = ns_of(o.before, r.before) / 1e9, x = cycles_of(r.cycles, o.cycles);
    const double allowed = wander_per_s_ * 1e9 * seconds * seconds / 2 + kPadNs;
    lines.pass_below(x, ns_of(r.after, o.before) + allowed);
    lines.pass_above(x + kTicksAtOnce, ns_of(r.before, o.before) - allowed);
    if (lines.empty()) return false;
  }
  const Range paces = lines.slopes();
  rate_ = Range{pace_ / paces.high, pace_ / paces.low};
  return true;
}

std::optional<Range> ReferenceRate::rate(HostTime at) const {
  if (!rate_) return std::nullopt;
  const double by = std::abs(ns_of(at, reads_.back().before)) / 1e9 * wander_per_s_;
  return Range{rate_->low - by, rate_->high + by};
}

}  // namespace ttc::collect

#include "tools/fleet/clock/common_clock.hpp"

#include <algorithm>

namespace ttc::fleet {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr size_t kMostIntervals = 256;
constexpr uint64_t kMostBound = uint64_t{1} << 60;  // so that sums do not overflow

}  // namespace

const char* name_of(ClockSource source) {
  switch (source) {
    case ClockSource::none:
      return "none";
    case ClockSource::same_host:
      return "same host";
    case ClockSource::round_trips:
      return "round trips";
    case ClockSource::kernels:
      return "kernels";
    case ClockSource::both:
      return "round trips and kernels";
  }
  return "unknown";
}

void CommonClock::is_reference(uint64_t reference) {
  reference_ = reference, same_ = true;
  intervals_.clear();
}

CommonClock::Interval CommonClock::at(const Interval& i, uint64_t raw_ns) {
  const uint64_t age = raw_ns > i.at_ns ? raw_ns - i.at_ns : i.at_ns - raw_ns;
  const auto grown = static_cast<int64_t>(age / kMillion * kDriftPpm + age % kMillion * kDriftPpm / kMillion);
  return {raw_ns, i.low - grown, i.high + grown, i.kernel};
}

bool CommonClock::round_trip(uint64_t left, const ClockAnswer& a, uint64_t came, const KernelClock& own) {
  if (came < left || came >> 62) return false;
  if (a.reference != reference_ || same_) {
    reference_ = a.reference, same_ = false;
    intervals_.clear();
  }
  // received >= left + offset, and came + offset >= sent.
  const Interval trip{came, static_cast<int64_t>(a.sent_ns) - static_cast<int64_t>(came),
                      static_cast<int64_t>(a.received_ns) - static_cast<int64_t>(left), false};
  // The reference's time stood still or ran ahead of ours by more than two oscillators can differ.
  if (trip.low > trip.high) return false;
  intervals_.push_back(trip);
  if (own.bound_ns < kMostBound && a.utc_bound_ns < kMostBound) {
    const int64_t middle = own.utc_minus_raw_ns - a.utc_minus_raw_ns;
    const auto bound = static_cast<int64_t>(own.bound_ns + a.utc_bound_ns);
    intervals_.push_back({came, middle - bound, middle + bound, true});
    if (middle - bound > trip.high || middle + bound < trip.low) {
      ++contradictions_;
      intervals_.pop_back();
    }
  }
  while (intervals_.size() > kMostIntervals || intervals_.front().at_ns + kKeepNs < came)
    intervals_.pop_front();
  return true;
}

ClockOffset CommonClock::at(uint64_t raw_ns) const {
  if (same_) return {0, 0, reference_, ClockSource::same_host};
  std::optional<Interval> all;
  bool trips = false, kernels = false;
  // The newest first: an older one that contradicts it is of a time before a clock was moved, or before a host slept.
  for (auto it = intervals_.rbegin(); it != intervals_.rend(); ++it) {
    const Interval one = at(*it, raw_ns);
    if (!all) {
      all = one;
      (one.kernel ? kernels : trips) = true;
      continue;
    }
    const int64_t low = std::max(all->low, one.low), high = std::min(all->high, one.high);
    if (low > high) continue;
    if (low != all->low || high != all->high) (one.kernel ? kernels : trips) = true;
    all->low = low, all->high = high;
  }
  if (!all) return {};
  const int64_t middle = all->low + (all->high - all->low) / 2;
  const auto bound = static_cast<uint64_t>(std::max(all->high - middle, middle - all->low));
  const ClockSource how = trips && kernels ? ClockSource::both
                          : kernels        ? ClockSource::kernels
                                           : ClockSource::round_trips;
  return {middle, bound, reference_, how};
}

Sequence order_of(uint64_t a, uint64_t a_bound, uint64_t b, uint64_t b_bound) {
  if (a_bound > ~uint64_t{0} - b_bound) return Sequence::unknown;
  const uint64_t apart = a < b ? b - a : a - b;
  if (apart <= a_bound + b_bound) return Sequence::unknown;
  return a < b ? Sequence::before : Sequence::after;
}

}  // namespace ttc::fleet

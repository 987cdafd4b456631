#include "tools/fleet/clock/common_clock.hpp"

#include <algorithm>

#include "tools/ranks/clock_points.hpp"

namespace ttc::fleet {
namespace {

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
    case ClockSource::disciplined:
      return "round trips and disciplined clocks";
  }
  return "unknown";
}

void CommonClock::is_reference(uint64_t reference) {
  reference_ = reference, same_ = true;
  lines_.clear();
}

bool CommonClock::round_trip(uint64_t left, const ClockAnswer& a, uint64_t came, const Discipline& own) {
  if (came < left || came >> 62) return false;
  if (a.reference != reference_ || same_) {
    reference_ = a.reference, same_ = false;
    lines_.clear();
    disciplined_until_ns_ = 0;
  }
  // received >= left + offset, and came + offset >= sent. While the question was under way, the difference moved by the drift at most.
  const auto moved = static_cast<int64_t>(tools::parts_of(came - left, tools::kDriftPpm));
  const OffsetLines::Interval trip{came, static_cast<int64_t>(a.sent_ns) - static_cast<int64_t>(came),
                                   static_cast<int64_t>(a.received_ns) - static_cast<int64_t>(left) + moved};
  // The reference's time stood still or ran ahead of ours by more than two oscillators can differ.
  if (trip.low > trip.high) return false;
  // An older one that contradicts it is of a time before a clock was moved, or before a host slept.
  lines_.add_anyway(trip);
  if (own.scale == kNoScale || own.scale != a.scale || own.bound_ns >= kMostBound ||
      a.scale_bound_ns >= kMostBound)
    return true;
  const int64_t middle = own.scale_minus_raw_ns - a.scale_minus_raw_ns;
  const auto bound = static_cast<int64_t>(own.bound_ns + a.scale_bound_ns) + moved;
  if (middle - bound > trip.high || middle + bound < trip.low ||
      !lines_.add({came, middle - bound, middle + bound}))
    ++contradictions_;
  else
    disciplined_until_ns_ = came + tools::kWanderWindowNs;
  return true;
}

ClockOffset CommonClock::at(uint64_t raw_ns) const {
  if (same_) return {0, 0, reference_, ClockSource::same_host};
  const auto range = lines_.at(raw_ns);
  if (!range) return {};
  const int64_t middle = range->low + (range->high - range->low) / 2;
  const auto bound = static_cast<uint64_t>(std::max(range->high - middle, middle - range->low));
  return {middle, bound, reference_,
          raw_ns <= disciplined_until_ns_ ? ClockSource::disciplined : ClockSource::round_trips};
}

Sequence order_of(uint64_t a, uint64_t a_bound, uint64_t b, uint64_t b_bound) {
  if (a_bound > ~uint64_t{0} - b_bound) return Sequence::unknown;
  const uint64_t apart = a < b ? b - a : a - b;
  if (apart <= a_bound + b_bound) return Sequence::unknown;
  return a < b ? Sequence::before : Sequence::after;
}

}  // namespace ttc::fleet

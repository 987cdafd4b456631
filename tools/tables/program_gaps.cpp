#include "tools/tables/program_gaps.hpp"

#include <algorithm>

namespace ttc::tools {

using collect::ClockMap;
using collect::HostTime;
using collect::kHostTicksPerNs;
using collect::kNoBound;

namespace {

uint32_t gap_bound_ns(const TimedMarker& from, const TimedMarker& to) {
  const collect::ClockMap& clock = *to.clock;
  if (clock.head().tile_spread == kNoBound || !from.seen_by || !to.seen_by) return kNoDurationBound;
  const auto measured = static_cast<int64_t>(to.at - from.at);
  const auto d =
      clock.difference(from.cycles, to.cycles, std::max(from.seen_by, to.seen_by), ClockMap::Tiles::two);
  if (d.ticks != measured || d.bound == kNoBound) return kNoDurationBound;
  const uint32_t bound =
      bound_of_shown_ns(to.at / kHostTicksPerNs - from.at / kHostTicksPerNs, measured, d.bound);
  // Another program may have ended within the same nanosecond.
  return bound == kNoDurationBound ? bound : bound + 1;
}

}  // namespace

Tables::Gap ProgramGaps::before(const Program& next) {
  Tables::Gap gap;
  if (any_) {
    gap.from_ns = last_ns_;
    const bool of_one_clock =
        clock_ && next.clock == clock_ && last_clock_ == clock_ && elsewhere_until_ <= last_.at;
    if (of_one_clock && !last_is_open_) gap.bound_ns = gap_bound_ns(last_, next.first);
  }
  take(next);
  return gap;
}

void ProgramGaps::take(const Program& p) {
  if (!any_) clock_ = p.clock;
  if (!p.clock || p.clock != clock_)
    elsewhere_until_ = std::max(elsewhere_until_, p.seen_by ? p.seen_by : ~HostTime{0});
  const bool later = !any_ || p.end_ns > last_ns_ || (p.end_ns == last_ns_ && p.last.at > last_.at);
  any_ = true;
  if (!later) return;
  last_ = p.last, last_ns_ = p.end_ns, last_is_open_ = p.open != 0;
  last_clock_ = p.clock;
}

}  // namespace ttc::tools

#include "tools/report/zones/zone_stats.hpp"

#include <algorithm>
#include <bit>

namespace ttc::report {

using markers::MarkerType;

void ZoneStats::Entry::add(const ZoneSpan& span, uint64_t self) {
  const uint64_t took = span.end - span.begin;
  ++count;
  cycles += took;
  self_cycles += self;
  least = std::min(least, took);
  if (took >= most) {
    most = took;
    longest = span;
  }
  ++histogram[std::min<size_t>(kBuckets - 1, static_cast<size_t>(std::bit_width(took)))];
  CoreShare& core = cores[core_key(span.launch.chip, span.lane.x, span.lane.y)];
  ++core.count;
  core.cycles += took;
}

void ZoneStats::events(const LaneEvents& batch) {
  std::vector<Open>& open = lanes_[lane_key(batch.launch.chip, batch.lane)];
  std::span<const Event> events = batch.events;
  const auto earlier = [](const Event& a, const Event& b) { return a.time < b.time; };
  if (!std::is_sorted(events.begin(), events.end(), earlier)) {
    // In the order of the card's log: both ends of a zone before what is nested in it.
    sorted_.assign(events.begin(), events.end());
    std::stable_sort(sorted_.begin(), sorted_.end(), earlier);
    events = sorted_;
  }
  for (const Event& e : events) {
    if (e.zone_class == ZoneClass::dispatch || e.zone_class == ZoneClass::go_signal ||
        e.zone_class == ZoneClass::prefetch)
      dispatch_cores_.insert(core_key(batch.launch.chip, batch.lane.x, batch.lane.y));
    if (e.type == MarkerType::zone_start) {
      if (e.zone_class == ZoneClass::firmware) unclosed_ += open.size(), open.clear();
      open.push_back({e.zone, e.id, e.time, 0});
      continue;
    }
    if (e.type != MarkerType::zone_end) continue;
    const auto at = std::find_if(open.rbegin(), open.rend(), [&](const Open& o) { return o.id == e.id; });
    if (at == open.rend() || e.time < at->begin) {
      ++unclosed_;
      continue;
    }
    const size_t depth = static_cast<size_t>(open.rend() - at) - 1;
    unclosed_ += open.size() - depth - 1;
    const Open closed = open[depth];
    open.resize(depth);
    const uint64_t took = e.time - closed.begin;
    if (depth > 0) open[depth - 1].children += took;
    const ZoneSpan span{batch.launch, batch.lane, closed.zone, static_cast<uint32_t>(depth),
                        closed.begin, e.time};
    const bool no_program = batch.launch.host_id == 0 ||
                            dispatch_cores_.contains(core_key(batch.launch.chip, batch.lane.x, batch.lane.y));
    entries_[{closed.zone, batch.lane.risc, no_program}].add(span, took - std::min(took, closed.children));
    if (on_span) on_span(span);
  }
}

}  // namespace ttc::report

#include "tools/report/zones/zone_stats.hpp"

#include <algorithm>
#include <bit>

namespace ttc::report {

using markers::MarkerType;

void ZoneStats::Entry::add(const ZoneSpan& span, uint64_t self, const std::optional<Measured>& measured,
                           const Measured& own) {
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
  if (!measured || measured->hard) return;
  times.add(took, self, *measured, own);
  core.times.add(took, self, *measured, own);
  if (shortest_measured.ns < 0 || measured->ns < shortest_measured.ns) shortest_measured = *measured;
  if (measured->ns >= longest_measured.ns) longest_measured = *measured;
}

// The zone at `depth` ends, and what began in it and has no end yet is dropped.
void ZoneStats::close(const LaneEvents& batch, std::vector<Open>& open, size_t depth, const Event& end) {
  const Open closed = open[depth];
  open.resize(depth);
  const uint64_t took = end.time - closed.begin;
  const Lane& lane = batch.lane;
  const uint32_t chip = batch.launch.chip;
  const uint64_t self = took - std::min(took, closed.children);
  std::optional<Measured> measured;
  if (clock_) measured = clock_->on_tile(chip, {lane.x, lane.y}, closed.begin, end.time, batch.seen_ns);
  Measured own = measured.value_or(Measured());
  if (closed.unmeasured_child && took) {
    // What is left of the zone is anything between nothing and all of it.
    own.bound_ns += own.ns;
    own.ns *= static_cast<double>(self) / static_cast<double>(took);
  } else {
    own.ns -= closed.measured_children.ns;
    own.bound_ns += closed.measured_children.bound_ns;
  }
  if (depth > 0) {
    Open& around = open[depth - 1];
    around.children += took;
    around.unmeasured_child = around.unmeasured_child || !measured || measured->hard;
    around.measured_children.ns += measured ? measured->ns : 0;
    around.measured_children.bound_ns += measured ? measured->bound_ns : 0;
  }
  const ZoneSpan span{batch.launch, lane,     closed.zone,  static_cast<uint32_t>(depth),
                      closed.begin, end.time, batch.seen_ns};
  const bool no_program =
      batch.launch.host_id == 0 || dispatch_cores_.contains(core_key(chip, lane.x, lane.y));
  entries_[{closed.zone, lane.risc, no_program}].add(span, self, measured, own);
  if (on_span) on_span(span);
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
    close(batch, open, depth, e);
  }
}

}  // namespace ttc::report

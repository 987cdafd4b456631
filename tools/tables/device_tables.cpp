#include "tools/tables/device_tables.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "tools/pipeline/source.hpp"
#include "tools/viewers/zones/found_launches.hpp"

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;
using collect::kNoBound;
using markers::MarkerType;

constexpr uint64_t kSettleEveryNs = 200'000'000;
static_assert(kNoDurationBound == TTCOLLECT_UNBOUNDED);
constexpr size_t kMostDepth = 255;

constexpr auto kTensix = static_cast<uint8_t>(markers::CoreKind::tensix);

uint16_t core_key(uint8_t x, uint8_t y) {
  return static_cast<uint16_t>(x << 8 | y);
}

uint32_t lane_key(const FrameEvents& f) {
  return uint32_t{f.core_x} << 16 | uint32_t{f.core_y} << 8 | f.risc;
}

// Upwards: a bound that is rounded down is none.
uint32_t bound_ns(uint64_t ticks) {
  if (ticks == kNoBound) return TTCOLLECT_UNBOUNDED;
  const uint64_t ns = ticks / kHostTicksPerNs + (ticks % kHostTicksPerNs != 0);
  return static_cast<uint32_t>(std::min<uint64_t>(ns, TTCOLLECT_UNBOUNDED));
}

int64_t whole_ns(collect::HostTime at) {
  return static_cast<int64_t>(at / kHostTicksPerNs);
}

uint8_t weaker(uint8_t a, uint8_t b) {
  return a == TTCOLLECT_NO_BOUND || b == TTCOLLECT_NO_BOUND ? uint8_t{TTCOLLECT_NO_BOUND} : std::max(a, b);
}

std::string lines_of(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string lines;
  for (const auto& [name, value] : environment) lines.append(name).append("=").append(value).append("\n");
  return lines;
}

}  // namespace

void DeviceTables::begin(const Session& s) {
  Chip& chip = chips_[s.chip];
  if (chip.session.value_or(s.id) != s.id)
    throw SourceError("two runs of " + s.device + " in one source; read them one after the other");
  chip.session = s.id;
  chip.mhz = s.aiclk_mhz;
  for (const auto& [x, y] : s.compute_cores) chip.core_kinds[core_key(x, y)] = kTensix;
  ttcollect_session row{};
  row.id = s.id;
  row.device = tables_.keep(s.device);
  row.arch = tables_.keep(s.arch);
  row.board = tables_.keep(s.board);
  row.layout = tables_.keep(s.layout);
  row.environment = tables_.keep(lines_of(s.environment));
  row.chip = s.chip;
  row.aiclk_mhz = s.aiclk_mhz;
  row.compute_cores = s.max_compute_cores;
  row.clock_model = s.clock_model;
  tables_.sessions.push_back(row);
}

void DeviceTables::note_names() {
  const auto& all = labels_.all();
  for (size_t i = tables_.names.size(); i < all.size(); ++i)
    tables_.names.push_back({all[i].name.c_str(), all[i].file.c_str(), all[i].line, all[i].hash, 0});
}

void DeviceTables::markers(const FrameEvents& f, ZoneLabels::Lane& labels) {
  ttcollect_marker frame{};
  frame.bound_ns = TTCOLLECT_UNBOUNDED;
  frame.host_id = f.host_id, frame.chip = f.chip, frame.epoch = f.epoch, frame.replay = f.trace_counter;
  frame.x = f.core_x, frame.y = f.core_y, frame.risc = f.risc,
  frame.core_kind = static_cast<uint8_t>(f.core_kind);
  constexpr uint8_t kShown = markers::kGuaranteed | markers::kRepaired | markers::kQuickPush;
  // Every row is written once as the frame has it, and then where it differs.
  const size_t first = tables_.markers.size();
  tables_.markers.insert(tables_.markers.end(), f.markers.size(), frame);
  for (size_t i = 0; i < f.markers.size(); ++i) {
    const markers::Marker& m = f.markers[i];
    ttcollect_marker& row = tables_.markers[first + i];
    row.cycles = m.time_cycles;
    row.zone_id = m.id;
    row.type = static_cast<uint8_t>(m.type);
    row.flags = m.flags & kShown;
    row.name = labels.number_of(m);
    if (m.type == MarkerType::zone_total || m.type == MarkerType::ts_data ||
        m.type == MarkerType::ts_data_16b)
      row.data[0] = f.payload(m);
    if (m.type == MarkerType::ts_data_16b) row.data[1] = f.payload(m, 1);
    if (f.host_times.empty()) continue;
    const MarkerHostTime& time = f.host_times[i];
    row.host_ns = whole_ns(time.at);
    row.bound_ns = bound_ns(time.bound);
    row.bound_kind = static_cast<uint8_t>(time.kind);
    if (time.final) row.flags |= TTCOLLECT_FINAL_TIME;
  }
}

ttcollect_zone DeviceTables::begun(const FrameEvents& f, uint32_t marker, ZoneLabels::Lane& labels) const {
  const markers::Marker& m = f.markers[marker];
  ttcollect_zone zone{};
  zone.begin_cycles = m.time_cycles;
  zone.bound_ns = TTCOLLECT_UNBOUNDED;
  zone.name = labels.number_of(m);
  zone.host_id = f.host_id, zone.chip = f.chip, zone.epoch = f.epoch, zone.replay = f.trace_counter;
  zone.zone_id = m.id;
  zone.x = f.core_x, zone.y = f.core_y, zone.risc = f.risc,
  zone.core_kind = static_cast<uint8_t>(f.core_kind);
  if (f.host_times.empty()) return zone;
  zone.begin_ns = whole_ns(f.host_times[marker].at);
  zone.bound_ns = bound_ns(f.host_times[marker].bound);
  zone.bound_kind = static_cast<uint8_t>(f.host_times[marker].kind);
  return zone;
}

void DeviceTables::ended(ttcollect_zone zone, const FrameEvents& f, uint32_t marker,
                         uint32_t duration_bound_ns) {
  zone.end_cycles = f.markers[marker].time_cycles;
  if (f.host_times.empty()) {
    zone.begin_ns = 0;  // a half is no duration
    zone.bound_ns = TTCOLLECT_UNBOUNDED;
    zone.bound_kind = TTCOLLECT_NO_BOUND;
  } else {
    zone.end_ns = whole_ns(f.host_times[marker].at);
    zone.bound_ns = std::max(zone.bound_ns, bound_ns(f.host_times[marker].bound));
    zone.bound_kind = weaker(zone.bound_kind, static_cast<uint8_t>(f.host_times[marker].kind));
  }
  tables_.zones.push_back(zone);
  tables_.zone_bounds.push_back(duration_bound_ns);
}

void DeviceTables::zones(Chip& chip, Lane& lane, const FrameEvents& f, const Times& ns,
                         ZoneLabels::Lane& labels) {
  const bool late = ns.front() < lane.last;
  const auto depth = [&] { return static_cast<uint8_t>(std::min(lane.open.size(), kMostDepth)); };
  const std::span<const ZoneStep> steps = lane.steps.of(f.markers, f.main_zone, late);
  const std::span<const uint32_t> bounds = chip.zone_bounds.of(f, steps, lane.starts);
  for (const ZoneStep& step : steps) {
    const bool ends = step.marker != kNoMarker && f.markers[step.marker].type == MarkerType::zone_end;
    if (step.flaw == Flaw::overlap) {
      if (!ends) continue;
      ttcollect_zone zone = begun(f, step.other, labels);
      zone.depth = depth(), zone.aside = 1;
      // Two marks, where it does not nest aside.
      ended(zone, f, step.marker,
            step.kind == ZoneStep::Kind::end
                ? bounds[step.marker]
                : duration_bound_ns(timed_marker(f, step.other), timed_marker(f, step.marker)));
    } else if (step.kind == ZoneStep::Kind::begin) {
      ttcollect_zone zone = begun(f, step.marker, labels);
      zone.depth = depth();
      lane.open.push_back(zone);
    } else if (step.kind == ZoneStep::Kind::end) {
      // ZoneSteps closes what it opened last.
      const ttcollect_zone zone = lane.open.back();
      lane.open.pop_back();
      if (ends)
        ended(zone, f, step.marker, bounds[step.marker]);
      else
        ++unpaired_;
    } else if (step.flaw != Flaw::none) {
      ++unpaired_;
    }
  }
  lane.last = std::max(lane.last, ns.back());
}

DeviceTables::Times DeviceTables::times(Chip& chip, const FrameEvents& f) {
  if (!chip.clock_known) {
    chip.clock_known = true;
    chip.cycles = f.host_times.empty() || f.host_times.front().at == 0;
  }
  return {f, !chip.cycles && !f.host_times.empty(), std::max(chip.mhz, 1u)};
}

void DeviceTables::frame(const FrameEvents& f) {
  ZoneLabels::Lane& labels = labels_.lane(f);
  Chip& chip = chips_[f.chip];
  note_core(chip, f);
  if (wanted_ & TTCOLLECT_MARKERS) markers(f, labels);
  if (wanted_ & (TTCOLLECT_ZONES | TTCOLLECT_OPS)) {
    const Times ns = times(chip, f);
    if (wanted_ & TTCOLLECT_ZONES) zones(chip, chip.lanes[lane_key(f)], f, ns, labels);
    if (wanted_ & TTCOLLECT_OPS) chip.programs.take(f, lane_key(f), LaunchEnds::of(f, ns), ns.of_clock);
    came_until(chip, f.chip, ns.back());
  }
  note_names();
}

std::unique_ptr<FrameWork> DeviceTables::frame_work() const {
  return wanted_ == TTCOLLECT_OPS ? std::make_unique<FoundLaunches>() : nullptr;
}

bool DeviceTables::frame_alone(const FrameEvents& f) {
  Chip& chip = chips_[f.chip];
  if (!chip.clock_known || chip.cycles) return false;
  const FoundLaunches::Frame& found = static_cast<const FoundLaunches*>(f.work)->of(f.work_frame);
  note_core(chip, f);
  chip.programs.take(f, lane_key(f), found.launch, true);
  came_until(chip, f.chip, found.last_ns);
  return true;
}

void DeviceTables::note_core(Chip& chip, const FrameEvents& f) {
  const uint16_t core = core_key(f.core_x, f.core_y);
  if (chip.last_core == core) return;
  chip.core_kinds[core] = static_cast<uint8_t>(f.core_kind);
  chip.last_core = core;
}

void DeviceTables::came_until(Chip& chip, uint32_t number, uint64_t ns) {
  chip.last_ns = std::max(chip.last_ns, ns);
  if (chip.last_ns <= chip.settled_ns + kSettleEveryNs) return;
  settle(number, chip, chip.last_ns - std::min(chip.last_ns, kSettleEveryNs));
  chip.settled_ns = chip.last_ns;
}

void DeviceTables::settle(uint32_t number, Chip& chip, uint64_t until_ns) {
  chip.programs.settled(until_ns, [&](const Program& p) {
    ttcollect_op op{};
    op.begin_ns = static_cast<int64_t>(p.begin_ns), op.end_ns = static_cast<int64_t>(p.end_ns);
    if (p.kernel_begin_ns < p.kernel_end_ns) {
      op.kernel_begin_ns = static_cast<int64_t>(p.kernel_begin_ns);
      op.kernel_end_ns = static_cast<int64_t>(p.kernel_end_ns);
    }
    op.core_mean_ns = p.core_mean_ns, op.core_most_ns = p.core_most_ns;
    op.most_x = p.most_x, op.most_y = p.most_y;
    op.host_id = p.host_id, op.chip = number, op.replay = p.replay;
    op.cores = static_cast<uint32_t>(p.cores.size());
    op.open = p.open;
    op.of_device_clock = chip.cycles;
    tables_.ops.push_back(op);
    tables_.op_bounds.push_back(
        {p.bounds.duration_ns, p.bounds.kernel_ns, p.bounds.core_mean_ns, p.bounds.core_most_ns});
    tables_.op_gaps.push_back(chip.gaps.before(p));
    // Another core's marker may be the first or the last; each time is shown without its fraction.
    const uint32_t widest = bound_ns(p.widest_bound);
    tables_.op_time_bounds.push_back(widest == TTCOLLECT_UNBOUNDED ? widest : widest + 1);
  });
}

// A live loss comes before the clock model covers it. What has no times then comes again at the end, if it has some by then.
void DeviceTables::loss(const shm::LossRecord& r) {
  const ttcollect_loss row = loss_row(r);
  tables_.losses.push_back(row);
  const bool undated = (r.from_cycles && !row.from_ns) || (r.to_cycles != shm::kOpenEnd && !row.to_ns);
  if (undated)
    undated_losses_[{r.device, r.id}] = r;
  else
    undated_losses_.erase({r.device, r.id});
}

ttcollect_loss DeviceTables::loss_row(const shm::LossRecord& r) const {
  ttcollect_loss row{};
  row.id = r.id;
  row.from_cycles = r.from_cycles, row.to_cycles = r.to_cycles;
  row.words = r.words, row.launches = r.launches;
  row.chip = r.device, row.epoch = r.epoch;
  row.x = r.core_x, row.y = r.core_y, row.risc = r.risc;
  row.cause = static_cast<uint8_t>(r.cause), row.precision = static_cast<uint8_t>(r.precision);
  row.core_kind = TTCOLLECT_UNKNOWN_KIND;
  const auto chip = chips_.find(r.device);
  if (chip != chips_.end()) {
    const auto kind = chip->second.core_kinds.find(core_key(r.core_x, r.core_y));
    if (kind != chip->second.core_kinds.end()) row.core_kind = kind->second;
  }
  if (chip != chips_.end() && chip->second.map && !chip->second.map->empty()) {
    const collect::ClockMap& map = *chip->second.map;
    const collect::HostTime seen_by = map.segments().back().host_to;
    const auto ns = [&](uint64_t cycles) {
      const auto at = map.at(cycles, seen_by);
      return at.quality.bound == kNoBound ? int64_t{0} : whole_ns(at.host);
    };
    if (r.from_cycles) row.from_ns = ns(r.from_cycles);
    if (r.to_cycles != shm::kOpenEnd) row.to_ns = ns(r.to_cycles);
  }
  return row;
}

void DeviceTables::clock(uint32_t number, const collect::ClockMap& map) {
  Chip& chip = chips_[number];
  chip.zone_bounds.clock_changed();
  const uint8_t domain = map.head().domain;
  if (domain == 0) chip.map = &map;
  auto& [era, cycles] = chip.clock_delivered_until[domain];
  for (const collect::ClockSegment& s : map.segments()) {
    if (!(s.flags & collect::kFinalSegment) || s.era < era || (s.era == era && s.from_cycles < cycles))
      continue;
    era = s.era, cycles = s.to_cycles;
    ttcollect_clock row{};
    row.from_cycles = s.from_cycles, row.to_cycles = s.to_cycles;
    row.from_ns = whole_ns(s.host_from), row.to_ns = whole_ns(s.host_to);
    row.realtime_minus_raw_ns = map.head().realtime_minus_raw_ns;
    const auto ticks = static_cast<double>(s.host_to - s.host_from);
    if (ticks > 0)
      row.mhz = static_cast<double>(s.to_cycles - s.from_cycles) * kHostTicksPerNs * 1000 / ticks;
    row.bound_ns = bound_ns(s.bound), row.hard_bound_ns = bound_ns(s.hard_bound);
    row.chip = number, row.era = s.era;
    row.kind = static_cast<uint8_t>(s.kind), row.domain = domain;
    tables_.clocks.push_back(row);
  }
}

void DeviceTables::telemetry(uint32_t chip, const shm::TelemetryRecord& r) {
  tables_.telemetry.push_back(
      {static_cast<int64_t>(r.host_ns), chip, r.known & 7, r.aiclk_mhz, r.power_mw, r.temperature_mc, 0});
}

void DeviceTables::end() {
  for (const auto& [key, record] : undated_losses_)
    if (const ttcollect_loss row = loss_row(record); row.from_ns || row.to_ns) tables_.losses.push_back(row);
  for (auto& [number, chip] : chips_) {
    settle(number, chip, std::numeric_limits<uint64_t>::max());
    for (auto& [key, lane] : chip.lanes) unpaired_ += lane.open.size(), lane.open.clear();
  }
}

}  // namespace ttc::tools

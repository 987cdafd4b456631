#include "tools/viewers/timeline.hpp"

#include <algorithm>
#include <cstdio>

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;

constexpr uint64_t kWindowsOpen = 4;  // lanes are read one after another: a window's last launches come late

uint32_t lane_key(uint8_t x, uint8_t y, uint8_t risc) {
  return uint32_t{x} << 16 | uint32_t{y} << 8 | risc;
}

}  // namespace

void Timeline::begin(const Session& session) {
  chips_[session.chip].session = session;
  writer_->device(session);
}

// Words of a session that never described itself are of a chip that is known by its number only.
Timeline::Chip& Timeline::chip_of(uint32_t number) {
  const auto [it, fresh] = chips_.try_emplace(number);
  if (fresh) {
    it->second.session.chip = number;
    writer_->device(it->second.session);
  }
  return it->second;
}

void Timeline::tell_clock(uint32_t number, Chip& chip, bool cycles) {
  chip.clock_told = true;
  chip.cycles = cycles;
  // How the host's clocks lie is the same for all chips.
  const auto with_clock =
      std::find_if(chips_.begin(), chips_.end(), [](const auto& c) { return c.second.map; });
  const collect::ClockMap* map = chip.map                     ? chip.map
                                 : with_clock == chips_.end() ? nullptr
                                                              : with_clock->second.map;
  writer_->clock_known(number, cycles, map ? map->head() : collect::ClockHead{});
}

Timeline::Lane& Timeline::lane_of(Chip& chip, uint8_t x, uint8_t y, uint8_t risc, markers::CoreKind kind,
                                  device::Mode mode) {
  Lane& lane = chip.lanes[lane_key(x, y, risc)];
  if (lane.is.processor.empty()) {
    lane.is = {lane_count_++,
               chip.session.chip,
               x,
               y,
               risc,
               kind,
               std::string(markers::risc_name(kind, risc, mode)) + (chip.session.logged ? " (log)" : "")};
    writer_->lane(lane.is);
  }
  return lane;
}

void Timeline::convert(Chip& chip, const FrameEvents& f) {
  ns_.resize(f.markers.size());
  if (chip.cycles) {
    const uint64_t mhz = std::max(chip.session.aiclk_mhz, 1u);
    for (size_t i = 0; i < ns_.size(); ++i) ns_[i] = f.markers[i].time_cycles * 1000 / mhz;
  } else {
    for (size_t i = 0; i < ns_.size(); ++i) ns_[i] = f.host_times[i].at / kHostTicksPerNs;
  }
}

void Timeline::frame(const FrameEvents& f) {
  Chip& chip = chip_of(f.chip);
  if (!chip.clock_told) tell_clock(f.chip, chip, f.host_times.empty() || f.host_times.front().at == 0);
  convert(chip, f);
  note_epoch(chip, f);
  Lane& lane = lane_of(chip, f.core_x, f.core_y, f.risc, f.core_kind, f.mode);
  chip.first_ns = std::min(chip.first_ns, ns_.front());
  const bool late = ns_.front() < lane.last_ns;
  late_frames_ += late;
  const TimelineFrame frame{
      f, ns_, lane.zones.of(f.markers, f.main_zone, late), labels_.lane(f), lane.last_ns, late};
  writer_->frame(lane.is, frame);
  lane.last_ns = std::max(lane.last_ns, ns_.back());
  count_launch(f.chip, chip, lane, f);
}

void Timeline::note_epoch(Chip& chip, const FrameEvents& f) {
  const auto [it, fresh] = chip.epochs.try_emplace({f.core_x, f.core_y}, f.epoch);
  if (fresh || it->second == f.epoch) return;
  it->second = f.epoch;
  writer_->note(f.chip, ns_.front(),
                "epoch " + std::to_string(f.epoch) + ": the host has reset the profiler of core " +
                    std::to_string(f.core_x) + "," + std::to_string(f.core_y));
}

// At first, and whenever it rests on something else or has become twice as good or bad.
void Timeline::note_bound(Chip& chip, const collect::ClockSegment& s) {
  const double bound_ns = static_cast<double>(s.bound) / kHostTicksPerNs;
  if (s.kind == chip.noted_kind && bound_ns < 2 * chip.noted_bound_ns && 2 * bound_ns > chip.noted_bound_ns)
    return;
  chip.noted_kind = s.kind;
  chip.noted_bound_ns = bound_ns;
  char bound[32];
  std::snprintf(bound, sizeof bound, "%.0f", bound_ns);
  writer_->note(chip.session.chip, s.host_from / kHostTicksPerNs,
                "host times are off by at most " + std::string(bound) + " ns (" + to_string(s.kind) +
                    " bound, reference tile)");
}

void Timeline::count_launch(uint32_t number, Chip& chip, Lane& lane, const FrameEvents& f) {
  const markers::Marker& first = f.markers.front();
  if (f.main_zone == 0 || first.id != f.main_zone || first.type != markers::MarkerType::zone_start) return;
  ++lane.launches;
  const uint64_t window = ns_.front() / kWindowNs;
  if (window < chip.told_windows) return;
  uint64_t& most = chip.programs[window];
  most = std::max(most, lane.launches);
  if (chip.programs.rbegin()->first >= chip.programs.begin()->first + kWindowsOpen)
    tell_programs(number, chip, chip.programs.rbegin()->first - kWindowsOpen);
}

// Of a window, what the lane with the most launches has more than the one that had the most before: so all
// windows add up to the programs there were, though lanes start a program in different windows. Windows
// without a launch have no entry; a zero stands for each row of them.
void Timeline::tell_programs(uint32_t number, Chip& chip, uint64_t last) {
  auto it = chip.programs.begin();
  for (; it != chip.programs.end() && it->first <= last; ++it) {
    const auto [window, launches] = *it;
    const uint64_t programs = std::max(launches, chip.told_programs) - chip.told_programs;
    chip.told_programs += programs;
    writer_->counter(number, TimelineCounter::programs_per_s, window * kWindowNs,
                     static_cast<double>(programs) * (1e9 / kWindowNs));
    chip.told_windows = window + 1;
    const auto next = std::next(it);
    if (next == chip.programs.end() || next->first > window + 1)
      writer_->counter(number, TimelineCounter::programs_per_s, (window + 1) * kWindowNs, 0);
  }
  chip.programs.erase(chip.programs.begin(), it);
}

void Timeline::clock(uint32_t number, const collect::ClockMap& map) {
  if (map.head().domain != 0 || map.empty()) return;
  Chip& chip = chip_of(number);
  chip.map = &map;
  if (!chip.clock_told) tell_clock(number, chip, false);
  if (chip.cycles) return;
  const auto segments = map.segments();
  auto fresh = segments.end();
  while (fresh != segments.begin() && std::prev(fresh)->host_from >= chip.bounds_told_until) --fresh;
  for (; fresh != segments.end(); ++fresh) {
    if (!(fresh->flags & collect::kFinalSegment) || fresh->bound == collect::kNoBound) continue;
    writer_->counter(number, TimelineCounter::clock_bound_ns, fresh->host_from / kHostTicksPerNs,
                     static_cast<double>(fresh->bound) / kHostTicksPerNs);
    note_bound(chip, *fresh);
    chip.bounds_told_until = fresh->host_to;
  }
}

void Timeline::telemetry(uint32_t number, const shm::TelemetryRecord& record) {
  Chip& chip = chip_of(number);
  if (chip.clock_told && !chip.cycles && record.known & 1)
    writer_->counter(number, TimelineCounter::aiclk_mhz, record.host_ns, record.aiclk_mhz);
}

uint64_t Timeline::ns_of(const Chip& chip, uint64_t cycles) const {
  if (chip.cycles) return cycles * 1000 / std::max(chip.session.aiclk_mhz, 1u);
  if (!chip.map || chip.map->empty()) return 0;
  return chip.map->at(cycles, chip.map->segments().back().host_to).host / kHostTicksPerNs;
}

// An interval grows while it is open; it is told when it is closed, and again where it changes after that.
void Timeline::loss(const shm::LossRecord& record) {
  Chip& chip = chip_of(record.device);
  chip.losses[record.id] = record;
  if (chip.clock_told && record.to_cycles != shm::kOpenEnd) {
    tell_loss(record.device, chip, record);
    chip.losses.erase(record.id);
  }
}

void Timeline::tell_loss(uint32_t number, Chip& chip, const shm::LossRecord& record) {
  // What a reader did not get may have been of any lane. A card has hundreds that never run anything: those are
  // counted, and shown by no lane each.
  const bool readers =
      record.cause == shm::LossCause::reader_lapped || record.cause == shm::LossCause::file_damaged;
  const bool always = record.from_cycles == 0 && record.to_cycles == shm::kOpenEnd;
  if (readers && always && !chip.lanes.contains(lane_key(record.core_x, record.core_y, record.risc))) {
    ++chip.unseen_lost;
    return;
  }
  const auto kind_of_core = std::find_if(chip.lanes.begin(), chip.lanes.end(), [&](const auto& lane) {
    return lane.second.is.core_x == record.core_x && lane.second.is.core_y == record.core_y;
  });
  const auto kind =
      kind_of_core == chip.lanes.end() ? markers::CoreKind::tensix : kind_of_core->second.is.kind;
  const Lane& lane = lane_of(chip, record.core_x, record.core_y, record.risc, kind, device::Mode::normal);
  TimelineLoss loss{record};
  if (record.to_cycles != shm::kOpenEnd) loss.to_ns = ns_of(chip, record.to_cycles);
  loss.from_ns = record.from_cycles ? ns_of(chip, record.from_cycles)
                                    : std::min(chip.first_ns, loss.to_ns ? loss.to_ns : chip.first_ns);
  if (loss.from_ns == ~uint64_t{0}) loss.from_ns = 0;  // no marker came at all
  if (loss.to_ns < loss.from_ns) loss.to_ns = loss.from_ns;
  writer_->loss(lane.is, loss);
  chip.lost_until_ns = std::max(chip.lost_until_ns, loss.from_ns);
  if (chip.lost_until_ns)
    writer_->counter(number, TimelineCounter::lost, chip.lost_until_ns, static_cast<double>(++chip.lost));
}

void Timeline::end() {
  for (auto& [number, chip] : chips_) {
    tell_programs(number, chip, ~uint64_t{0});
    if (!chip.clock_told) tell_clock(number, chip, true);
    for (const auto& [id, record] : chip.losses) tell_loss(number, chip, record);
  }
  writer_->end();
}

std::vector<std::string> Timeline::remarks() const {
  std::vector<std::string> all = writer_->remarks();
  for (const auto& [number, chip] : chips_)
    if (chip.clock_told && chip.cycles && !chip.lanes.empty() && !chip.session.logged)
      all.push_back("chip " + std::to_string(number) +
                    ": this source holds no clock model of it (--no-sync?); its times are device cycles at " +
                    std::to_string(chip.session.aiclk_mhz) + " MHz and lie beside no other clock");
  for (const auto& [number, chip] : chips_)
    if (chip.unseen_lost)
      all.push_back("chip " + std::to_string(number) + ": " + std::to_string(chip.unseen_lost) +
                    " more lanes may have lost markers; nothing came of them, so they are not shown");
  if (late_frames_)
    all.push_back(std::to_string(late_frames_) + " launches came after later ones of their lane");
  return all;
}

}  // namespace ttc::tools

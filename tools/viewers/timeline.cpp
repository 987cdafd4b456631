#include "tools/viewers/timeline.hpp"

#include <algorithm>
#include <cstdio>

#include "collector/draw/colours.hpp"
#include "tools/viewers/program_span.hpp"

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;

constexpr struct {
  const char *name, *unit;
} kChipCounterNames[] = {
    {"programs/s", "1/s"},           {"AICLK", "MHz"},      {"power", "W"},    {"temperature", "degrees C"},
    {"lost intervals", "intervals"}, {"clock bound", "ns"}, {"log fill", "%"}, {"link share", "%"}};
constexpr unsigned kFlowsAChip =
    44;  // bits; JSON's readers take numbers up to 2^53, ops have those from 2^52
constexpr uint64_t kMostChipFlows = 1u << 8, kFirstAddressedFlow = uint64_t{1} << 43;
constexpr uint64_t kWindowsOpen = 4;  // lanes are read one after another: a window's last launches come late

uint32_t lane_key(uint8_t x, uint8_t y, uint8_t risc) {
  return uint32_t{x} << 16 | uint32_t{y} << 8 | risc;
}

// A core of Blackhole has two Ethernet processors.
std::string processor_name(markers::CoreKind kind, uint8_t risc, device::Mode mode) {
  std::string name(markers::risc_name(kind, risc, mode));
  if (kind != markers::CoreKind::tensix && risc > 0) name += ' ' + std::to_string(risc);
  return name;
}

}  // namespace

void Timeline::begin(const Session& session) {
  Chip& chip = add_chip(session.chip);
  chip.session = session;
  chip.noc.set_arch(session.arch);
  for (const auto& [x, y] : session.compute_cores) chip.noc.saw(x, y);
  writer_->device(session);
}

// Words of a session that never described itself are of a chip that is known by its number only.
Timeline::Chip& Timeline::chip_of(uint32_t number) {
  const bool fresh = !chips_.contains(number);
  Chip& chip = add_chip(number);
  if (fresh) {
    chip.session.chip = number;
    writer_->device(chip.session);
  }
  return chip;
}

Timeline::Chip& Timeline::add_chip(uint32_t number) {
  const uint64_t before = chips_.size();
  const auto [it, fresh] = chips_.try_emplace(number);
  if (fresh) it->second.first_flow = before % kMostChipFlows << kFlowsAChip;
  return it->second;
}

void Timeline::report_clock(uint32_t number, Chip& chip, bool cycles) {
  chip.clock_reported = any_clock_reported_ = true;
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
  Lane*& known = chip.known_lanes[((y * 17u + x) * 8 + risc) % std::size(chip.known_lanes)];
  if (known && known->is.core_x == x && known->is.core_y == y && known->is.risc == risc) return *known;
  Lane& lane = chip.lanes[lane_key(x, y, risc)];
  known = &lane;
  if (lane.is.processor.empty()) {
    lane.is = {lane_count_++,
               chip.session.chip,
               x,
               y,
               risc,
               kind,
               processor_name(kind, risc, mode) + (chip.session.logged ? " (log)" : "")};
    writer_->lane(lane.is);
  }
  return lane;
}

void Timeline::report_settled(Chip& chip) {
  const uint64_t until_ns = chip.last_ns - std::min(chip.last_ns, kSettleEveryNs);
  chip.open_programs.settled(until_ns, [&](const Program& program) { report_program(chip, program); });
  report_losses(chip, until_ns);
  report_addressed(chip, until_ns);
  chip.settled_ns = chip.last_ns;
}

void Timeline::report_program(Chip& chip, const Program& program) {
  const uint32_t number = chip.session.chip;
  TimelineSpan span = span_of(program, host_.names().find(number, program.host_id));
  for (uint64_t& flow : span.flows) flow += chip.first_flow;
  span.from = host_.take_flow(number, program.host_id);
  report_span(chip, chip.program_rows, SpanKind::program, nullptr, std::move(span));
}

// Finds the events that name compute cores of the chip. Nothing is recorded on a core that is addressed: the marks there
// have the time of the event.
void Timeline::find_addressed(Chip& chip, const TimelineFrame& f) {
  const auto& cores = chip.session.compute_cores;
  for (EventText& text : f.texts) {
    if (!text.target) continue;
    const NocXY from = chip.noc.physical({text.target->x, text.target->y}, text.target->noc1),
                to = chip.noc.physical({text.target->end_x, text.target->end_y}, text.target->noc1);
    const auto [least_x, most_x] = std::minmax(from.x, to.x);
    const auto [least_y, most_y] = std::minmax(from.y, to.y);
    for (const auto& [x, y] : cores) {
      if (x < least_x || x > most_x || y < least_y || y > most_y) continue;
      TimelineSpan mark;
      mark.begin_ns = mark.end_ns = f.ns[text.marker];
      mark.label = text.type;
      mark.name = text.type + " by " + core_name(f.events.core_x, f.events.core_y);
      mark.rgb = draw::kEventColour;
      mark.from = chip.first_flow + kFirstAddressedFlow + chip.addressed_flows++;
      text.flows.push_back(mark.from);
      chip.addressed.push_back({mark.begin_ns, x, y, std::move(mark)});
    }
  }
}

void Timeline::report_addressed(Chip& chip, uint64_t until_ns) {
  std::vector<Addressed>& all = chip.addressed;
  const auto later =
      std::partition(all.begin(), all.end(), [&](const Addressed& a) { return a.ns <= until_ns; });
  std::stable_sort(all.begin(), later, [](const Addressed& a, const Addressed& b) { return a.ns < b.ns; });
  for (auto it = all.begin(); it != later; ++it) {
    Lane& lane = lane_of(chip, it->x, it->y, 0, markers::CoreKind::tensix, device::Mode::normal);
    report_span(chip, chip.addressed_rows[{it->x, it->y}], SpanKind::addressed, &lane.is,
                std::move(it->span));
  }
  all.erase(all.begin(), later);
}

void Timeline::report_span(Chip& chip, Rows& rows, SpanKind kind, const TimelineLane* lane,
                           TimelineSpan span) {
  const auto place = rows.places.place(span.begin_ns, span.end_ns);
  if (!place) {
    ++left_out_spans_;
    return;
  }
  while (rows.rows.size() <= *place) {
    const auto rank = static_cast<uint32_t>(rows.rows.size());
    std::string name = kind == SpanKind::program  ? "programs"
                       : kind == SpanKind::record ? "real-time profiler"
                       : kind == SpanKind::loss   ? lane->processor + " lost"
                                                  : "NoC: addressed";
    if (rank) name += " (" + std::to_string(rank + 1) + ")";
    if (chip.session.logged && !lane) name += " (log)";
    // Below the programs.
    const auto of_chip = static_cast<uint32_t>(kind == SpanKind::record ? RowPacker::kMostRows : 0);
    rows.rows.push_back(std::make_unique<TimelineRow>(
        TimelineRow{row_count_++, chip.session.chip, kind, std::move(name), lane, of_chip + rank}));
    writer_->row(*rows.rows.back());
  }
  writer_->span(*rows.rows[*place], span);
}

// Reports the records of the chip's card, or all if it is the only chip: cards that are no emulated ones have one name here and another
// in captures.
void Timeline::report_records(Chip& chip) {
  std::string live_name = chip.session.device;
  std::replace(live_name.begin(), live_name.end(), ':', '-');
  std::vector<ProfilerRecord> others;
  std::stable_sort(records_.begin(), records_.end(), [](const ProfilerRecord& a, const ProfilerRecord& b) {
    return a.start_cycles < b.start_cycles;
  });
  for (const ProfilerRecord& r : records_) {
    const uint64_t begin_ns = ns_of(chip, r.start_cycles), end_ns = ns_of(chip, r.end_cycles);
    if ((chips_.size() > 1 && r.card != live_name) || begin_ns == 0 || end_ns < begin_ns) {
      others.push_back(r);
      continue;
    }
    TimelineSpan span;
    span.begin_ns = begin_ns;
    span.end_ns = end_ns;
    span.label = "program";
    span.name = "program " + std::to_string(r.program);
    span.rgb = draw::kProgramColour;
    span.fields = {
        {"host id, 16 bits", r.program}, {"record", r.number}, {"cycles", r.end_cycles - r.start_cycles}};
    report_span(chip, chip.record_rows, SpanKind::record, nullptr, std::move(span));
  }
  records_ = std::move(others);
}

void Timeline::report_hardware(Chip& chip, Lane& lane, const TimelineFrame& f) {
  for (const EventText& text : f.texts) {
    if (text.counter.empty()) continue;
    Counter& counter = lane.counters[text.counter];
    if (!counter) {
      counter = std::make_unique<TimelineCounter>(TimelineCounter{counter_count_++, chip.session.chip,
                                                                  lane.is.processor + " " + text.counter,
                                                                  "% of cycles", &lane.is});
      writer_->counter(*counter);
    }
    writer_->value(*counter, f.ns[text.marker], text.percent);
  }
}

void Timeline::counter_value(Chip& chip, ChipCounter which, uint64_t ns, double value) {
  Counter& counter = chip.counters[which];
  if (!counter) {
    counter = std::make_unique<TimelineCounter>(TimelineCounter{
        counter_count_++, chip.session.chip, kChipCounterNames[which].name, kChipCounterNames[which].unit});
    writer_->counter(*counter);
  }
  writer_->value(*counter, ns, value);
}

void Timeline::note_epoch(Chip& chip, const FrameEvents& f, uint64_t ns) {
  const auto [it, fresh] = chip.epochs.try_emplace({f.core_x, f.core_y}, f.epoch);
  if (fresh || it->second == f.epoch) return;
  it->second = f.epoch;
  writer_->note(f.chip, ns,
                "epoch " + std::to_string(f.epoch) + ": the host has reset the profiler of " +
                    core_name(f.core_x, f.core_y));
}

// Reports the bound at first, and whenever it rests on something else or has become twice as good or bad.
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

void Timeline::count_launch(Chip& chip, Lane& lane, uint64_t ns) {
  ++lane.launches;
  const uint64_t window = ns / kWindowNs;
  if (window < chip.reported_windows) return;
  uint64_t& most = chip.programs[window];
  most = std::max(most, lane.launches);
  if (chip.programs.rbegin()->first >= chip.programs.begin()->first + kWindowsOpen)
    report_programs_per_s(chip, chip.programs.rbegin()->first - kWindowsOpen);
}

// Counts for each window the launches by which the lane with the most has more than the one that had the most before.
// So all windows add up to the programs there were, though lanes start a program in different windows. Windows
// without a launch have no entry; each row of them is one zero.
void Timeline::report_programs_per_s(Chip& chip, uint64_t last) {
  auto it = chip.programs.begin();
  for (; it != chip.programs.end() && it->first <= last; ++it) {
    const auto [window, launches] = *it;
    const uint64_t programs = std::max(launches, chip.reported_programs) - chip.reported_programs;
    chip.reported_programs += programs;
    counter_value(chip, programs_per_s, window * kWindowNs,
                  static_cast<double>(programs) * (1e9 / kWindowNs));
    chip.reported_windows = window + 1;
    const auto next = std::next(it);
    if (next == chip.programs.end() || next->first > window + 1)
      counter_value(chip, programs_per_s, (window + 1) * kWindowNs, 0);
  }
  chip.programs.erase(chip.programs.begin(), it);
}

void Timeline::clock(uint32_t number, const collect::ClockMap& map) {
  if (const auto known = chips_.find(number); known != chips_.end())
    known->second.zone_bounds.clock_changed();
  if (map.head().domain != 0 || map.empty()) return;
  Chip& chip = chip_of(number);
  chip.map = &map;
  if (!chip.clock_reported) report_clock(number, chip, false);
  if (chip.cycles) return;
  const auto segments = map.segments();
  auto fresh = segments.end();
  while (fresh != segments.begin() && std::prev(fresh)->host_from >= chip.bounds_told_until) --fresh;
  for (; fresh != segments.end(); ++fresh) {
    if (!(fresh->flags & collect::kFinalSegment) || fresh->bound == collect::kNoBound) continue;
    counter_value(chip, clock_bound, fresh->host_from / kHostTicksPerNs,
                  static_cast<double>(fresh->bound) / kHostTicksPerNs);
    note_bound(chip, *fresh);
    chip.bounds_told_until = fresh->host_to;
  }
}

void Timeline::telemetry(uint32_t number, const shm::TelemetryRecord& record) {
  Chip& chip = chip_of(number);
  if (!chip.clock_reported || chip.cycles) return;
  if (record.known & 1) counter_value(chip, aiclk, record.host_ns, record.aiclk_mhz);
  if (record.known & 2) counter_value(chip, power, record.host_ns, record.power_mw / 1e3);
  if (record.known & 4) counter_value(chip, temperature, record.host_ns, record.temperature_mc / 1e3);
  if (record.known & 8) counter_value(chip, link_share, record.host_ns, record.link_share_ppm / 1e4);
  if (record.known & 16) counter_value(chip, log_fill, record.host_ns, record.log_fill_ppm / 1e4);
}

uint64_t Timeline::ns_of(const Chip& chip, uint64_t cycles) const {
  if (chip.cycles) return cycles * 1000 / std::max(chip.session.aiclk_mhz, 1u);
  if (!chip.map || chip.map->empty()) return 0;
  return chip.map->at(cycles, chip.map->segments().back().host_to).host / kHostTicksPerNs;
}

// An interval grows while it is open, and may change after that: it is written when what came later is older than a
// settled program; one that is still open is written at the end.
void Timeline::loss(const shm::LossRecord& record) {
  Chip& chip = chip_of(record.device);
  chip.losses[record.id] = record;
}

// The times of a loss begin at the first marker of the chip if its begin is not known, and end at the last if it is
// still open.
std::pair<uint64_t, uint64_t> Timeline::times_of(const Chip& chip, const shm::LossRecord& r) const {
  uint64_t to_ns = r.to_cycles == shm::kOpenEnd ? chip.last_ns : ns_of(chip, r.to_cycles);
  const uint64_t first_ns = std::min(chip.first_ns, to_ns);
  const uint64_t from_ns = r.from_cycles ? ns_of(chip, r.from_cycles) : first_ns;
  return {from_ns, std::max(from_ns, to_ns)};
}

void Timeline::report_losses(Chip& chip, uint64_t until_ns) {
  if (!chip.clock_reported) return;
  const bool all = until_ns == ~uint64_t{0};
  struct Due {
    uint64_t from_ns, to_ns;
    shm::LossRecord record;
  };
  std::vector<Due> due;
  for (auto it = chip.losses.begin(); it != chip.losses.end();) {
    const auto [from_ns, to_ns] = times_of(chip, it->second);
    if (!all && (it->second.to_cycles == shm::kOpenEnd || to_ns > until_ns)) {
      ++it;
      continue;
    }
    due.push_back({from_ns, to_ns, it->second});
    it = chip.losses.erase(it);
  }
  std::stable_sort(due.begin(), due.end(), [](const Due& a, const Due& b) { return a.from_ns < b.from_ns; });
  for (const Due& d : due) report_loss(chip, d.record, d.from_ns, d.to_ns);
}

void Timeline::report_loss(Chip& chip, const shm::LossRecord& record, uint64_t from_ns, uint64_t to_ns) {
  // Chunks that a reader did not get may have been of any lane. A card has hundreds that never run anything: those are
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
  Lane& lane = lane_of(chip, record.core_x, record.core_y, record.risc, kind, device::Mode::normal);
  const bool open = record.to_cycles == shm::kOpenEnd;
  TimelineSpan span{from_ns, to_ns, "markers lost", "markers lost", draw::kLossColour, {}, {}};
  span.fields.push_back({"cause", 0, to_string(record.cause)});
  span.fields.push_back({"precision", 0, to_string(record.precision)});
  if (record.precision == shm::LossPrecision::exact_words) span.fields.push_back({"words", record.words});
  if (record.precision == shm::LossPrecision::bounded_launches)
    span.fields.push_back({"launches at most", record.launches});
  span.fields.push_back({"from cycles", record.from_cycles});
  if (!open) span.fields.push_back({"to cycles", record.to_cycles});
  if (open) span.fields.push_back({"end", 0, "open: drawn until the last marker of the chip"});
  report_span(chip, lane.lost, SpanKind::loss, &lane.is, std::move(span));
  chip.lost_until_ns = std::max(chip.lost_until_ns, from_ns);
  if (chip.lost_until_ns)
    counter_value(chip, lost_intervals, chip.lost_until_ns, static_cast<double>(++chip.lost));
}

void Timeline::host(std::span<const uint64_t> chunk) {
  host_.push(chunk);
  if (any_clock_reported_ || host_.held() > kMostHeld) host_.release(*writer_, false);
}

void Timeline::end() {
  for (auto& each : chips_) {
    const uint32_t number = each.first;
    Chip& chip = each.second;  // a structured binding cannot be captured (clang 14)
    report_programs_per_s(chip, ~uint64_t{0});
    if (!chip.clock_reported) report_clock(number, chip, true);
    chip.open_programs.settled(~uint64_t{0}, [&](const Program& program) { report_program(chip, program); });
    report_losses(chip, ~uint64_t{0});
    report_addressed(chip, ~uint64_t{0});
    report_records(chip);
  }
  host_.end();
  host_.release(*writer_, true);
  writer_->end();
}

std::vector<std::string> Timeline::remarks() const {
  std::vector<std::string> all = writer_->remarks();
  for (const auto& [number, chip] : chips_)
    if (chip.clock_reported && chip.cycles && !chip.lanes.empty() && !chip.session.logged)
      all.push_back("chip " + std::to_string(number) +
                    ": this source holds no clock model of it (--no-sync?); its times are device cycles at " +
                    std::to_string(chip.session.aiclk_mhz) + " MHz and lie beside no other clock");
  for (const auto& [number, chip] : chips_)
    if (chip.unseen_lost)
      all.push_back("chip " + std::to_string(number) + ": " + std::to_string(chip.unseen_lost) +
                    " more lanes may have lost markers; nothing came of them, so they are not shown");
  if (left_out_spans_)
    all.push_back(std::to_string(left_out_spans_) + " programs or losses are not drawn: more than " +
                  std::to_string(RowPacker::kMostRows) + " lie over each other there");
  if (!records_.empty())
    all.push_back(std::to_string(records_.size()) + " records of " + records_.front().card +
                  " are not shown: no chip here is that card, or its clock is not known then");
  for (std::string& remark : host_.remarks()) all.push_back(std::move(remark));
  if (late_frames_)
    all.push_back(std::to_string(late_frames_) + " launches came after later ones of their lane");
  return all;
}

}  // namespace ttc::tools

#include "tools/ttemu/contradictions.hpp"

#include <algorithm>

#include "tools/emulation/fault_plan.hpp"
#include "tools/emulation/workload.hpp"

namespace ttc::emulation {
namespace {

using card::Contradiction;
using card::EmulatedCardOptions;

constexpr uint64_t kLandsNs = 450'000;
constexpr uint64_t kTooFastHz = 1'600'000'000;
constexpr uint32_t kSlowLinkNs = 60'000;
constexpr uint64_t kMovingNs = 60'000'000'000;  // clocks move for so long
constexpr uint64_t kRestlessNs = 20'000'000;
constexpr uint64_t kWanderStepNs = 10'000'000;
constexpr uint64_t kWanderPpmPerSecond = 20;
constexpr uint64_t kResetAfterNs = 1'000'000'000;

void need_own_clock(const EmulatedCardOptions& o, const char* name) {
  if (o.virtual_time)
    throw FaultError("--contradict " + std::string(name) +
                     " moves a clock against real time; leave out --time virtual and --replay");
  if (!o.clock_steps.empty())
    throw FaultError("--contradict " + std::string(name) +
                     " moves the clock; leave out --clock-step, --dvfs and --fault clock-stop");
}

void too_fast(EmulatedCardOptions& o) {
  need_own_clock(o, "clock-too-fast");
  o.hz = kTooFastHz;
}

void restless(EmulatedCardOptions& o) {
  need_own_clock(o, "clock-restless");
  constexpr uint64_t kPllStep = 6'250'000;
  for (uint64_t at = kRestlessNs, n = 1; at < kMovingNs; at += kRestlessNs, ++n)
    o.clock_steps.push_back({at, o.hz - n % 8 * kPllStep});
}

void wanders(EmulatedCardOptions& o) {
  need_own_clock(o, "clock-wanders");
  for (uint64_t at = kWanderStepNs; at < kMovingNs; at += kWanderStepNs)
    o.clock_steps.push_back({at, o.hz + o.hz / 1'000'000 * kWanderPpmPerSecond * (at / 1'000'000) / 1000});
}

void slow_link(EmulatedCardOptions& o) {
  o.round_trip_ns = std::max(o.round_trip_ns, kSlowLinkNs);
}

void reset_unseen(EmulatedCardOptions& o) {
  const auto is_reset = [](const card::CardFault& f) { return f.kind == card::FaultKind::reset; };
  if (std::any_of(o.faults.begin(), o.faults.end(), is_reset)) return;
  if (o.faults.size() == card::kMaxFaults)
    throw FaultError("--contradict reset-unseen needs one --fault less");
  card::CardFault reset;
  reset.kind = card::FaultKind::reset;
  reset.after = kResetAfterNs;
  o.faults.push_back(reset);
}

void late_landing(WorldOptions& world, WorkloadOptions&) {
  world.landing_ns = std::max(world.landing_ns, kLandsNs);
}

void quick_relaunch(WorldOptions&, WorkloadOptions& work) {
  if (work.host_reads_every == 0) work.host_reads_every = 1;
}

struct Row {
  ContradictionText text;
  uint32_t card = 0;  // Contradiction
  uint32_t unlike = 0;
  void (*of_card)(EmulatedCardOptions&) = nullptr;
  void (*of_work)(WorldOptions&, WorkloadOptions&) = nullptr;

  bool needs_workload() const { return unlike != 0 || of_work != nullptr; }
};

constexpr uint32_t bit(Contradiction one) {
  return static_cast<uint32_t>(one);
}
constexpr uint32_t bit(Unlike one) {
  return static_cast<uint32_t>(one);
}

constexpr Row kRows[] = {
    {{"late-landing", "timing.hpp kLandedNs: words are in DRAM 45 us behind their index",
      "they land 450 us behind it"},
     0,
     0,
     nullptr,
     late_landing},
    {{"index-behind", "timing.hpp kLandedNs: the index is raised before the words are sent",
      "the index is visible 200 us after the words"},
     0,
     bit(Unlike::index_behind)},
    {{"split-markers", "drain: the two words of a marker arrive together",
      "odd words land at once, even ones 300 us later"},
     0,
     bit(Unlike::split_markers)},
    {{"log-overwritten", "timing.hpp: within an epoch a log only grows",
      "every 16th push goes to the beginning of its log, and the index on"},
     0,
     bit(Unlike::log_overwritten)},
    {{"slow-reset", "timing.hpp kResetOverNs: the host has written a vector 70 us after its first word",
      "the second half of each vector is written 700 us after the first"},
     0,
     bit(Unlike::slow_reset)},
    {{"quick-relaunch",
      "timing.hpp kPollDeadlineNs: no core regains its counters within 2.5 ms of a host reset",
      "results are read after every program (or by --host-reads), and the next launch follows at once"},
     0,
     bit(Unlike::quick_relaunch),
     nullptr,
     quick_relaunch},
    {{"run-counter-doubles", "timing.hpp: RUN_COUNTER counts launches that were recorded",
      "it counts each twice"},
     0,
     bit(Unlike::run_counter_doubles)},
    {{"reset-some-cores", "timing.hpp: the host resets all cores of a device in one results read",
      "it resets every second core, and the others the next time"},
     0,
     bit(Unlike::reset_some_cores)},
    {{"addresses-early", "timing.hpp: per-RISC DRAM addresses are 0 until the first results read",
      "they are set from the beginning"},
     0,
     bit(Unlike::addresses_early)},
    {{"clock-back", "timing.hpp: a tile's wall clock only goes forward",
      "all fall back by 1,000,000 cycles four times a second, from the first observer on"},
     bit(Contradiction::clock_back)},
    {{"clock-too-fast", "CLOCK.md F: no clock is faster than 1.4 GHz",
      "tiles run at 1.6 GHz, whatever the card reports"},
     0,
     0,
     too_fast},
    {{"clock-restless", "CLOCK.md dwell: the frequency changes at most once in 250 ms",
      "it changes every 20 ms, by steps of 6.25 MHz, for 60 s"},
     0,
     0,
     restless},
    {{"clock-wanders", "CLOCK.md wander: between changes it drifts by at most 1 ppm/s",
      "it drifts by 20 ppm/s, for 60 s"},
     0,
     0,
     wanders},
    {{"tile-rates", "CLOCK.md: tiles of a chip share one PLL", "tiles of odd y (NOC0) count 20 ppm faster"},
     bit(Contradiction::tile_rates)},
    {{"tile-stops", "CLOCK.md: a tile's offset is a constant number of cycles",
      "counters of tiles of odd y (NOC0) stop for the last quarter of every 200,000,000 cycles"},
     bit(Contradiction::tile_stops)},
    {{"wall-latch", "allow_list.hpp: a load of the wall clock's low half latches the high one",
      "the latched half is 0"},
     bit(Contradiction::wall_latch)},
    {{"wall-high", "allow_list.hpp: the high half at +4 is live",
      "it is what the last load of the low half latched"},
     bit(Contradiction::wall_high)},
    {{"timer-rate", "allow_list.hpp: the reference timer counts at 50 MHz", "it counts at 49.5 MHz"},
     bit(Contradiction::timer_rate)},
    {{"timer-latch", "allow_list.hpp: a load of the reference timer's low half latches the high one",
      "the high half is live"},
     bit(Contradiction::timer_latch)},
    {{"node-id", "kmd_tiles: a tile reports its own coordinates", "x and y are the wrong way round"},
     bit(Contradiction::node_id)},
    {{"fused-off-unsaid", "kmd_tiles: the network interface of a fused-off tile reports that it is off",
      "it does not (visible through the driver model only)"},
     bit(Contradiction::fused_off_unsaid)},
    {{"dram-numbering", "arch.hpp: bank i of the profiler is DRAM view i", "it is view i + 1"},
     bit(Contradiction::dram_numbering)},
    {{"flat-id-order", "drain: flat ids number tiles column after column", "they number them row after row"},
     0,
     bit(Unlike::flat_id_order)},
    {{"few-windows", "kmd_open: two windows can be had", "the card has one"},
     bit(Contradiction::few_windows)},
    {{"slow-link", "timing.hpp kPollDeadlineNs: a link allows a poll of every core within 2.5 ms",
      "a round trip takes 60 us; nothing in virtual time"},
     0,
     0,
     slow_link},
    {{"stale-loads", "card.hpp: a load returns what is there, and never less than a load before it",
      "every second copy of a place in L1 returns what the copy before it did"},
     bit(Contradiction::stale_loads)},
    {{"reset-unseen", "kmd_device: a reset ends every open descriptor",
      "the card is reset (at the time of --fault reset, or after 1 s), and no process is cut off"},
     bit(Contradiction::reset_unseen),
     0,
     reset_unseen},
    {{"aiclk-wrong", "card.hpp telemetry: the card reports the clock at which it runs",
      "it reports 10 % more"},
     bit(Contradiction::aiclk_wrong)},
};

const Row* row_of(std::string_view name) {
  const auto* const it =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.text.name == name; });
  return it == std::end(kRows) ? nullptr : it;
}

}  // namespace

void Contradictions::add(std::string_view name) {
  if (!row_of(name))
    throw FaultError("--contradict: there is no '" + std::string(name) +
                     "'; `ttemu --contradict help` lists what there is");
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.emplace_back(name);
}

const char* Contradictions::needs_workload() const {
  for (const std::string& name : names_)
    if (row_of(name)->needs_workload()) return row_of(name)->text.name;
  return nullptr;
}

void Contradictions::apply_to(EmulatedCardOptions& options) const {
  for (const std::string& name : names_) {
    const Row& row = *row_of(name);
    options.contradictions |= row.card;
    if (row.of_card) row.of_card(options);
  }
}

void Contradictions::apply_to(WorldOptions& world, WorkloadOptions& work) const {
  for (const std::string& name : names_) {
    const Row& row = *row_of(name);
    world.faults.unlike |= row.unlike;
    if (row.of_work) row.of_work(world, work);
  }
}

std::vector<ContradictionText> contradictions() {
  std::vector<ContradictionText> all;
  for (const Row& row : kRows) all.push_back(row.text);
  return all;
}

std::string contradiction_help() {
  std::string text;
  for (const Row& row : kRows) {
    std::string name = row.text.name;
    name.resize(21, ' ');
    text += name + row.text.assumption + " -> " + row.text.what + "\n";
  }
  return text;
}

}  // namespace ttc::emulation

#include "collector/selftest/assumptions.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/clock/clock_estimator.hpp"
#include "collector/continuity/timing.hpp"
#include "collector/program/json_text.hpp"

namespace ttc::collect::selftest {
namespace {

std::string number(double value, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%g %s", value, unit);
  return text;
}
std::string in_us(uint64_t ns) {
  return number(static_cast<double>(ns) / 1e3, "us");
}
std::string in_ms(uint64_t ns) {
  return number(static_cast<double>(ns) / 1e6, "ms");
}

constexpr ClockRules kRules{};
constexpr uint64_t kTimerHz = 50'000'000;

constexpr std::string_view kNoWorkload = "no profiled workload recorded enough meanwhile";
constexpr std::string_view kNoReset = "the host read no results often enough meanwhile";
constexpr std::string_view kNoTimer = "the reference timer was not read; --reference-timer permits it";

// NOLINTBEGIN(readability-magic-numbers)
std::vector<Assumption> drain_rows() {
  constexpr auto kDrain = Layer::drain;
  return {
      {Id::log_grows,
       "log-grows",
       kDrain,
       "until the host reads results, a core's log only grows, from word 0 on",
       "",
       "collector/continuity/timing.hpp; tt-metal kernel_profiler.hpp",
       "reads of the front of a log that had grown",
       8,
       3,
       kNoWorkload,
       {Id::poll_deadline, Id::fresh_loads, Id::reset_cuts, Id::landing_time, Id::dram_numbering}},
      {Id::index_first,
       "index-first",
       kDrain,
       "an index is raised before the words that it announces land",
       "",
       "collector/drain/drain.hpp; tt-metal kernel_profiler.hpp, finish_profiler",
       "pushes whose words came later than the index, or before it",
       3,
       3,
       "words and index moved closer together than two loads are",
       {Id::poll_deadline, Id::dram_numbering, Id::reset_cuts, Id::marker_whole, Id::log_grows},
       "the order where index and words move closer together than two loads"},
      {Id::landing_time,
       "landing-time",
       kDrain,
       "pushed words are in DRAM so long after their index was raised",
       in_us(timing::kLandedNs),
       "collector/continuity/timing.hpp; no source gives a bound",
       "pushes",
       8,
       3,
       kNoWorkload,
       {Id::poll_deadline, Id::dram_numbering, Id::reset_cuts, Id::marker_whole}},
      {Id::marker_whole,
       "marker-whole",
       kDrain,
       "the two words of a marker land together",
       "",
       "firmware_markers/include/firmware_markers/frame.hpp",
       "pushes",
       8,
       3,
       kNoWorkload,
       {Id::poll_deadline, Id::dram_numbering, Id::reset_cuts}},
      {Id::reset_write_time,
       "reset-write-time",
       kDrain,
       "the host has written a core's vector so long after its first word, when it has read results",
       in_us(timing::kResetOverNs - timing::kLandedNs),
       "collector/continuity/timing.hpp; tt-metal profiler.cpp",
       "results reads",
       3,
       3,
       kNoReset,
       {Id::poll_deadline, Id::reset_cuts}},
      {Id::poll_deadline,
       "poll-deadline",
       kDrain,
       "after a results read a core does not regain its index and its count of launches within this time",
       in_ms(timing::kPollDeadlineNs),
       "collector/continuity/timing.hpp",
       "results reads",
       3,
       3,
       kNoReset,
       {Id::reset_cuts}},
      {Id::run_counter,
       "run-counter",
       kDrain,
       "RUN_COUNTER counts the launches that were recorded, and only the host sets it back",
       "",
       "collector/continuity/timing.hpp; tt-metal kernel_profiler.hpp, finish_profiler",
       "comparisons with the frames of a log",
       1,
       1,
       kNoWorkload,
       {Id::poll_deadline, Id::dram_numbering, Id::reset_cuts, Id::log_grows}},
      {Id::reset_all_cores,
       "reset-all-cores",
       kDrain,
       "a results read of the host resets all cores",
       "",
       "collector/continuity/timing.hpp; tt-metal profiler.cpp",
       "results reads",
       3,
       3,
       kNoReset,
       {Id::poll_deadline, Id::reset_cuts}},
      {Id::risc_addresses,
       "risc-addresses",
       kDrain,
       "the per-RISC DRAM addresses are 0 until the host's first results read",
       "",
       "collector/continuity/timing.hpp; tt-metal profiler_common.h, G3 and later",
       "first results reads",
       1,
       3,
       "the first results read was over, or did not come, or the format has no such words",
       {Id::poll_deadline, Id::reset_cuts},
       "whether they were set before the first results read; only that a results read sets them is visible"},
  };
}

std::vector<Assumption> clock_rows() {
  constexpr auto kClock = Layer::clock;
  return {
      {Id::clock_forward,
       "clock-forward",
       kClock,
       "a tile's wall clock only goes forward while the tile is not reset",
       "",
       "collector/clock/CLOCK.md; tt-isa-documentation, DebugTimestamper",
       "pairs of loads",
       100,
       1,
       "the clock could not be read",
       {Id::reset_cuts}},
      {Id::clock_limit,
       "clock-limit",
       kClock,
       "no tile clock is faster than this",
       number(static_cast<double>(kRules.largest_hz) / 1e9, "GHz"),
       "collector/clock/CLOCK.md, hard bounds",
       "stretches of one frequency",
       1,
       1,
       "no stretch of one frequency was long enough",
       {Id::clock_forward, Id::one_pll}},
      {Id::one_change,
       "one-change",
       kClock,
       "between two samples that are this far apart the frequency changes at most once, and steps by 4400 "
       "ppm at least",
       in_ms(kRules.longest_step_gap_ns),
       "collector/clock/CLOCK.md, conditional bounds",
       "stretches of that length",
       2,
       3,
       "the clock was not watched for long enough",
       {Id::clock_forward, Id::one_pll, Id::reset_cuts, Id::wander}},
      {Id::wander,
       "wander",
       kClock,
       "between steps the frequency drifts no faster than this; bounds over a faster slew are wider",
       number(kRules.wander_ppb_per_s / 1e3, "ppm/s"),
       "collector/clock/CLOCK.md, conditional bounds",
       "seconds of one frequency",
       1,
       3,
       "no second of one frequency was observed",
       {Id::clock_forward, Id::one_pll, Id::reset_cuts}},
      {Id::one_pll,
       "one-pll",
       kClock,
       "the tiles of a chip count at one rate: their counters differ by constants",
       "",
       "collector/clock/CLOCK.md, tiles",
       "comparisons of two tiles",
       100,
       3,
       "tiles could not be compared",
       {Id::clock_forward, Id::reset_cuts}},
      {Id::wall_latch,
       "wall-latch",
       kClock,
       "a load of the wall clock's low half latches the high half at +8",
       "",
       "driver_iface/include/driver_iface/allow_list.hpp; tt-isa-documentation, DebugTimestamper",
       "loads",
       10,
       3,
       "the high half was 0",
       {Id::reset_cuts}},
      {Id::wall_high,
       "wall-high",
       kClock,
       "the wall clock's high half at +4 is live",
       "",
       "collector/sampling/clock_sampler.hpp; tt-isa-documentation, DebugTimestamper",
       "roll-overs of the low half",
       1,
       1,
       "the low half did not roll over meanwhile, which it does every 3 to 5 s",
       {Id::clock_forward, Id::reset_cuts}},
      {Id::timer_rate,
       "timer-rate",
       kClock,
       "the reference timer of Blackhole's PCIe tile counts at this rate",
       number(static_cast<double>(kTimerHz) / 1e6, "MHz"),
       "tt-metal streaming_profiler/sync/host_sync.cpp",
       "readings",
       1,
       1,
       kNoTimer,
       {Id::timer_latch}},
      {Id::timer_latch,
       "timer-latch",
       kClock,
       "a load of the reference timer's low half latches its high half",
       "",
       "tt-metal streaming_profiler/sync/host_sync.cpp",
       "readings",
       1,
       1,
       kNoTimer,
       {},
       "another process that loads the low half meanwhile looks like a high half that is not latched"},
  };
}

std::vector<Assumption> driver_rows() {
  constexpr auto kDriver = Layer::driver;
  return {
      {Id::node_id,
       "node-id",
       kDriver,
       "a tile's node id register holds its own coordinates",
       "",
       "driver_iface/kmd/kmd_tiles.hpp",
       "tiles",
       2,
       1,
       "no tile answered",
       {Id::reset_cuts}},
      {Id::fused_off,
       "fused-off",
       kDriver,
       "bit 12 of a fused-off tile's interface configuration is set",
       "",
       "driver_iface/include/driver_iface/allow_list.hpp",
       "counts of tiles against the board's",
       1,
       1,
       "the board is not in our table, or the card is emulated: its fused-off tiles are given, not read",
       {},
       "whether a tile without the fused-off bit is fused off: which ones are is compared in number only"},
      {Id::dram_numbering,
       "dram-numbering",
       kDriver,
       "memory bank i of the profiler is DRAM view i",
       "",
       "driver_iface/include/driver_iface/arch.hpp; tt-metal metal_soc_descriptor.cpp",
       "logs found where they should be",
       1,
       1,
       kNoWorkload,
       {Id::flat_ids, Id::reset_cuts}},
      {Id::flat_ids,
       "flat-ids",
       kDriver,
       "flat ids number the Tensix and Ethernet tiles that are not fused off, by x and then by y",
       "",
       "driver_iface/include/driver_iface/arch.hpp; tt-metal tt_cluster.cpp",
       "cores",
       2,
       1,
       "no profiler was found",
       {}},
      {Id::two_windows,
       "two-windows",
       kDriver,
       "the driver gives a second process two windows beside the workload's",
       "2",
       "driver_iface/kmd/kmd_open.hpp",
       "openings",
       1,
       1,
       "",
       {}},
      {Id::poll_in_time,
       "poll-in-time",
       kDriver,
       "the link is fast enough to poll every core within the deadline",
       in_ms(timing::kPollDeadlineNs),
       "collector/drain/drain.hpp",
       "estimates",
       1,
       1,
       "the link could not be measured",
       {}},
      {Id::fresh_loads,
       "fresh-loads",
       kDriver,
       "a load returns what is there when it is made",
       "",
       "driver_iface/include/driver_iface/card.hpp",
       "copies between two single loads",
       16,
       3,
       kNoWorkload,
       {Id::reset_cuts}},
      {Id::reset_cuts,
       "reset-cuts",
       kDriver,
       "a reset ends what others have open, at once",
       "",
       "driver_iface/kmd/kmd_device.hpp; tt-kmd 2.7 memory.c",
       "resets",
       1,
       1,
       "the card was not reset meanwhile, and this test resets none",
       {},
       "what no reset shows: the test makes none"},
      {Id::aiclk,
       "aiclk",
       kDriver,
       "the card reports the clock of its tiles, within 2 %",
       "2 %",
       "driver_iface/include/driver_iface/card.hpp, Telemetry",
       "comparisons with the measured clock",
       1,
       1,
       "the card reports no clock, or the clock changed all the time",
       {Id::clock_forward, Id::clock_limit, Id::one_change, Id::one_pll, Id::reset_cuts}},
  };
}
// NOLINTEND(readability-magic-numbers)

}  // namespace

std::string_view to_string(Layer layer) {
  constexpr std::string_view kNames[] = {"drain", "clock", "driver"};
  return kNames[static_cast<size_t>(layer)];
}

std::span<const Assumption> assumptions() {
  static const std::vector<Assumption> rows = [] {
    std::vector<Assumption> all = drain_rows();
    for (const auto& some : {clock_rows(), driver_rows()}) all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return rows;
}

const Assumption& assumption(Id id) {
  return assumptions()[static_cast<size_t>(id)];
}

std::string assumptions_as_markdown() {
  std::string text =
      "| name | layer | assumed | constant | rests on it, and its source |\n|---|---|---|---|---|\n";
  for (const Assumption& a : assumptions()) {
    text.append("| `").append(a.name).append("`");
    for (const std::string_view cell :
         {to_string(a.layer), a.sentence, std::string_view(a.constant), a.source})
      text.append(" | ").append(cell);
    text.append(" |\n");
  }
  return text;
}

std::string assumptions_as_json() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Assumption& a : assumptions())
    rows.push_back(
        {{"name", a.name},
         {"layer", to_string(a.layer)},
         {"assumed", a.sentence},
         {"constant", a.constant},
         {"source", a.source},
         {"hidden", a.hidden.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(a.hidden)}});
  return program::json_text(rows);
}

}  // namespace ttc::collect::selftest

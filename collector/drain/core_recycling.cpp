#include "collector/drain/core_recycling.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "collector/core/epoch_entry.hpp"
#include "firmware_markers/device/noc_event.hpp"
#include "firmware_markers/packets.hpp"

namespace ttc::collect {
namespace {

using card::Access;

constexpr uint64_t kQuietAfterResetNs = 1'000'000'000;  // unless the log is nearly full by then
constexpr uint32_t kResetsTolerated = 1;
constexpr double kReportFill = 0.5;
constexpr uint64_t kFindFirstNs = 50'000'000, kFindMostNs = 1'000'000'000;

}  // namespace

double CoreRecycling::fill(const ControlSample& snap) const {
  if (!dev.region_size.known()) return 0;
  return static_cast<double>(*std::max_element(snap.host_end.begin(), snap.host_end.end())) / dev.log_words();
}

// Markers of those who push early, whether or not a push has shown it yet.
bool CoreRecycling::pushes_soon(std::span<const uint32_t> frames) {
  bool found = false;
  const auto look = [&](const markers::Packet& packet) {
    const uint32_t type = packet.type(), id = packet.id();
    found = (type == device::kTsData && id == device::kNocEventId) ||
            (type == device::kTsData16B && (id == device::kNocDebugId || id == device::kPerfCounterId));
    return found ? markers::Walking::ends_here : markers::Walking::on;
  };
  // Payload is any word at all, so that only the walk from packet to packet finds their heads.
  for (size_t at = 0; !found && at + 2 <= frames.size();) {
    at += frames[at] == 0 ? device::kFwStartWord : 2;  // the words in front of a frame's slots
    at = markers::for_each_packet(frames, std::min(at, frames.size()), look);
  }
  return found;
}

std::string CoreRecycling::why_never() const {
  if (!is_tensix()) return "an Ethernet core: recycling was not shown to be safe there";
  if (!kind_of(dev.attachment.mode).counts_launches)
    return std::string(markers::to_string(dev.attachment.mode)) + " mode: frames cannot be counted";
  const RecycleLimits& limits = dev.options.recycling->options.limits;
  if ((1 - limits.least_fill) * dev.log_words() < limits.keep_clear_words)
    return "its log is too short: it must be emptied before a frame might not fit, so that only the host can";
  if (core.recycling.resets > kResetsTolerated)
    return "the workload's host reads its log while programs run, so it is emptied as it is";
  if (core.recycling.pushes_soon)
    return "it records NoC events or counters, which are pushed in the middle of runs";
  for (const LaneState& lane : core.lanes)
    if (lane.pushes_early) return "it uses quick push: frames are pushed in the middle of runs";
  return {};
}

RecycleCore CoreRecycling::recycle_core() const {
  RecycleCore c;
  c.core = core.tile;
  c.place = static_cast<size_t>(&core - dev.cores.data());
  c.capacity = dev.log_words();
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    c.lanes[r] = {lane.lane, lane.digest, lane.cursor, lane.lap.frames, lane.lap.ahead};
  }
  return c;
}

CoreRecycle::Deps CoreRecycling::recycle_deps() {
  Recycling& r = *dev.options.recycling;
  const auto ceiling_now = [&of = dev, &by = reader] {
    return markers::Ceiling{true, of.clock.ceiling(by.now_ns())};
  };
  return {reader, dev.attachment, r.options.limits, ceiling_now, r.options.audit};
}

// Called at the end of a visit that found news.
Access CoreRecycling::consider(const ControlSample& snap) {
  const double filled = fill(snap);
  dev.highest_fill = std::max(dev.highest_fill, filled);
  if (!dev.options.recycling) {
    announce_fill(filled);
    return Access::ok;
  }
  RecycleState& state = core.recycling;
  Recycling& recycling = *dev.options.recycling;
  if (dev.ending || !dev.mode_known) return Access::ok;
  if (state.place_lost) return find_place(), Access::ok;
  if (filled < recycling.options.at || !state.refused.empty() || state.provisional) return Access::ok;
  if (state.refused = why_never(); !state.refused.empty()) {
    report_refusal();
    return Access::ok;
  }
  const bool just_reset =
      core.account.epoch() != 0 && reader.now_ns() - core.epoch.since.ns < kQuietAfterResetNs;
  if (just_reset && filled < recycling.options.limits.any_moment_fill) return Access::ok;
  const RecycleLimits& limits = recycling.options.limits;
  const bool rests = state.ended_ns != 0 && reader.now_ns() - state.ended_ns < limits.rest_ns;
  if (rests && filled < limits.any_moment_fill) return Access::ok;
  for (const LaneState& lane : core.lanes)
    if (lane.stuck.any()) return Access::ok;
  auto attempt = std::make_unique<CoreRecycle>(recycle_deps(), recycle_core());
  const card::Expected<CoreRecycle::Step> step = attempt->begin(state.baseline);
  if (!step) return step.error();
  if (*step == CoreRecycle::Step::going) {
    ++recycling.account.recycles;
    recycling.account.slow += attempt->slow();
    state.under_way = std::move(attempt);
  } else if (!attempt->why().empty()) {
    state.refused = attempt->why();
    report_refusal();
  }
  return Access::ok;
}

// Words were skipped, or no reading of a recycle fitted: the core is observed until the place of each lane is certain again. Tried now
// and then, since the core is not drained meanwhile.
void CoreRecycling::find_place() {
  RecycleState& state = core.recycling;
  const uint64_t now_ns = reader.now_ns();
  if (now_ns < state.find_due_ns || !why_never().empty()) return;
  state.find_pause_ns = std::clamp(2 * state.find_pause_ns, kFindFirstNs, kFindMostNs);
  state.find_due_ns = now_ns + state.find_pause_ns;
  state.under_way = std::make_unique<CoreRecycle>(CoreRecycle::find_place(recycle_deps(), recycle_core()));
}

// A reason is printed with the first core it holds for; the account counts the others.
void CoreRecycling::report_refusal() {
  std::set<const CoreState*>& who = dev.refusals[core.recycling.refused];
  if (who.insert(&core).second && who.size() == 1 && dev.options.report)
    dev.options.report(place() + " is not recycled: " + core.recycling.refused);
}

// Early enough to do something about it. Once a card.
void CoreRecycling::announce_fill(double filled) {
  if (filled < kReportFill || dev.fill_reported || !dev.options.report) return;
  dev.fill_reported = true;
  const uint64_t bytes = dev.region_size.bytes(), programs = 4 * bytes / 48;
  const uint64_t ran_ns = reader.now_ns() - std::max(core.epoch.since.ns, dev.attachment.begun_ns);
  const double left_s = static_cast<double>(ran_ns) / 1e9 * (1 - filled) / filled;
  const double dram_mb = static_cast<double>(4 * bytes * device::kMaxRiscs *
                                             dev.attachment.core_count_per_dram * dev.facts.banks) /
                         1e6;
  char text[700];
  std::snprintf(
      text, sizeof text,
      "%s: its log is %.0f %% full and will be full in about %.1f s; the card then drops markers until the "
      "workload reads its results\nstart the workload with TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=%llu for "
      "a "
      "log four times as long (%.0f MB of device DRAM), or collect with --recycle, which empties the log "
      "while programs run",
      place().c_str(), 100 * filled, left_s, static_cast<unsigned long long>(programs), dram_mb);
  dev.options.report(text);
}

// A lane that was found empty has an index again.
bool CoreRecycling::provisional_moved(const ControlSample& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (core.recycling.provisional >> r & 1 && snap.host_end[r] != 0) return true;
  return false;
}

void CoreRecycling::reopen() {
  RecycleState& state = core.recycling;
  state.under_way = std::make_unique<CoreRecycle>(
      CoreRecycle::reopened(recycle_deps(), recycle_core(), std::exchange(state.provisional, 0), state.last));
  state.reopened = true;
}

Access CoreRecycling::go_on() {
  RecycleState& state = core.recycling;
  RecycleAccount& account = dev.options.recycling->account;
  const card::Expected<CoreRecycle::Step> answer = state.under_way->go_on();
  if (!answer) return answer.error();
  const CoreRecycle::Step step = *answer;
  core.polls.last_ns = reader.now_ns();
  if (step == CoreRecycle::Step::going) return Access::ok;
  const std::unique_ptr<CoreRecycle> ended = std::move(state.under_way);
  state.ended_ns = reader.now_ns();
  const uint64_t took = state.ended_ns - ended->began_ns();
  account.round_trips += ended->round_trips();
  account.total_ns += took;
  account.longest_ns = std::max(account.longest_ns, took);
  const auto resolved = prove_recycled({.resolved = step == CoreRecycle::Step::resolved});
  if (resolved) {
    take_resolved(*ended, *resolved);
  } else if (step == CoreRecycle::Step::rewound) {
    ++account.rewound;
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) account_unresolved(r, *ended);
    note_reset(false);
  } else if (!ended->only_finds_place()) {
    ++account.surprises;
    if (!std::exchange(state.place_lost, true) && dev.options.report)
      dev.options.report(place() +
                         " is only observed until it is certain where its logs go on: " + ended->why());
    go_on_after_surprise(*ended);
  }
  state.reopened = false;
  return Access::ok;
}

// A recycle that cleared the lane's index ended without a verdict: what was pushed until now may lie where it is not read any more.
void CoreRecycling::account_unresolved(uint32_t risc, const CoreRecycle& recycle) {
  const bool not_cleared = !(recycle.cleared() >> risc & 1);
  core.account.between(risc, prove_recycled({.resolved = not_cleared}), core.lanes[risc].digest.last_time,
                       cycles_at(reader.now_ns()));
}

// The places of the lanes are not known. What may be missing becomes an interval; nothing is written any more.
void CoreRecycling::go_on_after_surprise(const CoreRecycle& recycle) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!(recycle.cleared() >> r & 1)) continue;
    LaneState& lane = core.lanes[r];
    account_unresolved(r, recycle);
    const uint32_t index = recycle.highest_seen()[r];
    if (index < lane.cursor) lane.lap.base += lane.cursor, lane.cursor = 0, lane.canary.clear();
    lane.caution.old_host.reset();
    lane.first_words.forget();
    core.seen.host_end[r] = std::min(index, core.seen.host_end[r]);
    core.landing.doubt(r);
  }
  core.landing.waits_from(reader.now_ns());
}

// The host has rewound: laps and counts start from zero, and refusals are reconsidered.
void CoreRecycling::forget_laps() {
  RecycleState& state = core.recycling;
  ++state.resets;
  state.provisional = 0;
  state.place_lost = false;
  state.under_way.reset();
  state.refused.clear();
  for (LaneState& lane : core.lanes) {
    lane.begin_laps();
  }
}

}  // namespace ttc::collect

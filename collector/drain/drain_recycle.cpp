// Where the drain and recycling meet (RECYCLE.md): when a core is recycled and why not, and how the stream
// goes on behind a recycle. The protocol itself is core_recycle.cpp.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "collector/drain/drain.hpp"
#include "firmware_markers/device/noc_event.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using shm::LossCause;

constexpr uint64_t kQuietAfterResetNs = 1'000'000'000;  // unless the log is nearly full by then
constexpr uint32_t kResetsTolerated = 1;
constexpr double kReportFill = 0.5;
constexpr uint64_t kFindFirstNs = 50'000'000, kFindMostNs = 1'000'000'000;

}  // namespace

std::map<std::string, uint64_t> Drain::not_recycled() const {
  std::map<std::string, uint64_t> cores;
  for (const auto& [why, who] : refusals_) cores[why] = who.size();
  if (options_.recycling)
    for (const CoreState& core : cores_)
      if (core.recycling.place_lost)
        ++cores["frames were lost, and the place where its logs go on is not certain yet"];
  return cores;
}

double Drain::fill(const ControlSample& snap) const {
  if (!region_size_.known()) return 0;
  return static_cast<double>(*std::max_element(snap.host_end.begin(), snap.host_end.end())) / log_capacity();
}

// Markers of those who push early, whether or not a push has shown it yet.
bool Drain::pushes_soon(std::span<const uint32_t> frames) {
  const auto is_one_of_them = [](uint32_t high) {
    const uint32_t type = markers::packet_type(high), id = markers::packet_id(high);
    return markers::is_marker(high) &&
           ((type == device::kTsData && id == device::kNocEventId) ||
            (type == device::kTsData16B && (id == device::kNocDebugId || id == device::kPerfCounterId)));
  };
  for (size_t at = 0; at + 2 <= frames.size(); at += 2)
    if (is_one_of_them(frames[at])) return true;
  return false;
}

std::string Drain::why_never(const CoreState& core) const {
  if (core.core.kind != markers::CoreKind::tensix)
    return "an Ethernet core: recycling was not shown to be safe there";
  if (!kind_of(attachment_.mode).counts_launches)
    return std::string(markers::to_string(attachment_.mode)) + " mode: frames cannot be counted";
  const RecycleLimits& limits = options_.recycling->options.limits;
  if ((1 - limits.least_fill) * log_capacity() < limits.keep_clear_words)
    return "its log is too short: it must be emptied before a frame might not fit, so that only the host can";
  if (core.recycling.resets > kResetsTolerated)
    return "the workload's host reads its log while programs run, so it is emptied as it is";
  if (core.recycling.pushes_soon)
    return "it records NoC events or counters, which are pushed in the middle of runs";
  for (const LaneState& lane : core.lanes)
    if (lane.pushes_early) return "it uses quick push: frames are pushed in the middle of runs";
  return {};
}

RecycleCore Drain::recycle_core(const CoreState& core) const {
  RecycleCore c;
  c.core = core.core;
  c.place = static_cast<size_t>(&core - cores_.data());
  c.capacity = log_capacity();
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    c.lanes[r] = {lane.lane, lane.digest, lane.cursor, lane.lap.frames, lane.lap.ahead};
  }
  return c;
}

CoreRecycle::Deps Drain::recycle_deps() {
  Recycling& r = *options_.recycling;
  return {reader_, attachment_, r.options.limits, [this] { return ceiling(); }, r.options.audit};
}

// At the end of a visit that found news.
Access Drain::consider_recycling(CoreState& core, const ControlSample& snap) {
  const double filled = fill(snap);
  highest_fill_ = std::max(highest_fill_, filled);
  if (!options_.recycling) {
    announce_fill(core, filled);
    return Access::ok;
  }
  RecycleState& state = core.recycling;
  Recycling& recycling = *options_.recycling;
  if (ending_ || !mode_settled_) return Access::ok;
  if (state.place_lost) return find_place(core), Access::ok;
  if (filled < recycling.options.at || !state.refused.empty() || state.provisional) return Access::ok;
  if (state.refused = why_never(core); !state.refused.empty()) {
    report_refusal(core);
    return Access::ok;
  }
  const bool just_reset =
      core.account.epoch() != 0 && reader_.now_ns() - core.epoch.since_ns < kQuietAfterResetNs;
  if (just_reset && filled < recycling.options.limits.any_moment_fill) return Access::ok;
  const RecycleLimits& limits = recycling.options.limits;
  const bool rests = state.ended_ns != 0 && reader_.now_ns() - state.ended_ns < limits.rest_ns;
  if (rests && filled < limits.any_moment_fill) return Access::ok;
  for (const LaneState& lane : core.lanes)
    if (lane.stuck.any()) return Access::ok;
  auto attempt = std::make_unique<CoreRecycle>(recycle_deps(), recycle_core(core));
  const card::Expected<CoreRecycle::Step> step = attempt->begin(state.baseline);
  if (!step) return step.error();
  if (*step == CoreRecycle::Step::going) {
    ++recycling.account.recycles;
    recycling.account.slow += attempt->slow();
    state.under_way = std::move(attempt);
  } else if (!attempt->why().empty()) {
    state.refused = attempt->why();
    report_refusal(core);
  }
  return Access::ok;
}

// Words were skipped, or no reading of a recycle fitted: the core is observed until the place of each lane is certain again. Tried now
// and then, since the core is not drained meanwhile.
void Drain::find_place(CoreState& core) {
  RecycleState& state = core.recycling;
  const uint64_t now_ns = reader_.now_ns();
  if (now_ns < state.find_due_ns || !why_never(core).empty()) return;
  state.find_pause_ns = std::clamp(2 * state.find_pause_ns, kFindFirstNs, kFindMostNs);
  state.find_due_ns = now_ns + state.find_pause_ns;
  state.under_way =
      std::make_unique<CoreRecycle>(CoreRecycle::find_place(recycle_deps(), recycle_core(core)));
}

// A reason is printed with the first core it holds for; the account counts the others.
void Drain::report_refusal(const CoreState& core) {
  std::set<const CoreState*>& who = refusals_[core.recycling.refused];
  if (who.insert(&core).second && who.size() == 1 && options_.report)
    options_.report(place_of(core) + " is not recycled: " + core.recycling.refused);
}

// Early enough to do something about it. Once a card.
void Drain::announce_fill(const CoreState& core, double filled) {
  if (filled < kReportFill || fill_reported_ || !options_.report) return;
  fill_reported_ = true;
  const uint64_t bytes = region_size_.bytes(), programs = 4 * bytes / 48;
  const uint64_t ran_ns = reader_.now_ns() - std::max(core.epoch.since_ns, attachment_.begun_ns);
  const double left_s = static_cast<double>(ran_ns) / 1e9 * (1 - filled) / filled;
  const double dram_mb =
      static_cast<double>(4 * bytes * device::kMaxRiscs * attachment_.core_count_per_dram * facts_.banks) /
      1e6;
  char text[700];
  std::snprintf(
      text, sizeof text,
      "%s: its log is %.0f %% full and will be full in about %.1f s; the card then drops markers until the "
      "workload reads its results\nstart the workload with TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=%llu for "
      "a "
      "log four times as long (%.0f MB of device DRAM), or collect with --recycle, which empties the log "
      "while programs run",
      place_of(core).c_str(), 100 * filled, left_s, static_cast<unsigned long long>(programs), dram_mb);
  options_.report(text);
}

// A lane that was found empty has an index again.
bool Drain::provisional_moved(const CoreState& core, const ControlSample& snap) const {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (core.recycling.provisional >> r & 1 && snap.host_end[r] != 0) return true;
  return false;
}
void Drain::reopen_recycle(CoreState& core) {
  RecycleState& state = core.recycling;
  state.under_way = std::make_unique<CoreRecycle>(CoreRecycle::reopened(
      recycle_deps(), recycle_core(core), std::exchange(state.provisional, 0), state.last));
  state.reopened = true;
}

Access Drain::go_on_recycling(CoreState& core) {
  RecycleState& state = core.recycling;
  RecycleAccount& account = options_.recycling->account;
  const card::Expected<CoreRecycle::Step> answer = state.under_way->go_on();
  if (!answer) return answer.error();
  const CoreRecycle::Step step = *answer;
  core.polls.last_ns = reader_.now_ns();
  if (step == CoreRecycle::Step::going) return Access::ok;
  const std::unique_ptr<CoreRecycle> ended = std::move(state.under_way);
  state.ended_ns = reader_.now_ns();
  const uint64_t took = state.ended_ns - ended->began_ns();
  account.round_trips += ended->round_trips();
  account.total_ns += took;
  account.longest_ns = std::max(account.longest_ns, took);
  const auto resolved = prove_recycled({.resolved = step == CoreRecycle::Step::resolved});
  if (resolved) {
    take_resolved(core, *ended, *resolved);
  } else if (step == CoreRecycle::Step::rewound) {
    ++account.rewound;
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) account_unresolved(core, r, *ended);
    note_reset(core, false);
  } else if (!ended->only_finds_place()) {
    ++account.surprises;
    if (!std::exchange(state.place_lost, true) && options_.report)
      options_.report(place_of(core) +
                      " is only observed until it is certain where its logs go on: " + ended->why());
    go_on_after_surprise(core, *ended);
  }
  state.reopened = false;
  return Access::ok;
}

// A recycle that cleared the lane's index ended without a verdict: what was pushed until now may lie where it is not read any more.
void Drain::account_unresolved(CoreState& core, uint32_t risc, const CoreRecycle& recycle) {
  const bool not_cleared = !(recycle.cleared() >> risc & 1);
  core.account.between(risc, prove_recycled({.resolved = not_cleared}), core.lanes[risc].digest.last_time,
                       cycles_at(reader_.now_ns()));
}

// Where the lanes stand is not known. What may be missing is an interval; nothing is written any more.
void Drain::go_on_after_surprise(CoreState& core, const CoreRecycle& recycle) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!(recycle.cleared() >> r & 1)) continue;
    LaneState& lane = core.lanes[r];
    account_unresolved(core, r, recycle);
    const uint32_t index = recycle.highest_seen()[r];
    if (index < lane.cursor) lane.lap.base += lane.cursor, lane.cursor = 0, lane.canary.clear();
    lane.caution.old_host.reset();
    lane.first_words.forget();
    core.seen.host_end[r] = std::min(index, core.seen.host_end[r]);
    core.landing.doubt(r);
  }
  core.landing.waits_from(reader_.now_ns());
}

void Drain::publish_new_frames(CoreState& core, uint32_t risc, const CoreRecycle::Result& result) {
  const LaneOutcome& o = result.lanes[risc];
  const LaneState& lane = core.lanes[risc];
  const uint64_t most = (publisher_.max_chunk_bytes() - Publisher::kHeadBytes) / 4;
  for (size_t i = 0; i < o.frames.size();) {
    const NewFrame& first = o.frames[i];
    uint32_t words = 0;
    size_t n = i;
    for (; n < o.frames.size(); ++n) {
      const NewFrame& f = o.frames[n];
      if (f.in_new_lap != first.in_new_lap || f.at != first.at + words || words + f.words > most) break;
      words += f.words;
    }
    const bool front = first.in_new_lap;
    const std::vector<uint32_t>& source = front ? result.front[risc] : result.old_place[risc];
    const uint32_t* from = source.data() + (front ? first.at : first.at - lane.cursor);
    uint64_t* slot = publisher_.claim(Publisher::kHeadBytes + (4ull * words + 7) / 8 * 8);
    std::vector<uint64_t> copy((words + 1) / 2);
    std::copy_n(from, words, reinterpret_cast<uint32_t*>(copy.data()));
    shm::store_bytes(slot + Publisher::kHeadBytes / 8, copy.data(), 8 * copy.size());
    if (options_.before_publish) options_.before_publish();
    const Publisher::Span span{static_cast<uint8_t>(risc),
                               lane.lap.base + (front ? o.old_end : 0) + first.at,
                               words,
                               Publisher::kHeadBytes,
                               first.before,
                               shm::SpanSource::dram_log,
                               first.at + words};
    publisher_.publish_words(slot, Publisher::kHeadBytes + 8 * copy.size(),
                             chunk_core(core, result.runs, result.read_time_ns, core.notes), {&span, 1});
    core.notes = 0;
    i = n;
  }
}

void Drain::count_new_frames(CoreState& core, uint32_t risc, const LaneOutcome& o) {
  LaneState& lane = core.lanes[risc];
  lane.lap.frames += o.frames.size();
  frames_ += o.frames.size();
  std::vector<uint32_t> hosts;
  for (const NewFrame& f : o.frames) {
    markers_ += f.markers;
    hosts.push_back(f.host_id);
    if (risc == 0 && !f.sat_out) ++core.runs.delivered, ++core.runs.total, ++core.recycling.referee.came;
  }
  if (risc != 0) return;
  remember_hosts(core, hosts);
  programs_ = std::max(programs_, core.runs.total);
}

// What the verdict says of a lane that was cleared.
void Drain::count_verdict(const RecycleState& state, const LaneOutcome& o, bool lap, bool provisional) {
  RecycleAccount& account = options_.recycling->account;
  ++account.verdicts[static_cast<size_t>(o.verdict)];
  account.lanes += !state.reopened;
  account.provisional += provisional;
  account.withdrawn += state.reopened && !lap;
  for (const NewFrame& f : o.frames) account.recovered += !f.in_new_lap && f.at < o.old_end && lap;
}

void Drain::take_resolved_lane(CoreState& core, uint32_t risc, const CoreRecycle::Result& result,
                               const Proof& resolved) {
  LaneState& lane = core.lanes[risc];
  const LaneOutcome& o = result.lanes[risc];
  const bool cleared = result.cleared >> risc & 1;
  const bool found_again = o.verdict == Verdict::found_again;
  const bool may_lag = facts_.indices_may_lag;
  if (found_again) account_lost_place(core, risc, o, result);
  account_cut_frames(core, risc, o);
  publish_new_frames(core, risc, result);
  count_new_frames(core, risc, o);
  const uint32_t pos = lane.cursor;
  const bool lap = found_again || (cleared && o.verdict != Verdict::torn && o.verdict != Verdict::lost_write);
  const bool provisional = lap && !found_again && o.cursor == 0 && may_lag;
  if (cleared) count_verdict(core.recycling, o, lap, provisional);
  lane.cursor = provisional ? o.old_end : o.cursor;
  if (provisional)
    core.recycling.provisional |= 1u << risc;
  else if (lap)
    lane.lap.base += o.old_end;
  // The words before the cursor, wherever they are now.
  const bool at_front = lap && !provisional;
  const std::vector<uint32_t>& source = at_front ? result.front[risc] : result.old_place[risc];
  const uint32_t origin = at_front ? 0 : pos;
  if (lane.cursor != pos || at_front) {
    lane.canary.clear();
    lane.canary.append(std::span(source).first(lane.cursor - std::min(origin, lane.cursor)));
  }
  if (!o.frames.empty()) {
    lane.delivered = true;
    if (!found_again) core.account.extend(risc, resolved, o.digest.last_time);
  }
  lane.digest = o.digest;
  lane.forget_what_follows();
  lane.caution.waits = false;
  if (result.settled && lane.lap.frames != 0)
    lane.lap.ahead = static_cast<int64_t>(lane.lap.frames) - result.runs;
}

void Drain::take_resolved(CoreState& core, const CoreRecycle& recycle, const Proof& resolved) {
  RecycleState& state = core.recycling;
  RecycleAccount& account = options_.recycling->account;
  const CoreRecycle::Result& result = recycle.result();
  account.surprises += recycle.lacks_frames() && !recycle.only_finds_place();
  account.found_again += recycle.lacks_frames();
  account.crossed += recycle.crossed();
  for (uint32_t r = 0; r < core.core.riscs; ++r) take_resolved_lane(core, r, result, resolved);
  // Frames of the lap before lie under the new one's: their launches must not pass for its own.
  if (core.hosts.size() > 1) core.hosts.erase(core.hosts.begin(), core.hosts.end() - 1);
  core.seen.host_end = result.index;
  core.landing.all_landed(result.index, reader_.now_ns());
  core.seen.run_counter = core.runs.counter = result.runs;
  state.referee.see(result.runs);
  core.polls.caught_up_ns = core.polls.proven_ns = result.read_time_ns;
  core.runs.missing_visits = 0;
  state.last = {};
  state.last.runs = result.runs;
  state.last.settled = result.settled;
  if (!recycle.lacks_frames()) return;
  core.runs.delivered = result.runs;  // launches before it that lack are in the intervals
  state.place_lost = false;
  state.find_pause_ns = 0;
}

// Near the end of a log firmware writes the guaranteed words alone of a frame that does not fit.
void Drain::account_cut_frames(CoreState& core, uint32_t risc, const LaneOutcome& taken) {
  for (size_t i = 0; i < taken.frames.size(); ++i) {
    const NewFrame& frame = taken.frames[i];
    const bool last = i + 1 == taken.frames.size();
    const uint64_t until = last ? taken.digest.last_time : taken.frames[i + 1].before.last_time;
    core.account.room_between(risc,
                              prove_room({.fits_any = frame.at + longest_frame() <= log_capacity(),
                                          .not_cut = frame.words != device::kFirstCustomWord}),
                              frame.before.last_time, until);
  }
}

// What the lane pushed between its last frame that was taken and the first of `found` may be missing.
void Drain::account_lost_place(CoreState& core, uint32_t risc, const LaneOutcome& found,
                               const CoreRecycle::Result& result) {
  LaneState& lane = core.lanes[risc];
  if (found.frames.empty()) {
    const bool stayed = found.cursor == lane.cursor && !(result.cleared >> risc & 1);
    core.account.keep(risc, prove_same_place({.stayed = stayed, .never_delivered = !lane.delivered}));
    return core.account.end_of_drops(risc, cycles_at(result.read_time_ns));
  }
  const std::span<const uint32_t> log(result.front[risc]);
  const NewFrame& first = found.frames.front();
  const uint64_t begins = gap_end(lane, log.subspan(first.at, first.words), lane.digest.last_time);
  core.account.deliver(risc, std::nullopt, begins, found.digest.last_time);
  core.account.end_of_drops(risc, begins);
}

// The host has rewound: laps and counts start from zero, and refusals are reconsidered.
void Drain::forget_laps(CoreState& core) {
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

// The referee's last word. Only cores that are recycled, or would be: elsewhere frames and runs need not go
// together.
uint64_t Drain::missing_launches() const {
  uint64_t runs = 0;
  if (!kind_of(attachment_.mode).counts_launches) return runs;
  for (const CoreState& core : cores_)
    if (core.core.kind == markers::CoreKind::tensix)
      runs += core.recycling.referee.earlier + core.recycling.referee.missing();
  return runs;
}

// The end of collecting: what was cleared is still resolved, as long as its patience lasts.
bool Drain::recycling_under_way() const {
  return std::any_of(cores_.begin(), cores_.end(),
                     [](const CoreState& c) { return c.recycling.under_way != nullptr; });
}

}  // namespace ttc::collect

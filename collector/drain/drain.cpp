#include "collector/drain/drain.hpp"

#include <algorithm>
#include <utility>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Window;
using shm::Counter;
using shm::LossCause;

constexpr uint32_t kUnexplainedVisits = 3;
constexpr uint64_t kReportWaitingNs = 2'000'000'000;

bool has_canary(const CoreState& core) {
  return std::any_of(core.lanes.begin(), core.lanes.end(),
                     [](const LaneState& l) { return !l.canary.none(); });
}

}  // namespace

Drain::Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
             shm::SegmentWriter& segment, const DrainOptions& options, Carried carried)
    : facts_{card.identity().dram_views.size(), card.identity().arch->name == "blackhole"},
      attachment_(attachment),
      publisher_(publisher),
      segment_(segment),
      options_(options),
      region_size_(attachment, options.bytes_per_risc, card.memory_numberings(),
                   RegionSize::sizes_asked_for(attachment.workload_pid)),
      port_(card, logs, attachment.clock, options.recycling ? options.recycling->writer.get() : nullptr),
      reader_(port_, attachment_),
      losses_([this](const shm::LossRecord& r) { untold_losses_.push_back(r); }, std::move(carried.lost)),
      clock_({attachment.begun_ns, attachment.begun_cycles}, card.identity().aiclk_mhz),
      mode_settled_(attachment.mode_given || attachment.layout->format.trace_status == 0) {
  reader_.use_log_bytes(region_size_.bytes());
  const device::Format& f = attachment.layout->format;
  firmware_checked_ns_ = attachment.begun_ns;
  for (const AttachedCore& core : attachment.cores) {
    CoreState state(core, losses_, carried.first_epoch);
    state.polls.begin_with(attachment.begun_ns);
    state.runs.total = carried.programs;
    if (carried.first_epoch) state.notes |= shm::kNewEpoch;
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      state.lanes[r].lane = {&f, r, core.flat_id, mode_of(state)};
    cores_.push_back(std::move(state));
  }
  programs_ = carried.programs;
  markers_ = carried.markers;
  frames_ = carried.frames;
  epochs_ = carried.epochs;
  retries_ = carried.retries;
  missed_poll_deadlines_ = carried.missed_poll_deadlines;
  sweeps_ = carried.sweeps;
  recovered_words_ = carried.recovered_words;
  unparsable_words_ = carried.unparsable_words;
  dropped_runs_ = carried.dropped_runs;
  earlier_transactions_ = carried.transactions;
  segment_.set(Counter::cores, cores_.size());
}

Carried Drain::carry() const {
  Carried c{0,
            programs_,
            markers_,
            frames_,
            epochs_ + 1,
            retries_,
            missed_poll_deadlines_,
            sweeps_,
            recovered_words_,
            unparsable_words_,
            dropped_runs_,
            losses_.intervals(),
            transactions()};
  for (const CoreState& core : cores_) c.first_epoch = std::max(c.first_epoch, core.account.epoch() + 1);
  return c;
}

card::Transactions Drain::transactions() const {
  card::Transactions t = reader_.transactions();
  t.round_trips += earlier_transactions_.round_trips;
  t.bytes += earlier_transactions_.bytes;
  t.window_moves += earlier_transactions_.window_moves;
  t.register_loads += earlier_transactions_.register_loads;
  t.transport_ns += earlier_transactions_.transport_ns;
  return t;
}

void Drain::read_clock(uint64_t older_than_ns) {
  const uint64_t host_ns = reader_.now_ns();
  if (host_ns - clock_.newest_ns() < older_than_ns) return;
  if (const auto cycles = reader_.wall_clock())  // else the next visit meets the same trouble
    clock_.add({host_ns, *cycles});
}

uint64_t Drain::cycles_at(uint64_t host_ns) {
  if (clock_.newest_ns() < host_ns) read_clock(0);
  return clock_.at(host_ns);
}

// A push may have been dropped since, even where no index moves any more (quick push on dispatch cores).
bool Drain::near_full(const ControlSample& snap) const {
  return std::any_of(snap.host_end.begin(), snap.host_end.end(),
                     [&](uint32_t end) { return end + device::kBufferWords + 4 > log_capacity(); });
}

// More runs were counted than frames of BRISC delivered, and none of them is in the log.
bool Drain::runs_missing(const CoreState& core, const ControlSample& snap) const {
  // Accumulating firmware counts pushes, of whichever RISC.
  return kind_of(attachment_.mode).counts_launches && core.lanes[0].cursor >= snap.host_end[0] &&
         snap.run_counter > core.runs.delivered;
}

// Runs the core counted but whose frames are not in the log, and RISCs that say they lost markers.
Access Drain::account_drops(CoreState& core, const ControlSample& snap, const LastTimes& before) {
  const bool missing = runs_missing(core, snap);
  core.runs.note_missing(missing);
  if (!near_full(snap) && !missing) return Access::ok;
  const auto dropped = reader_.dropped(core.core);
  if (!dropped) return dropped.error();
  uint32_t mask = *dropped;
  const bool stays_missing = core.runs.missing_visits >= kUnexplainedVisits;
  if (mask == 0 && stays_missing && near_full(snap)) mask = 1;  // the word can lose bits (5.7.8)
  // Otherwise a reset between the index and the push of these runs, or between two polls, hides their frames.
  core.account.keep_all(
      prove_counted_runs({.all_came = !missing,
                          .may_still_come = core.runs.missing_visits<kUnexplainedVisits, .dropped = mask != 0,
                                                                     .known = core.runs.missing_visits>
                                                kUnexplainedVisits}));
  const uint32_t runs = missing ? snap.run_counter - core.runs.delivered : 0;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    const LaneState& lane = core.lanes[r];
    LogRoom room;
    room.not_said = !(mask >> r & 1);
    room.emptied = core.recycling.ended_ns != 0 && snap.host_end[r] + longest_frame() <= log_capacity();
    // Nothing is dropped while a whole buffer fits (before G3 another lane's full log counts, too), and a
    // backlog is taken up to there first.
    const bool before_drops = attachment_.layout->format.guaranteed_when_full &&
                              snap.host_end[r] > roomy_until() && lane.cursor <= roomy_until();
    const bool roomy_words_wait = before_drops && lane.cursor + 2 * device::kBufferWords <= roomy_until();
    room.nothing_before = (lane.first_of_epoch && lane.cursor < snap.host_end[r]) || roomy_words_wait;
    const auto had_room = prove_room(room);
    // The launch whose frame the log had room for only in part is counted as delivered.
    core.account.room(r, had_room, before_drops ? lane.digest.last_time : before[r], runs + 1);
    if (r == 0 && !had_room) dropped_runs_ = std::max<uint64_t>(dropped_runs_, runs);
  }
  return Access::ok;
}

// Where logs are, how large they are and how their words are to be read. Until all of it is known nothing is delivered.
card::Expected<bool> Drain::layout_known(CoreState& core, const ControlSample& snap) {
  if (!region_size_.known()) {
    if (const Access a = region_size_.learn(reader_, core.core,
                                            {snap.host_end, core.landing.landed(), snap.run_counter,
                                             attachment_.mode, mode_settled_, may_accumulate(core)});
        a != Access::ok)
      return card::failed(a);
    reader_.use_log_bytes(region_size_.bytes());
    if (!region_size_.known()) {
      report_waiting(
          waiting_since_ns_,
          "how many bytes each log has was not found out yet; a program that ends on a core whose log "
          "has room shows it, or --region-bytes gives it: 48 or 64 times the program support count");
      return false;
    }
  }
  if (!generation_settled_)
    if (const Access a = settle_generation(core, snap); a != Access::ok) return card::failed(a);
  if (!generation_settled_) return false;
  const auto mode = mode_decided_by_log(core, snap);
  if (mode && !*mode)
    report_waiting(
        core.mode.waits_since_ns,
        "how the firmware was built was not found out yet, since no first frame has landed in BRISC's "
        "log of " +
            place_of(core) +
            " although an index announces one; a launch that ends shows it, or --mode gives it");
  else
    core.mode.waits_since_ns = 0;
  return mode;
}

Access Drain::visit(CoreState& core, uint64_t now_ns, bool& news) {
  if (core.recycling.under_way) return news = true, go_on_recycling(core);
  Look look;
  const Polls before_it = core.polls;
  if (const Access a = look_at(core, look); a != Access::ok) return a;
  const ControlSample& snap = look.snapshot;
  const bool back = rewound(core, snap);
  const bool in_question = (back && !core.rewind.pending()) || core.polls.late;
  if (in_question || (!core.firmware.proven && words_wait(core, snap))) {
    if (const Access a = check_firmware(core); a != Access::ok || firmware_changed_) return a;
  }
  if (back) note_reset(core, false);
  const bool stored_moved = snap.stored != core.seen.stored;
  if (!back) {
    const auto l1 = notice_l1_reset(core, snap);
    if (!l1) return l1.error();
    if (*l1 == L1Check::moved_on) {  // as if it had not been polled
      core.polls = before_it;
      return news = true, Access::ok;
    }
  }
  if (core.rewind.pending()) {
    news = true;
    core.rewind.late = core.rewind.late || core.polls.late;  // another one may have followed it
    // What accumulating firmware keeps in L1 does not wait for us.
    const bool wait = !kind_of(attachment_.mode).accumulates;
    return wait && !core.rewind.over(snap.read_time_ns) ? Access::ok : begin_epoch(core);
  }
  if (provisional_moved(core, snap)) return reopen_recycle(core), Access::ok;
  news = has_news(core, snap);
  core.polls.quiet = news ? 0 : core.polls.quiet + 1;
  if (look.front == Front::empty && core.lanes[0].delivered && kind_of(core).counts_launches)
    core.polls.caught_up(look.begun_ns, resets_);
  if (look.in_doubt && !words_wait(core, snap)) {  // a run can be counted after the indices were read
    if (const Access a = check_unseen_reset(core, look.front); a != Access::ok) return a;
    if (core.rewind.pending()) return Access::ok;
  }
  if (!news)
    if (const Access a = check_quiet(core, look); a != Access::ok) return a;
  if (const Access a = settle_mode(core, now_ns, news || stored_moved); a != Access::ok) return a;
  if (!news)
    if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  const bool unexplained = runs_missing(core, snap) && core.runs.missing_visits < kUnexplainedVisits;
  if (!news && !unexplained && !(region_size_.known() && near_full(snap))) return Access::ok;
  note_indices(core, snap);
  const auto known = layout_known(core, snap);
  if (!known) return known.error();
  if (!*known) return Access::ok;
  LastTimes before;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) before[r] = core.lanes[r].digest.last_time;
  if (const Access a = deliver(core, snap, now_ns); a != Access::ok) return a;
  if (core.rewind.pending()) return Access::ok;
  if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  core.runs.counter = snap.run_counter;
  if (!has_news(core, snap)) core.polls.caught_up(look.begun_ns, resets_);
  if (const Access a = account_drops(core, snap, before); a != Access::ok) return a;
  return consider_recycling(core, snap);
}

std::string Drain::place_of(const CoreState& core) {
  return "core (" + std::to_string(core.core.at.x) + "," + std::to_string(core.core.at.y) + ")";
}

// The payload waits. Usually for a run or two; where it does not end, the user has to know.
void Drain::report_waiting(uint64_t& since_ns, const std::string& why) {
  if (since_ns == 0) since_ns = reader_.now_ns();
  if (waiting_reported_ || reader_.now_ns() - since_ns < kReportWaitingNs) return;
  waiting_reported_ = true;
  if (options_.report) options_.report("markers wait in the logs: " + why);
}

// Only between visits: during one, a slot of the ring is claimed for words.
void Drain::report_losses() {
  for (const shm::LossRecord& record : untold_losses_) publisher_.publish_loss(record);
  untold_losses_.clear();
}

// A host reset was noticed. `long_ago`: another one may have passed in front of it.
void Drain::note_reset(CoreState& core, bool long_ago) {
  core.rewind.note(core.polls, long_ago, reader_.now_ns());
  if (core.core.kind == markers::CoreKind::tensix) resets_.noticed(core.rewind.after_ns);
}

// A core that never delivered anything shows no reset, where others have.
void Drain::note_polled(const CoreState& core, uint64_t before_ns, bool had_canary) {
  if (core.core.kind != markers::CoreKind::tensix || core.polls.last_ns == before_ns) return;
  const bool in_time = !Polls::too_late(before_ns, core.polls.last_ns);
  const bool each_shows =
      core.rewind.pending() ? !core.rewind.late : in_time || (had_canary && !core.polls.check_all);
  const bool delivered =
      std::any_of(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return l.delivered; });
  if (each_shows || delivered || programs_ == 0) resets_.polled(core.polls.last_ns, each_shows);
}

Access Drain::look_after(CoreState& core, uint64_t now_ns) {
  bool news = false;
  const uint64_t before_ns = core.polls.last_ns;
  const bool had_canary = has_canary(core);
  Access result = visit(core, now_ns, news);
  if (result == Access::ok && !firmware_changed_) note_polled(core, before_ns, had_canary);
  if (result == Access::ok && !firmware_changed_) result = note_begun_buffers(core);
  report_losses();
  if (result == Access::gone) return result;
  // Busy cores often, idle ones ever more rarely, down to the stated worst case.
  const bool fresh_epoch = core.lanes[0].delivered && core.seen.run_counter == 0 &&
                           reader_.now_ns() - core.epoch.since_ns < kFreshNs;
  core.visits.interval_ns = news || fresh_epoch
                                ? options_.busy_interval_ns
                                : std::min(options_.idle_interval_ns,
                                           std::max(options_.busy_interval_ns, 2 * core.visits.interval_ns));
  if (core.core.kind != markers::CoreKind::tensix) core.visits.interval_ns = options_.ethernet_interval_ns;
  if (core.recycling.under_way)
    core.visits.interval_ns = core.recycling.under_way->pause_ns(options_.busy_interval_ns);
  core.visits.due_ns = now_ns + core.visits.interval_ns;
  return result;
}

Access Drain::sweep(uint64_t now_ns, bool all) {
  const uint64_t started = reader_.now_ns();
  last_chance_ = ending_ && all;
  skipped_words_ = false;
  ending_ = ending_ || all;
  read_clock(all ? 0 : kClockEveryNs);  // the last sweep needs the time of now
  Access result = Access::ok;
  bool ethernet_visited = false;
  for (CoreState& core : cores_) {
    if (!all && core.visits.due_ns > now_ns) continue;
    // Ethernet cores serve the links too: one at most, so that they never make a sweep of their own.
    const bool ethernet = core.core.kind != markers::CoreKind::tensix;
    if (ethernet && !all && std::exchange(ethernet_visited, true)) continue;
    result = look_after(core, now_ns);
    if (result == Access::gone || firmware_changed_) break;
  }
  if (result != Access::gone && !firmware_changed_) result = check_one_core_now_and_then();
  ++sweeps_;
  sweep_times_.add(reader_.now_ns() - started);
  store_counters();
  publisher_.end_sweep();
  return result;
}

uint64_t Drain::next_due_ns() const {
  uint64_t due = ~uint64_t{0};
  for (const CoreState& core : cores_) due = std::min(due, core.visits.due_ns);
  return due;
}

size_t Drain::lanes() const {
  size_t count = 0;
  for (const CoreState& core : cores_)
    count += static_cast<size_t>(
        std::count_if(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return l.delivered; }));
  return count;
}

void Drain::close_account(bool card_vanished, uint64_t ended_ns) {
  if (!card_vanished)
    for (CoreState& core : cores_) {
      core.l1_copy.kept_ns = 0;
      if (keep_l1(core, ~uint64_t{0}) != Access::ok || publish_l1_rest(core) != Access::ok ||
          account_unknown_mode(core) != Access::ok)
        break;
    }
  for (CoreState& core : cores_)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const LaneState& lane = core.lanes[r];
      if (!card_vanished && core.polls.last_ns < ended_ns)
        core.account.end_open(r, LossCause::unreadable);
      else if (card_vanished && (lane.delivered || core.seen.host_end[r] > 0))
        core.account.end_open(r, LossCause::card_gone);
      else if (core.seen.host_end[r] > lane.cursor)
        core.account.undelivered(r, LossCause::not_read, lane.digest.last_time, shm::kOpenEnd,
                                 core.seen.host_end[r] - lane.cursor);
    }
  if (options_.recycling) options_.recycling->account.missing_launches += missing_launches();
  losses_.report_open();
  report_losses();
  store_counters();
  publisher_.end_sweep();
}

void Drain::store_counters() {
  const card::Transactions t = transactions();
  segment_.set(Counter::sweeps, sweeps_);
  segment_.set(Counter::sweep_ns_max, sweep_times_.max());
  if (sweeps_ % 256 == 1) {  // percentiles walk the buckets: not on every sweep
    segment_.set(Counter::sweep_ns_p50, sweep_times_.percentile(50));
    segment_.set(Counter::sweep_ns_p99, sweep_times_.percentile(99));
    segment_.set(Counter::lanes, lanes());
  }
  segment_.set(Counter::round_trips, t.round_trips);
  segment_.set(Counter::window_moves, t.window_moves);
  segment_.set(Counter::card_bytes, t.bytes);
  segment_.set(Counter::programs, programs_);
  segment_.set(Counter::markers, markers_);
  segment_.set(Counter::frames, frames_);
  segment_.set(Counter::epochs, epochs_);
  segment_.set(Counter::retries, retries_);
  segment_.set(Counter::missed_poll_deadlines, missed_poll_deadlines_);
  segment_.set(Counter::recovered_words, recovered_words_);
  segment_.set(Counter::unparsable_words, unparsable_words_);
  segment_.set(Counter::dropped_on_card_launches, dropped_runs_);
  segment_.set(Counter::loss_intervals, losses_.intervals().size());
  segment_.set(Counter::host_reset_intervals, losses_.count(LossCause::host_reset));
  segment_.set(Counter::card_gone_intervals, losses_.count(LossCause::card_gone));
  segment_.set(Counter::unreadable_intervals, losses_.count(LossCause::unreadable));
  segment_.heartbeat(monotonic_now_ns());
}

}  // namespace ttc::collect

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
constexpr uint64_t kTellWaitingNs = 2'000'000'000;

// Ethernet tiles may count from another origin.
card::Coord clock_tile(const Attachment& attachment) {
  for (const AttachedCore& core : attachment.cores)
    if (core.kind == markers::CoreKind::tensix) return core.at;
  return {};
}

}  // namespace

Drain::Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
             shm::SegmentWriter& segment, const DrainOptions& options, Carried carried)
    : card_(card),
      attachment_(attachment),
      logs_(logs),
      publisher_(publisher),
      segment_(segment),
      options_(options),
      region_size_(attachment, options.bytes_per_risc, card.memory_numberings(),
                   RegionSize::sizes_asked_for(attachment.workload_pid)),
      losses_([this](const shm::LossRecord& r) { untold_losses_.push_back(r); }, std::move(carried.lost)),
      device_time_(card, clock_tile(attachment), attachment.begun_ns, attachment.begun_cycles,
                   attachment.clock),
      mode_settled_(attachment.mode_given || attachment.layout->format.trace_status == 0) {
  const device::Format& f = attachment.layout->format;
  // RUN_COUNTER is fetched first: indices read after it cannot lag behind it.
  const auto part = [](uint32_t first, uint32_t last) {
    const uint32_t begin = first & ~1u;
    return ControlPart{begin, ((last + 2) & ~1u) - begin};
  };
  const uint32_t last_index = f.host_end + device::kMaxRiscs - 1u;
  if (f.run_counter - last_index < 2 * card::kLineBytes / 4 / 2)
    poll_parts_ = {part(f.host_end, f.run_counter)};
  else
    poll_parts_ = {part(f.run_counter, f.run_counter), part(f.host_end, last_index)};
  dropped_part_ = part(f.dropped, f.dropped);
  stored_part_ = part(f.device_end, f.device_end + device::kMaxRiscs - 1u);
  if (f.risc_dram_address_count)
    host_read_part_ = part(f.risc_dram_address, f.risc_dram_address + f.risc_dram_address_count - 1u);
  const uint32_t last_address = f.risc_dram_address + std::max<uint32_t>(f.risc_dram_address_count, 1) - 1;
  identity_part_ = part(f.dram_address, std::max<uint32_t>(f.core_count_per_dram, last_address));
  firmware_checked_ns_ = attachment.begun_ns;
  for (const AttachedCore& core : attachment.cores) {
    CoreState state(core, losses_, carried.first_epoch);
    state.caught_up_ns = state.look_ns = state.proven_ns = attachment.begun_ns;
    state.runs_total = carried.programs;
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
  card::Transactions t = card_.transactions();
  t.round_trips += earlier_transactions_.round_trips;
  t.bytes += earlier_transactions_.bytes;
  t.window_moves += earlier_transactions_.window_moves;
  t.register_loads += earlier_transactions_.register_loads;
  t.transport_ns += earlier_transactions_.transport_ns;
  return t;
}

uint64_t Drain::log_address(const CoreState& core, uint32_t risc, uint32_t word) const {
  return markers::log_place(core.core.flat_id, risc, attachment_.core_count_per_dram, attachment_.dram_base,
                            region_size_.bytes())
             .address +
         uint64_t{word} * 4;
}

// A push may have been dropped since, even where no index moves any more (quick push on dispatch cores).
bool Drain::near_full(const Snapshot& snap) const {
  return std::any_of(snap.host_end.begin(), snap.host_end.end(),
                     [&](uint32_t end) { return end + device::kBufferWords + 4 > log_capacity(); });
}

// More runs were counted than frames of BRISC delivered, and none of them is in the log.
bool Drain::runs_missing(const CoreState& core, const Snapshot& snap) const {
  // Accumulating firmware counts pushes, of whichever RISC.
  return attachment_.mode == device::Mode::normal && core.lanes[0].cursor >= snap.host_end[0] &&
         snap.run_counter > core.runs_delivered;
}

// Runs the core counted but whose frames are not in the log, and RISCs that say they lost markers.
Access Drain::account_drops(CoreState& core, const Snapshot& snap, const LastTimes& before) {
  const bool missing = runs_missing(core, snap);
  core.unexplained_visits = missing ? core.unexplained_visits + 1 : 0;
  if (!near_full(snap) && !missing) return Access::ok;
  std::array<uint32_t, 68> words{};
  if (const Access a = read_part(core, dropped_part_, words.data()); a != Access::ok) return a;
  uint32_t mask = words[attachment_.layout->format.dropped];
  const bool stays_missing = core.unexplained_visits >= kUnexplainedVisits;
  if (mask == 0 && stays_missing && near_full(snap)) mask = 1;  // the word can lose bits (5.7.8)
  // Otherwise a reset between the index and the push of these runs, or between two looks, hides their frames.
  if (mask == 0 && core.unexplained_visits == kUnexplainedVisits) core.account.break_off_all();
  const uint32_t runs = missing ? snap.run_counter - core.runs_delivered : 0;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    if (!(mask >> r & 1)) continue;
    const LaneState& lane = core.lanes[r];
    if (lane.first_of_epoch && lane.cursor < snap.host_end[r]) continue;  // nothing is dropped before those
    // Nothing is dropped while a whole buffer fits (before G3 another lane's full log counts, too), and a
    // backlog is taken up to there first.
    const bool before_drops = attachment_.layout->format.guaranteed_when_full &&
                              snap.host_end[r] > roomy_until() && lane.cursor <= roomy_until();
    if (before_drops && lane.cursor + 2 * device::kBufferWords <= roomy_until()) continue;
    // The launch whose frame the log had room for only in part is counted as delivered.
    core.account.dropped_on_card(r, before_drops ? lane.digest.last_time : before[r], runs + 1);
    if (r == 0) dropped_runs_ = std::max<uint64_t>(dropped_runs_, runs);
  }
  return Access::ok;
}

Access Drain::visit(CoreState& core, uint64_t now_ns, bool& news) {
  if (core.recycling.under_way) return news = true, go_on_recycling(core);
  Look look;
  if (const Access a = look_at(core, look); a != Access::ok) return a;
  const Snapshot& snap = look.snapshot;
  const bool back = rewound(core, snap);
  const bool in_question = (back && core.rewound_ns == 0) || core.looked_late;
  if (in_question || (!core.firmware_proven && words_wait(core, snap))) {
    if (const Access a = check_firmware(core); a != Access::ok || firmware_changed_) return a;
  }
  if (back) note_rewind(core, false);
  const bool stored_moved = snap.stored != core.seen_stored;
  if (!back)
    if (const Access a = notice_l1_reset(core, snap); a != Access::ok) return a;
  if (core.rewound_ns != 0) {
    news = true;
    core.rewound_late = core.rewound_late || core.looked_late;  // another one may have followed it
    // What accumulating firmware keeps in L1 does not wait for us.
    const bool wait = attachment_.mode != device::Mode::accumulate;
    return wait && snap.read_time_ns < core.rewound_ns + timing::kResetOverNs ? Access::ok
                                                                              : begin_epoch(core);
  }
  if (provisional_moved(core, snap)) return reopen_recycle(core), Access::ok;
  news = has_news(core, snap);
  core.quiet_looks = news ? 0 : core.quiet_looks + 1;
  if (look.front == Front::empty && core.lanes[0].delivered && mode_of(core) == device::Mode::normal)
    caught_up(core, look.begun_ns);
  if (look.in_doubt && !words_wait(core, snap)) {  // a run can be counted after the indices were read
    if (const Access a = check_unseen_reset(core, look.front); a != Access::ok) return a;
    if (core.rewound_ns != 0) return Access::ok;
  }
  if (!news)
    if (const Access a = check_quiet(core, look); a != Access::ok) return a;
  if (const Access a = settle_mode(core, now_ns, news || stored_moved); a != Access::ok) return a;
  if (!news)
    if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  const bool unexplained = runs_missing(core, snap) && core.unexplained_visits < kUnexplainedVisits;
  if (!news && !unexplained && !(region_size_.known() && near_full(snap))) return Access::ok;
  note_indices(core, snap);
  if (!region_size_.known()) {
    if (const Access a = region_size_.learn(
            card_, logs_, core.core,
            {snap.host_end, core.landed_end, snap.run_counter, attachment_.mode, mode_settled_});
        a != Access::ok)
      return a;
    if (!region_size_.known()) return tell_waiting(), Access::ok;
  }
  if (!generation_settled_) {
    if (const Access a = settle_generation(core, snap); a != Access::ok) return a;
    if (!generation_settled_) return Access::ok;  // likewise
  }
  bool mode_decided = false;
  if (const Access a = settle_mode_by_log(core, snap, mode_decided); a != Access::ok || !mode_decided)
    return a;
  LastTimes before;
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) before[r] = core.lanes[r].digest.last_time;
  if (const Access a = deliver(core, snap, now_ns); a != Access::ok) return a;
  if (core.rewound_ns != 0) return Access::ok;
  if (const Access a = keep_l1(core, now_ns); a != Access::ok) return a;
  core.run_counter = snap.run_counter;
  if (!has_news(core, snap)) caught_up(core, look.begun_ns);
  if (const Access a = account_drops(core, snap, before); a != Access::ok) return a;
  return consider_recycling(core, snap);
}

// The payload waits. Usually for a run or two; where it does not end, the user has to know.
void Drain::tell_waiting() {
  if (waiting_since_ns_ == 0) waiting_since_ns_ = attachment_.clock();
  if (waiting_told_ || attachment_.clock() - waiting_since_ns_ < kTellWaitingNs) return;
  waiting_told_ = true;
  if (options_.tell)
    options_.tell(
        "markers wait in the logs: how many bytes each log has was not found out yet; a program that ends on "
        "a core whose log has room shows it, or --region-bytes gives it: 48 or 64 times the program support "
        "count");
}

// Only between visits: during one, a slot of the ring is claimed for words.
void Drain::tell_losses() {
  for (const shm::LossRecord& record : untold_losses_) publisher_.publish_loss(record);
  untold_losses_.clear();
}

Access Drain::look_after(CoreState& core, uint64_t now_ns) {
  bool news = false;
  Access result = visit(core, now_ns, news);
  if (result == Access::ok && !firmware_changed_) result = note_begun_buffers(core);
  tell_losses();
  if (result == Access::gone) return result;
  // Busy cores often, idle ones ever more rarely, down to the stated worst case.
  const bool fresh_epoch =
      core.lanes[0].delivered && core.seen_runs == 0 && attachment_.clock() - core.epoch_since_ns < kFreshNs;
  core.interval_ns =
      news || fresh_epoch
          ? options_.busy_interval_ns
          : std::min(options_.idle_interval_ns, std::max(options_.busy_interval_ns, 2 * core.interval_ns));
  if (core.core.kind != markers::CoreKind::tensix) core.interval_ns = options_.ethernet_interval_ns;
  if (core.recycling.under_way)
    core.interval_ns = core.recycling.under_way->pause_ns(options_.busy_interval_ns);
  core.due_ns = now_ns + core.interval_ns;
  return result;
}

Access Drain::sweep(uint64_t now_ns, bool all) {
  const uint64_t started = attachment_.clock();
  last_chance_ = ending_ && all;
  skipped_words_ = false;
  ending_ = ending_ || all;
  device_time_.sample(all ? 0 : DeviceTime::kEveryNs);  // a last look at everything knows what time it is
  Access result = Access::ok;
  bool ethernet_visited = false;
  for (CoreState& core : cores_) {
    if (!all && core.due_ns > now_ns) continue;
    // Ethernet cores serve the links too: one at most, so that they never make a sweep of their own.
    const bool ethernet = core.core.kind != markers::CoreKind::tensix;
    if (ethernet && !all && std::exchange(ethernet_visited, true)) continue;
    result = look_after(core, now_ns);
    if (result == Access::gone || firmware_changed_) break;
  }
  if (result != Access::gone && !firmware_changed_) result = check_one_core_now_and_then();
  ++sweeps_;
  sweep_times_.add(attachment_.clock() - started);
  store_counters();
  publisher_.end_sweep();
  return result;
}

uint64_t Drain::next_due_ns() const {
  uint64_t due = ~uint64_t{0};
  for (const CoreState& core : cores_) due = std::min(due, core.due_ns);
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
      core.l1_kept_ns = 0;
      if (keep_l1(core, ~uint64_t{0}) != Access::ok || publish_l1_rest(core) != Access::ok ||
          account_unknown_mode(core) != Access::ok)
        break;
    }
  for (CoreState& core : cores_)
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const LaneState& lane = core.lanes[r];
      if (!card_vanished && core.look_ns < ended_ns)
        core.account.end_open(r, LossCause::unreadable);
      else if (card_vanished && (lane.delivered || core.seen_end[r] > 0))
        core.account.end_open(r, LossCause::card_gone);
      else if (core.seen_end[r] > lane.cursor)
        core.account.hole(r, {LossCause::not_read, shm::LossPrecision::exact_words, lane.digest.last_time,
                              shm::kOpenEnd, core.seen_end[r] - lane.cursor});
    }
  if (options_.recycling) options_.recycling->account.missing_launches += missing_launches();
  losses_.tell_open();
  tell_losses();
  store_counters();
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

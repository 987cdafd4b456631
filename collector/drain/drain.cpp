#include "collector/drain/drain.hpp"

#include <algorithm>
#include <utility>

#include "collector/drain/core_machine.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using shm::Counter;
using shm::LossCause;

constexpr uint64_t kFreshNs = 1'000'000'000;  // an empty log is polled as often as a busy one for so long
constexpr uint64_t kNever = ~uint64_t{0};
constexpr uint64_t kWakeUpNs = 200'000;  // a sweep begins so long after it was due, on a quiet host

}  // namespace

CardFacts facts_of(const card::Card& card) {
  const card::Identity& identity = card.identity();
  return {identity.aiclk_mhz, identity.dram_views.size(), card.memory_numberings(),
          identity.arch->name == "blackhole"};
}

Drain::Drain(card::Card& card, const Attachment& attachment, LogReader& logs, Publisher& publisher,
             shm::SegmentWriter& segment, const DrainOptions& options, Carried carried)
    : Drain(std::make_unique<CardAccess>(card, logs, attachment.clock,
                                         options.recycling ? options.recycling->writer.get() : nullptr),
            facts_of(card), attachment, publisher, segment, options, std::move(carried)) {}

Drain::Drain(std::unique_ptr<CardPort> port, const CardFacts& facts, const Attachment& attachment,
             Publisher& publisher, shm::SegmentWriter& segment, const DrainOptions& options, Carried carried)
    : port_(std::move(port)),
      dev_(facts, attachment, options, RegionSize::sizes_asked_for(attachment.workload_pid)),
      reader_(*port_, dev_.attachment),
      publisher_(publisher),
      segment_(segment),
      losses_([this](const shm::LossRecord& r) { unreported_losses_.push_back(r); }, std::move(carried.lost)),
      budget_(options.lines_per_s),
      earlier_transactions_(carried.transactions) {
  reader_.use_log_bytes(dev_.region_size.bytes());
  dev_.counters = carried.counters;
  for (const AttachedCore& core : attachment.cores) {
    CoreState state(core, losses_, carried.first_epoch);
    state.polls.begin_with(attachment.begun_ns);
    state.runs.total = carried.counters.programs;
    if (carried.first_epoch) state.notes |= shm::kNewEpoch;
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r)
      state.lanes[r].lane = {&attachment.layout->format, r, core.flat_id, dev_.mode_of(core)};
    dev_.cores.push_back(std::move(state));
  }
  segment_.set(Counter::cores, dev_.cores.size());
}

Carried Drain::carry() const {
  Carried c{0, dev_.counters, losses_.intervals(), transactions()};
  ++c.counters.epochs;
  c.counters.lines_beyond_share = lines_beyond_share();
  for (const CoreState& core : dev_.cores) c.first_epoch = std::max(c.first_epoch, core.account.epoch() + 1);
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

// Must be called between visits: during one, a slot of the ring is claimed for words.
void Drain::report_losses() {
  for (const shm::LossRecord& record : unreported_losses_) publisher_.publish_loss(record);
  unreported_losses_.clear();
}

Access Drain::poll_and_reschedule(CoreState& core, uint64_t now_ns) {
  bool news = false;
  const Access result = CoreMachine(part(core)).visit(now_ns, news);
  report_losses();
  if (result == Access::gone) return result;
  // Busy cores often, idle ones ever more rarely, down to the stated worst case.
  const bool fresh_epoch = core.lanes[0].delivered && core.seen.run_counter == 0 &&
                           reader_.now_ns() - core.epoch.since.ns < kFreshNs;
  const DrainOptions& options = dev_.options;
  uint64_t interval_ns = news || fresh_epoch
                             ? options.busy_interval_ns
                             : std::min(options.idle_interval_ns,
                                        std::max(options.busy_interval_ns, 2 * core.visits.interval_ns()));
  if (core.tile.kind != markers::CoreKind::tensix) interval_ns = options.ethernet_interval_ns;
  if (core.recycling.under_way) interval_ns = core.recycling.under_way->pause_ns(options.busy_interval_ns);
  core.visits = {now_ns + interval_ns, now_ns};
  return result;
}

// The core that has waited longest comes first.
void Drain::put_due_in_order(uint64_t now_ns, bool all) {
  due_.clear();
  for (CoreState& core : dev_.cores)
    if (all || core.visits.due_ns <= now_ns) due_.push_back(&core);
  const auto earlier = [](const CoreState* a, const CoreState* b) {
    return a->visits.due_ns < b->visits.due_ns;
  };
  if (!std::is_sorted(due_.begin(), due_.end(), earlier)) std::stable_sort(due_.begin(), due_.end(), earlier);
}

// Its visit does not wait for the link's share any longer: else it may come after the poll deadline, as the visits of a whole sweep
// can be in front of it. An Ethernet core has no deadline. What recycling has begun has one of its own.
uint64_t Drain::must_ns(const CoreState& core) const {
  if (core.recycling.under_way) return 0;
  if (core.tile.kind != markers::CoreKind::tensix) return kNever;
  return core.visits.last_ns + timing::kPollDeadlineNs -
         std::min(timing::kPollDeadlineNs / 2, kWakeUpNs + longest_sweep_ns_);
}

Access Drain::sweep(uint64_t now_ns, bool all) {
  const uint64_t started = reader_.now_ns();
  dev_.last_chance = dev_.ending && all;
  dev_.skipped_words = dev_.took_a_part = false;
  dev_.ending = dev_.ending || all;
  // The last sweep needs the time of now.
  if (!dev_.cores.empty()) part(dev_.cores.front()).read_clock(all ? 0 : CorePart::kClockEveryNs);
  Access result = Access::ok;
  bool ethernet_visited = false;
  put_due_in_order(now_ns, all);
  for (CoreState* each : due_) {
    CoreState& core = *each;
    const uint64_t here_ns = budget_.limited() ? now_ns + reader_.now_ns() - started : now_ns;
    const bool has_lines = all || budget_.allows(here_ns);
    if (!has_lines && must_ns(core) > here_ns) continue;
    if (budget_.limited()) dev_.visit_lines = has_lines ? budget_.most_of_a_visit() : 0;
    // Ethernet cores serve the links too: one at most, so that they never make a sweep of their own.
    const bool ethernet = core.tile.kind != markers::CoreKind::tensix;
    if (ethernet && !all && std::exchange(ethernet_visited, true)) continue;
    const uint64_t before = budget_.limited() ? reader_.transactions().round_trips : 0;
    result = poll_and_reschedule(core, now_ns);
    if (budget_.limited()) {
      const uint64_t lines = reader_.transactions().round_trips - before;
      if (has_lines)
        budget_.pay(lines);
      else
        budget_.pay_poll(lines);
    }
    if (result == Access::gone || dev_.firmware_changed) break;
  }
  if (result != Access::gone && !dev_.firmware_changed) result = check_one_core_now_and_then();
  ++dev_.counters.sweeps;
  const uint64_t took_ns = reader_.now_ns() - started;
  sweep_times_.add(took_ns);
  longest_sweep_ns_ = std::max(took_ns, longest_sweep_ns_ - longest_sweep_ns_ / 8);
  store_counters();
  publisher_.end_sweep();
  return result;
}

// See workload_end.cpp.
Access Drain::check_one_core_now_and_then() {
  const uint64_t now = reader_.now_ns();
  if (now - dev_.firmware_checked_ns < CoreMachine::kCheckFirmwareEveryNs) return Access::ok;
  dev_.firmware_checked_ns = now;
  for (size_t i = 0; i < dev_.cores.size(); ++i) {
    CoreState& core = dev_.cores[next_to_check_++ % dev_.cores.size()];
    if (core.tile.kind == markers::CoreKind::tensix && !core.recycling.under_way)
      return CoreMachine(part(core)).check_firmware();
  }
  return Access::ok;
}

uint64_t Drain::next_due_ns() const {
  uint64_t due = kNever;
  const uint64_t again_ns = budget_.allows_again_ns();
  for (const CoreState& core : dev_.cores)
    due = std::min(due, std::max(core.visits.due_ns, std::min(again_ns, must_ns(core))));
  return due;
}

size_t Drain::lanes() const {
  size_t count = 0;
  for (const CoreState& core : dev_.cores)
    count += static_cast<size_t>(
        std::count_if(core.lanes.begin(), core.lanes.end(), [](const LaneState& l) { return l.delivered; }));
  return count;
}

void Drain::close_account(bool card_vanished, uint64_t ended_ns) {
  for (CoreState& core : dev_.cores)
    if (!card_vanished) card_vanished = CoreMachine(part(core)).take_rest() == Access::gone;
  const uint64_t now_ns = reader_.now_ns();
  for (CoreState& core : dev_.cores) CoreMachine(part(core)).end(card_vanished, ended_ns, now_ns);
  if (dev_.options.recycling) dev_.options.recycling->account.missing_launches += missing_launches();
  end_account();
}

void Drain::close_workload() {
  const uint64_t now_ns = reader_.now_ns();
  for (CoreState& core : dev_.cores) {
    CoreMachine(part(core)).end_with_workload(now_ns);
    core.visits.due_ns = kNever;
  }
  end_account();
}

void Drain::end_account() {
  losses_.report_open();
  report_losses();
  store_counters();
  publisher_.end_sweep();
}

std::map<std::string, uint64_t> Drain::not_recycled() const {
  std::map<std::string, uint64_t> cores;
  for (const auto& [why, which] : dev_.refusals) cores[why] = which.size();
  if (dev_.options.recycling)
    for (const CoreState& core : dev_.cores)
      if (core.recycling.place_lost)
        ++cores["frames were lost, and the place where its logs go on is not certain yet"];
  return cores;
}

// What counts of launches and frames show at the end. Only cores that are recycled, or would be: elsewhere frames and launches need not
// go together.
uint64_t Drain::missing_launches() const {
  uint64_t runs = 0;
  if (!kind_of(dev_.attachment.mode).counts_launches) return runs;
  for (const CoreState& core : dev_.cores)
    if (core.tile.kind == markers::CoreKind::tensix)
      runs += core.recycling.referee.earlier + core.recycling.referee.missing();
  return runs;
}

// The end of collecting: what was cleared is still resolved, as long as its patience lasts.
bool Drain::recycling_under_way() const {
  return std::any_of(dev_.cores.begin(), dev_.cores.end(),
                     [](const CoreState& c) { return c.recycling.under_way != nullptr; });
}

void Drain::store_counters() {
  const card::Transactions t = transactions();
  const DrainCounters& c = dev_.counters;
  segment_.set(Counter::sweeps, c.sweeps);
  segment_.set(Counter::sweep_ns_max, sweep_times_.max());
  if (c.sweeps % 256 == 1) {  // percentiles walk the buckets: not on every sweep
    segment_.set(Counter::sweep_ns_p50, sweep_times_.percentile(50));
    segment_.set(Counter::sweep_ns_p99, sweep_times_.percentile(99));
    segment_.set(Counter::lanes, lanes());
  }
  segment_.set(Counter::round_trips, t.round_trips);
  segment_.set(Counter::window_moves, t.window_moves);
  segment_.set(Counter::card_bytes, t.bytes);
  segment_.set(Counter::programs, c.programs);
  segment_.set(Counter::markers, c.markers);
  segment_.set(Counter::frames, c.frames);
  segment_.set(Counter::epochs, c.epochs);
  segment_.set(Counter::retries, c.retries);
  segment_.set(Counter::missed_poll_deadlines, c.missed_poll_deadlines);
  segment_.set(Counter::lines_beyond_share, lines_beyond_share());
  segment_.set(Counter::recovered_words, c.recovered_words);
  segment_.set(Counter::unparsable_words, c.unparsable_words);
  segment_.set(Counter::dropped_on_card_launches, c.dropped_runs);
  segment_.set(Counter::loss_intervals, losses_.intervals().size());
  segment_.set(Counter::host_reset_intervals, losses_.count(LossCause::host_reset));
  segment_.set(Counter::card_gone_intervals, losses_.count(LossCause::card_gone));
  segment_.set(Counter::unreadable_intervals, losses_.count(LossCause::unreadable));
  segment_.heartbeat(monotonic_now_ns());
}

}  // namespace ttc::collect

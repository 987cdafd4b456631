#include "collector/ttcollect/device_run.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "collector/attach/absence.hpp"
#include "collector/attach/metal_sync.hpp"
#include "collector/host/environment_facts.hpp"
#include "collector/host/host_place.hpp"
#include "collector/inspect/probe.hpp"
#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "collector/ttcollect/program.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Health;
using shm::Counter;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kFirstStep = 20 * kMillisecond;     // of waiting
constexpr uint64_t kLongestLook = 320 * kMillisecond;  // one poll of all tiles is thousands of round trips
constexpr uint64_t kNamesEvery = 100 * kMillisecond;
constexpr uint64_t kHealthEvery = kMillisecond;

constexpr const char* kCardGone = "the card went away";
constexpr const char* kCardLeaving = "the card announced that it goes away";

uint64_t random_session() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

DeviceRun::DeviceRun(const RunOptions& options, ChosenDevice device, const Halt& halt)
    : options_(options), device_(std::move(device)), halt_(halt) {}

void DeviceRun::attach(uint64_t deadline_ns) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // of this thread
  if (options_.real_time) memory_lock_ = lock_memory();
  std::string unused;                                                  // a plain loop is never refused
  const auto waiting = make_event_loop(halt_.fd(), -1, true, unused);  // steps of 20 ms need no ring
  std::string reported;
  for (uint64_t step = kFirstStep;;) {
    std::exception_ptr refusal;
    std::string why;
    try {
      return attach_once();
    } catch (const card::OpenError& e) {
      refusal = std::current_exception(), why = e.what();
      step = kFirstStep;
    } catch (const AttachError& e) {
      refusal = std::current_exception(), why = e.what();
      step = std::min(2 * step, kLongestLook);
    }
    if (monotonic_now_ns() >= deadline_ns) std::rethrow_exception(refusal);
    if (reported != why) note("waiting: " + why);
    reported = why;
    if (waiting->wait(step).signal) std::rethrow_exception(refusal);
  }
}

// A card that stays is opened once, however long its profiler is waited for.
void DeviceRun::attach_once() {
  if (card_ && card_->health() != Health::ok) card_.reset();  // its windows must be free before a reset
  if (!card_) {
    card_ = std::make_unique<card::GuardedCard>(card::open_card(device_.spec, options_.open));
    // Probe before attaching: between attach and first sweep it would exceed the poll deadline.
    if (link_.rows.empty()) learn_the_link();
  }
  const markers::Layout* only = options_.layout.empty() ? nullptr : markers::layout_by_name(options_.layout);
  attachment_ = collect::attach(*card_, {only, options_.mode, true});
}

void DeviceRun::start() {
  choose_place();
  if (!options_.audit.empty()) {
    audit_.reset(std::fopen(options_.audit.c_str(), "a"));
    if (!audit_) throw CaptureError(options_.audit + " cannot be written: " + std::strerror(errno));
  }
  const PreferNode near(memory_node_);  // the segment reserves its pages when it is made
  if (!near.effective()) memory_node_ = -1;
  shm::SegmentOptions options;
  options.ring_bytes = options_.ring_bytes;
  options.group = options_.group;
  session_ = random_session();
  segment_ =
      std::make_unique<shm::SegmentWriter>(card_->identity().live_name, device_.spec, session_, options);
  segment_->add_standing(shm::ChunkKind::session, session_text(0));
  result_.identity = card_->identity();  // should collecting break off before there is an account
  result_.live_name = result_.identity.live_name;
  result_.chip = device_.chip;
}

void DeviceRun::record_to(CaptureWriter& capture) {
  track_ = &capture.add(card_->identity().live_name);
  capture_ = &capture;
}

void DeviceRun::withdraw() {
  if (!segment_) return;
  segment_.reset();  // lets go of it, so that it can be removed
  shm::remove_segment(card_->identity().live_name);
}

// The session's text for the workload whose first epoch this is; a later workload gets another chunk of the same
// session.
std::string DeviceRun::session_text(uint32_t first_epoch) const {
  const card::Identity& id = card_->identity();
  nlohmann::json cores = nlohmann::json::array();
  for (const AttachedCore& c : attachment_.cores)
    cores.push_back({c.at.x, c.at.y, c.flat_id, static_cast<uint8_t>(c.kind)});
  return program::json_text(nlohmann::json{
      {"device", device_.spec},
      {"chip", device_.chip},
      {"arch", id.arch->name},
      {"board", id.board},
      {"aiclk_mhz", id.aiclk_mhz},
      {"max_compute_cores", id.max_compute_cores},
      {"layout", attachment_.layout->name},
      {"mode", std::string(markers::to_string(attachment_.mode))},
      {"clock_model", options_.sync},
      {"workload", workloads_},
      {"first_epoch", first_epoch},
      {"cores", std::move(cores)},
      {"link", to_json(link_)},
      {"environment", environment_facts(attachment_.workload_pid, place_)}});  // a command may be any bytes
}

void DeviceRun::collect() {
  settle_thread();
  segment_->set(Counter::link_bytes_per_s, static_cast<uint64_t>(link_bytes_per_s_));
  before_collecting_ = card_->transactions();
  publisher_ = std::make_unique<Publisher>(*segment_, device_.chip, attachment_.layout->format.generation);
  // A zone's string is in the log before its first marker is on the card, so polling names between reading words
  // and publishing them gives readers the name first. Costs two stat(2) if neither log grew.
  options_.drain.before_publish = [this] { poll_names(); };
  collecting_since_ = monotonic_now_ns();
  make_drain({});
  End end = collect_stretch();
  Carried carried;
  while (end == End::reloaded || (end != End::halted && options_.reattach)) {
    if (drain_) carried = drain_->carry();
    if (end == End::reloaded) {
      let_workload_go();
      note("the workload's firmware is gone; waiting for the next workload that is profiled");
      end = await_workload();
      if (end != End::reloaded) continue;
    } else {
      let_card_go();
      note(std::string(end == End::leaving ? kCardLeaving : kCardGone) + "; waiting until it is back");
      if (!await_return()) break;
      ++returns_;
    }
    begin_workload(carried);
    end = collect_stretch();
  }
  if (clock_ && !drain_) clock_->close(end != End::gone, end == End::halted);  // between two workloads
  const std::string ended = end == End::halted ? halt_.why() : end == End::leaving ? kCardLeaving : kCardGone;
  publisher_->publish_end(ended);
  segment_->end();
  result_.ended = ended;
  result_.card_vanished = end == End::gone;
  card_left_ = end != End::halted;
  real_time_.reset();
  result_.chunks = segment_->get(Counter::chunks);
  result_.bytes = segment_->get(Counter::chunk_bytes);
  result_.duration_s = static_cast<double>(monotonic_now_ns() - collecting_since_) / 1e9;
  // Other devices may go on for long; this card is let go now.
  let_card_go();
}

// Layout, mode and cores may have changed. The session continues, and so does the numbering of epochs.
void DeviceRun::begin_workload(Carried carried) {
  ++workloads_;
  publisher_->set_generation(attachment_.layout->format.generation);
  if (!segment_->add_standing(shm::ChunkKind::session, session_text(carried.first_epoch)))
    note("the segment's room for descriptions is used up; this workload is shown as the one before");
  make_drain(std::move(carried));
}

void DeviceRun::break_off(const std::string& why) {
  result_.failure = why;
  result_.ended = "broken off: " + why;
  result_.duration_s = static_cast<double>(monotonic_now_ns() - collecting_since_) / 1e9;
  drain_.reset();
  clock_.reset();
  sampler_.reset();
  recycling_.reset();
  loop_.reset();
  card_.reset();
  real_time_.reset();
}

// Makes the drain of the card that is attached to now.
void DeviceRun::make_drain(Carried carried) {
  std::string fallback;
  loop_ = make_event_loop(halt_.fd(), card_->hangup_fd(), options_.plain, fallback);
  if (!fallback.empty()) detail(fallback + "; using poll and plain reads");
  const card::Identity& id = card_->identity();
  for (const std::string& n : id.remarks) detail(n);
  for (const std::string& n : attachment_.remarks) note(n);
  logs_ = options_.descriptor_reads ? descriptor_log_reader(*card_, *loop_) : window_log_reader(*card_);
  start_sampler();
  options_.drain.report = [this](const std::string& text) { note(text); };
  start_recycling();
  limit_link_share();
  drain_ = std::make_unique<Drain>(*card_, attachment_, *logs_, *publisher_, *segment_, options_.drain,
                                   std::move(carried));
  names_ =
      std::make_unique<ZoneLogs>(options_.metal_home.empty() ? zone_log_directory_of(attachment_.workload_pid)
                                                             : zone_log_directory_in(options_.metal_home));
  if (names_->directory().empty()) note(workload_unseen(attachment_.workload_pid));
  detail("chip " + std::to_string(device_.chip) + ", layout " + std::string(attachment_.layout->name) + ", " +
         std::string(markers::to_string(attachment_.mode)) + " mode");
  note(id.board + " " + std::string(id.arch->name) + ", " + std::to_string(attachment_.cores.size()) +
       " cores; readers attach to live:" + id.live_name);
}

void DeviceRun::audit(const std::string& line) const {
  std::fprintf(audit_.get(), "%s %s\n", device_.spec.c_str(), line.c_str());
  std::fflush(audit_.get());  // a killed collector leaves every line
}

// The one mode that writes to the card. Prints so, and the effect on the workload, before it starts.
void DeviceRun::start_recycling() {
  options_.drain.recycling = nullptr;
  if (!options_.recycle) return;
  result_.recycle_asked = true;
  std::string& why = result_.recycle_refused;
  why = Recycling::refusal(attachment_);
  Recycling::Options recycle;
  recycle.at = options_.recycle_at;
  if (audit_) recycle.audit = [this](const std::string& line) { audit(line); };
  try {
    if (why.empty())
      recycling_ = std::make_unique<Recycling>(
          card::open_index_writer(device_.spec, Recycling::clearable(*card_, attachment_)), recycle);
  } catch (const card::OpenError& e) {
    why = e.what();
  }
  if (!why.empty()) return note("not recycled, only observed: " + why);
  recycling_->account = recycle_account_;
  options_.drain.recycling = recycling_.get();
  char text[640];
  std::snprintf(
      text, sizeof text,
      "--recycle WRITES TO THE CARD: it sets log indices in the profiler's control vectors to 0 when a log "
      "is %.0f %% full and was read\nThe workload's own profiler report will hold the programs since each "
      "core's last recycle only, and may mix older with newer programs when it is made during a recycle. "
      "The capture holds all. Kernels, results and zone names are not changed",
      100 * options_.recycle_at);
  note(text);
}

DeviceRun::End DeviceRun::collect_stretch() {
  End end = drain_until_halted();
  if (end == End::reloaded) {
    count_suspicions();
    poll_names();
    drain_->close_workload();
    publisher_->end_sweep();
    take_account();
    return end;
  }
  const uint64_t ended_ns = raw_now_ns();
  if (end != End::gone) end = take_what_is_visible(end);
  count_suspicions();
  poll_names();
  // If collecting continues after a reset, what was recorded until the reset is missing in the middle.
  drain_->close_account(end == End::gone || (end == End::leaving && options_.reattach), ended_ns);
  const bool answers = end != End::gone && card_->health() != Health::gone;
  if (clock_) clock_->close(answers, end == End::halted && card_->health() == Health::ok);
  publisher_->end_sweep();
  take_account();
  return end;
}

card::GuardedCard::Account DeviceRun::suspicions() const {
  card::GuardedCard::Account a = card_->account();
  a.slow_reads += earlier_suspicions_.slow_reads;
  a.delayed_reads += earlier_suspicions_.delayed_reads;
  a.delayed_tiles = std::max(a.delayed_tiles, earlier_suspicions_.delayed_tiles);
  a.all_ones_reads += earlier_suspicions_.all_ones_reads;
  a.suspicions += earlier_suspicions_.suspicions;
  a.suspect_tiles += earlier_suspicions_.suspect_tiles;
  return a;
}

void DeviceRun::start_sampler() {
  if (!options_.sync) return;
  std::vector<card::Coord> tiles;
  for (const AttachedCore& c : attachment_.cores) tiles.push_back(c.at);
  // Another workload on the same tiles of a card that stayed: its clocks are followed already.
  if (sampler_ && tiles == sampled_tiles_) return;
  clock_.reset();
  if (sampler_) options_.sampler.first_era = sampler_->next_era();
  sampled_tiles_ = tiles;
  // A Tensix tile is the reference: reads of Ethernet tiles are kept rare.
  std::stable_partition(tiles.begin(), tiles.end(), [this](card::Coord at) {
    return card_->identity().arch->kind_at(at) == card::TileKind::tensix;
  });
  sampler_ = std::make_unique<ClockSampler>(*card_, std::move(tiles), options_.sampler);
  if (options_.sampler.reference_timer && !sampler_->has_reference_timer())
    say(Exit::kOk, device_.spec + ": no reference timer can be read; the clock is modelled without it");
  clock_ = std::make_unique<ClockPublisher>(
      *card_, *sampler_, *publisher_, *segment_,
      [this](uint64_t after_ns, uint64_t bound_ns) { count_visible(after_ns, bound_ns); });
  options_.drain.seen = [this](card::Coord tile, uint64_t time, uint64_t raw_ns) {
    sampler_->seen(tile, time, raw_ns);
    clock_->published(tile, time, raw_ns);
  };
}

void DeviceRun::count_visible(uint64_t after_ns, uint64_t bound_ns) {
  visible_after_.add(after_ns);
  size_t bucket = 0;
  while (bucket + 1 < shm::kVisibilityBuckets && after_ns >= shm::visibility_below_ns(bucket)) ++bucket;
  segment_->add(shm::visibility_bucket(bucket), 1);
  if (bound_ns > segment_->get(Counter::visibility_bound_ns))
    segment_->set(Counter::visibility_bound_ns, bound_ns);
}

void DeviceRun::count_suspicions() {
  const card::GuardedCard::Account a = suspicions();
  segment_->set(Counter::suspect_tiles, a.suspect_tiles);
  segment_->set(Counter::suspicions, a.suspicions);
  segment_->set(Counter::slow_reads, a.slow_reads);
  segment_->set(Counter::all_ones_reads, a.all_ones_reads);
}

DeviceRun::End DeviceRun::drain_until_halted() {
  uint64_t next_names = 0, next_health = 0;
  for (;;) {
    const uint64_t now = monotonic_now_ns();
    if (now >= next_names) {
      poll_names();
      next_names = now + kNamesEvery;
    }
    if (drain_->sweep(now) == Access::gone) return End::gone;
    if (drain_->firmware_changed()) return End::reloaded;
    if (clock_ && clock_->poll(now) == Access::gone) return End::gone;
    if (track_) {
      segment_->set(Counter::disk_bytes, track_->bytes());
      segment_->set(Counter::disk_lapped_bytes, track_->lapped_bytes() + capture_->dropped_bytes());
    }
    if (now >= next_health) {
      next_health = now + kHealthEvery;
      count_suspicions();
      segment_->set(Counter::log_words, drain_->region_size().bytes() / 4);
      if (recycling_) segment_->set(Counter::recycles, recycling_->account.recycles);
      const Health health = card_->health();
      if (health == Health::gone) return End::gone;
      if (health == Health::leaving) return End::leaving;
    }
    uint64_t due = std::min(drain_->next_due_ns(), next_names);
    if (clock_) due = std::min(due, clock_->next_due_ns());
    const uint64_t after = monotonic_now_ns();
    const uint64_t rest = real_time_ ? real_time_->rest_ns(after) : 0;
    const Events events = loop_->wait(std::max(rest, due > after ? due - after : 0));
    if (events.signal) return End::halted;
    if (events.hangup && card_->health() == Health::gone) return End::gone;
  }
}

void DeviceRun::note(const std::string& text) const {
  if (options_.quiet) return;
  const size_t advice = text.find('\n');
  say(Exit::kOk, device_.spec + ": " + text.substr(0, advice));
  if (advice != std::string::npos)
    std::fprintf(stderr, "  %s\n", program::printable(text.substr(advice + 1)).c_str());
}
void DeviceRun::detail(const std::string& text) const {
  if (options_.verbose) note(text);
}

// New zone strings go out together, one chunk for all that appeared at once.
void DeviceRun::poll_names() {
  std::string remarks;
  names_->poll([&](std::string_view text) {
    remarks.append(text);
    remarks += '\n';
  });
  if (remarks.empty()) return;
  if (!segment_->add_standing(shm::ChunkKind::names, remarks) && !names_full_) {
    names_full_ = true;
    note("the segment's room for zone names is used up; later zones are shown by number");
  }
}

void DeviceRun::let_go() {
  if (!segment_) return;
  last_figures_ = figures();
  publisher_.reset();
  segment_.reset();
}

LiveFigures DeviceRun::figures() const {
  if (!segment_) return last_figures_;
  return {segment_->get(Counter::cores),           segment_->get(Counter::programs),
          segment_->get(Counter::markers),         segment_->get(Counter::loss_intervals),
          segment_->get(Counter::sweep_ns_p50),    segment_->get(Counter::round_trips),
          segment_->get(Counter::card_bytes),      segment_->get(Counter::window_moves),
          segment_->get(Counter::link_bytes_per_s)};
}

// Called after every stretch, as the card may not come back; the figures are those of all stretches.
void DeviceRun::take_account() {
  DeviceResult& r = result_;
  r.identity = card_->identity();
  r.chip = device_.chip;
  r.layout = drain_->layout().name;
  r.mode = drain_->mode();
  r.bytes_per_risc = drain_->region_size().bytes();
  r.cores = drain_->cores();
  r.lanes = drain_->lanes();
  r.programs = drain_->programs();
  r.markers = drain_->markers();
  r.frames = drain_->frames();
  r.epochs = drain_->epochs();
  r.retries = drain_->retries();
  r.missed_poll_deadlines = drain_->missed_poll_deadlines();
  r.sweeps = drain_->sweeps();
  r.lines_beyond_share = drain_->lines_beyond_share();
  r.recovered_words = segment_->get(Counter::recovered_words);
  r.transactions = drain_->transactions();
  r.before_collecting = before_collecting_;
  r.link = link_;
  r.link_bytes_per_s = link_bytes_per_s_;
  r.link_nominal = link_nominal_;
  r.cpus = cpus_.cpus;
  r.cpus_why = cpus_.why;
  r.memory_node = memory_node_;
  if (real_time_) r.real_time = {real_time_->grant(), real_time_->account()};
  r.suspicions = suspicions();
  r.sweep_p50 = drain_->sweep_times().percentile(50);
  r.sweep_p99 = drain_->sweep_times().percentile(99);
  r.sweep_max = drain_->sweep_times().max();
  r.visible = {visible_after_.percentile(50),
               visible_after_.percentile(90),
               visible_after_.percentile(99),
               visible_after_.max(),
               segment_->get(Counter::visibility_bound_ns),
               segment_->get(Counter::visibility_without_clock)};
  for (size_t i = 0; i < shm::kVisibilityBuckets; ++i)
    r.visible.chunks[i] = segment_->get(shm::visibility_bucket(i));
  r.lost = drain_->losses().intervals();
  if (recycling_) r.recycle = recycling_->account;
  r.not_recycled = drain_->not_recycled();
  r.highest_fill = std::max(r.highest_fill, drain_->highest_fill());
  r.names += names_->zone_strings();
  r.returns = returns_;
  r.workloads = workloads_;
  r.loop = loop_->name();
  r.synced = sampler_ != nullptr;
  if (sampler_) {
    r.clock = sampler_->figures();
    r.clock_bound = clock_->bound();
    r.metal_sync_hz = metal_sync_hz(names_->directory(), device_.chip);
  }
  r.live_name = r.identity.live_name;
}

DeviceResult DeviceRun::result() const {
  DeviceResult r = result_;
  if (!track_) return r;
  r.output_backend = capture_->backend();
  r.output_bytes = track_->bytes();
  r.output_lost = capture_->lost(session_);
  r.output_lapped_bytes = track_->lapped_bytes();
  r.output_error = track_->error().empty() ? capture_->error() : track_->error();
  return r;
}

}  // namespace ttc::collect

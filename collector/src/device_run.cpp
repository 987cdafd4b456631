#include "device_run.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "collector/host_time.hpp"
#include "collector/metal_sync.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Health;
using shm::Counter;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kNamesEvery = 100 * kMillisecond;
constexpr uint64_t kHealthEvery = kMillisecond;
constexpr int kLastSweeps = 4;  // after the end was announced: settling takes two looks

constexpr const char* kCardGone = "the card went away";

// Waits in steps, as waiting for another process needs, until `make` succeeds, the time is over, or the run
// is halted.
template <class Error, class Make>
auto wait_for(uint64_t deadline, EventLoop& loop, Make make) {
  for (;;) {
    try {
      return make();
    } catch (const Error&) {
      if (monotonic_now_ns() >= deadline) throw;
      if (loop.wait(20 * kMillisecond).signal) throw;
    }
  }
}

uint64_t random_session() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

DeviceRun::DeviceRun(const RunOptions& options, ChosenDevice device, const Halt& halt)
    : options_(options), device_(std::move(device)), halt_(halt) {}

void DeviceRun::attach(uint64_t deadline_ns) {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // of this thread
  std::string unused;                // nothing is tried that could be refused
  const auto waiting = make_event_loop(halt_.fd(), -1, true, unused);  // steps of 20 ms need no ring
  card_ = std::make_unique<card::GuardedCard>(
      wait_for<card::OpenError>(deadline_ns, *waiting, [&] { return card::open_card(device_.spec); }));
  const markers::Layout* only = options_.layout.empty() ? nullptr : markers::layout_by_name(options_.layout);
  attachment_ = wait_for<AttachError>(deadline_ns, *waiting, [&] {
    return collect::attach(*card_, {only, {}, true});
  });
}

void DeviceRun::start() {
  shm::SegmentOptions options;
  options.ring_bytes = options_.ring_bytes;
  options.group = options_.group;
  segment_ = std::make_unique<shm::SegmentWriter>(card_->identity().live_name, device_.spec, random_session(),
                                                  options);
  segment_->add_standing(shm::ChunkKind::session, session_text());
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

std::string DeviceRun::session_text() const {
  const card::Identity& id = card_->identity();
  nlohmann::json cores = nlohmann::json::array();
  for (const AttachedCore& c : attachment_.cores) cores.push_back({c.at.x, c.at.y, c.flat_id});
  return nlohmann::json{{"device", device_.spec},
                        {"chip", device_.chip},
                        {"arch", id.arch->name},
                        {"board", id.board},
                        {"aiclk_mhz", id.aiclk_mhz},
                        {"max_compute_cores", id.max_compute_cores},
                        {"layout", attachment_.layout->name},
                        {"cores", std::move(cores)}}
      .dump();
}

void DeviceRun::collect() {
  std::string fallback;
  loop_ = make_event_loop(halt_.fd(), card_->hangup_fd(), options_.plain, fallback);
  if (!fallback.empty()) note(fallback + "; using poll and plain reads");
  for (const std::string& n : attachment_.notes) note(n);
  const card::Identity& id = card_->identity();
  publisher_ = std::make_unique<Publisher>(*segment_, device_.chip, attachment_.layout->format.generation);
  logs_ = options_.descriptor_reads ? descriptor_log_reader(*card_, *loop_) : window_log_reader(*card_);
  // A zone's string is in the log before its first marker is on the card, so looking between reading words
  // and publishing them means that readers always have the name first. Two stat(2) where nothing grew.
  options_.drain.before_publish = [this] { poll_names(); };
  start_sampler();
  drain_ = std::make_unique<Drain>(*card_, attachment_, *logs_, *publisher_, *segment_, options_.drain);
  names_ =
      std::make_unique<ZoneLogs>(options_.metal_home.empty() ? zone_log_directory_of(id.workload_pid)
                                                             : zone_log_directory_in(options_.metal_home));
  note(id.board + " " + std::string(id.arch->name) + ", chip " + std::to_string(device_.chip) + ", layout " +
       std::string(attachment_.layout->name) + ", " + std::to_string(attachment_.cores.size()) +
       " cores; readers attach to live:" + id.live_name);

  collecting_since_ = monotonic_now_ns();
  std::string ended;
  bool vanished = false;
  drain_until_halted(ended, vanished);
  // What became visible until now is still taken, also what settles only on a second look.
  const uint64_t ended_ns = raw_now_ns();
  for (int i = 0; i < kLastSweeps && !vanished; ++i) {
    card_->try_again();  // also tiles that are left alone, these few times
    if (drain_->sweep(monotonic_now_ns(), true) == Access::gone) vanished = true, ended = kCardGone;
    loop_->wait(options_.drain.busy_interval_ns);
  }
  count_suspicions();
  poll_names();
  drain_->close_account(vanished, ended_ns);
  if (clock_) clock_->close(!vanished && card_->health() == Health::ok);
  publisher_->publish_end(ended);
  segment_->end();
  take_account(ended, vanished);
  // Other devices may go on for long; this card is let go now.
  drain_.reset();
  clock_.reset();
  sampler_.reset();
  logs_.reset();
  loop_.reset();
  card_.reset();
}

void DeviceRun::start_sampler() {
  if (!options_.sync) return;
  std::vector<card::Coord> tiles;
  for (const AttachedCore& c : attachment_.cores) tiles.push_back(c.at);
  // A Tensix tile is the reference: reads of Ethernet tiles are kept rare.
  std::stable_partition(tiles.begin(), tiles.end(), [this](card::Coord at) {
    return card_->identity().arch->kind_at(at) == card::TileKind::tensix;
  });
  sampler_ = std::make_unique<ClockSampler>(*card_, std::move(tiles), options_.sampler);
  clock_ = std::make_unique<ClockPublisher>(*card_, *sampler_, *publisher_, *segment_);
  options_.drain.seen = [this](card::Coord tile, uint64_t time, uint64_t raw_ns) {
    sampler_->seen(tile, time, raw_ns);
  };
}

void DeviceRun::count_suspicions() {
  const card::GuardedCard::Account& a = card_->account();
  segment_->set(Counter::suspect_tiles, a.suspect_tiles);
  segment_->set(Counter::suspicions, a.suspicions);
  segment_->set(Counter::slow_reads, a.slow_reads);
  segment_->set(Counter::all_ones_reads, a.all_ones_reads);
}

void DeviceRun::drain_until_halted(std::string& ended, bool& vanished) {
  uint64_t next_names = 0, next_health = 0;
  while (ended.empty()) {
    const uint64_t now = monotonic_now_ns();
    if (now >= next_names) {
      poll_names();
      next_names = now + kNamesEvery;
    }
    if (drain_->sweep(now) == Access::gone) {
      vanished = true;
      ended = kCardGone;
      return;
    }
    if (clock_ && clock_->poll(now) == Access::gone) {
      vanished = true;
      ended = kCardGone;
      return;
    }
    if (track_) {
      segment_->set(Counter::disk_bytes, track_->bytes());
      segment_->set(Counter::disk_lapped_bytes, track_->lapped_bytes());
    }
    if (now >= next_health) {
      next_health = now + kHealthEvery;
      count_suspicions();
      if (card_->health() == Health::leaving) ended = "the card announced that it goes away";
    }
    uint64_t due = std::min(drain_->next_due_ns(), next_names);
    if (clock_) due = std::min(due, clock_->next_due_ns());
    const uint64_t after = monotonic_now_ns();
    const Events events = loop_->wait(due > after ? due - after : 0);
    if (events.signal) ended = halt_.why();
    if (events.hangup && card_->health() == Health::gone) {
      vanished = true;
      ended = kCardGone;
    }
  }
}

void DeviceRun::note(const std::string& text) const {
  if (!options_.quiet) std::fprintf(stderr, "ttcollect: %s: %s\n", device_.spec.c_str(), text.c_str());
}

// New zone strings go out together, one chunk for all that appeared at once.
void DeviceRun::poll_names() {
  std::string notes;
  names_->poll([&](std::string_view text) {
    notes.append(text);
    notes += '\n';
  });
  if (notes.empty()) return;
  if (!segment_->add_standing(shm::ChunkKind::names, notes) && !names_full_) {
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
  return {segment_->get(Counter::cores),        segment_->get(Counter::programs),
          segment_->get(Counter::markers),      segment_->get(Counter::lost_intervals),
          segment_->get(Counter::sweep_ns_p50), segment_->get(Counter::round_trips)};
}

void DeviceRun::take_account(const std::string& ended, bool vanished) {
  DeviceResult& r = result_;
  r.identity = card_->identity();
  r.chip = device_.chip;
  r.layout = drain_->layout().name;
  r.bytes_per_risc = drain_->region_size().bytes();
  r.cores = drain_->cores();
  r.lanes = drain_->lanes();
  r.programs = drain_->programs();
  r.markers = drain_->markers();
  r.frames = drain_->frames();
  r.chunks = segment_->get(Counter::chunks);
  r.bytes = segment_->get(Counter::chunk_bytes);
  r.epochs = drain_->epochs();
  r.retries = drain_->retries();
  r.sweeps = drain_->sweeps();
  r.recovered_words = segment_->get(Counter::recovered_words);
  r.transactions = card_->transactions();
  r.suspicions = card_->account();
  r.sweep_p50 = drain_->sweep_times().percentile(50);
  r.sweep_p99 = drain_->sweep_times().percentile(99);
  r.sweep_max = drain_->sweep_times().max();
  r.lost = drain_->losses().intervals();
  r.names = names_->notes();
  r.loop = loop_->name();
  r.synced = sampler_ != nullptr;
  if (sampler_) {
    r.clock = sampler_->figures();
    r.clock_bound = clock_->bound();
    r.metal_sync_hz = metal_sync_hz(names_->directory(), device_.chip);
  }
  r.live_name = r.identity.live_name;
  r.duration_s = static_cast<double>(monotonic_now_ns() - collecting_since_) / 1e9;
  r.ended = ended;
  r.card_vanished = vanished;
}

DeviceResult DeviceRun::result() const {
  DeviceResult r = result_;
  if (!track_) return r;
  r.output_backend = capture_->backend();
  r.output_bytes = track_->bytes();
  r.output_lapped_bytes = track_->lapped_bytes();
  r.output_error = track_->error().empty() ? capture_->error() : track_->error();
  return r;
}

}  // namespace ttc::collect

#include "run.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "collector/capture_writer.hpp"
#include "collector/host_time.hpp"
#include "collector/zone_logs.hpp"
#include "report.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Health;
using shm::Counter;

constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kNamesEvery = 100 * kMillisecond;
constexpr uint64_t kHealthEvery = kMillisecond;
constexpr int kLastSweeps = 4;  // after the end was announced: settling takes two looks

class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Waits in steps, as waiting for another process needs, until `make` succeeds, the time is over, or a signal.
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

std::string session_text(const card::Card& card, const Attachment& a, const RunOptions& options) {
  const card::Identity& id = card.identity();
  nlohmann::json cores = nlohmann::json::array();
  for (const AttachedCore& c : a.cores) cores.push_back({c.at.x, c.at.y, c.flat_id});
  return nlohmann::json{{"device", options.device},  {"chip", 0},
                        {"arch", id.arch->name},     {"board", id.board},
                        {"aiclk_mhz", id.aiclk_mhz}, {"max_compute_cores", id.max_compute_cores},
                        {"layout", a.layout->name},  {"cores", std::move(cores)}}
      .dump();
}

uint64_t random_session() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

class Run {
 public:
  explicit Run(const RunOptions& options) : options_(options), started_(monotonic_now_ns()) {
    prctl(PR_SET_TIMERSLACK, 1000UL);
    std::string fallback;
    loop_ = make_event_loop(signals_.fd(), -1, options_.plain, fallback);
    const uint64_t deadline = started_ + options_.wait_ns;
    card_ = wait_for<card::OpenError>(deadline, *loop_, [&] { return card::open_card(options_.device); });
    const markers::Layout* only =
        options_.layout.empty() ? nullptr : markers::layout_by_name(options_.layout);
    attachment_ = wait_for<AttachError>(deadline, *loop_, [&] { return attach(*card_, {only, {}, true}); });
    loop_ = make_event_loop(signals_.fd(), card_->hangup_fd(), options_.plain, fallback);
    if (!fallback.empty()) note(fallback + "; using poll and plain reads");
    for (const std::string& n : attachment_.notes) note(n);

    shm::SegmentOptions segment_options;
    segment_options.ring_bytes = options_.ring_bytes;
    segment_options.group = options_.group;
    segment_ = std::make_unique<shm::SegmentWriter>(card_->identity().live_name, options_.device,
                                                    random_session(), segment_options);
    segment_->add_standing(shm::ChunkKind::session, session_text(*card_, attachment_, options_));
    if (!options_.output.empty())
      capture_ =
          std::make_unique<CaptureWriter>(options_.output, card_->identity().live_name, options_.plain);
    publisher_ = std::make_unique<Publisher>(*segment_, 0, attachment_.layout->format.generation);
    logs_ = options_.descriptor_reads ? descriptor_log_reader(*card_, *loop_) : window_log_reader(*card_);
    // A zone's string is in the log before its first marker is on the card, so looking between reading words
    // and publishing them means that readers always have the name first. Two stat(2) where nothing grew.
    options_.drain.before_publish = [this] { poll_names(); };
    drain_ = std::make_unique<Drain>(*card_, attachment_, *logs_, *publisher_, *segment_, options_.drain);
    const std::string directory = options_.metal_home.empty()
                                      ? zone_log_directory_of(card_->identity().workload_pid)
                                      : zone_log_directory_in(options_.metal_home);
    names_ = std::make_unique<ZoneLogs>(directory);
    if (!options_.quiet)
      std::fprintf(stderr, "ttcollect: %s (%s %s), layout %s, %zu cores; readers attach to live:%s\n",
                   options_.device.c_str(), card_->identity().board.c_str(),
                   std::string(card_->identity().arch->name).c_str(),
                   std::string(attachment_.layout->name).c_str(), attachment_.cores.size(),
                   card_->identity().live_name.c_str());
  }

  RunResult collect() {
    LiveLine line(!options_.quiet);
    std::string ended;
    bool vanished = false;
    collecting_since_ = monotonic_now_ns();
    const uint64_t end = options_.duration_ns ? collecting_since_ + options_.duration_ns : ~uint64_t{0};
    uint64_t next_names = 0, next_health = 0;
    while (ended.empty()) {
      const uint64_t now = monotonic_now_ns();
      if (now >= next_names) {
        poll_names();
        next_names = now + kNamesEvery;
      }
      if (drain_->sweep(now) == Access::gone) {
        vanished = true;
        ended = "the card went away";
        break;
      }
      line.show(*drain_, card_->transactions(), now);
      if (capture_) segment_->set(Counter::disk_bytes, capture_->bytes());
      if (now >= end) ended = "the time given by --for is over";
      if (now >= next_health) {
        next_health = now + kHealthEvery;
        if (card_->health() == Health::leaving) ended = "the card announced that it goes away";
      }
      const uint64_t due = std::min({drain_->next_due_ns(), end, next_names});
      const uint64_t after = monotonic_now_ns();
      const Events events = loop_->wait(due > after ? due - after : 0);
      if (events.signal) ended = "stopped by a signal";
      if (events.hangup && card_->health() == Health::gone) {
        vanished = true;
        ended = "the card went away";
      }
    }
    // What became visible until now is still taken, also what settles only on a second look.
    for (int i = 0; i < kLastSweeps && !vanished; ++i) {
      if (drain_->sweep(monotonic_now_ns(), true) == Access::gone)
        vanished = true, ended = "the card went away";
      loop_->wait(options_.drain.busy_interval_ns);
    }
    poll_names();
    drain_->close_account(vanished);
    publisher_->publish_end(ended);
    segment_->end();
    if (capture_) capture_->finish();
    line.clear();
    return result(ended, vanished);
  }

 private:
  void note(const std::string& text) const {
    if (!options_.quiet) std::fprintf(stderr, "ttcollect: %s\n", text.c_str());
  }

  // New zone strings go out together, one chunk for all that appeared at once.
  void poll_names() {
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

  RunResult result(const std::string& ended, bool vanished) const {
    RunResult r;
    r.identity = card_->identity();
    r.layout = attachment_.layout->name;
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
    r.sweep_p50 = drain_->sweep_times().percentile(50);
    r.sweep_p99 = drain_->sweep_times().percentile(99);
    r.sweep_max = drain_->sweep_times().max();
    r.lost = drain_->losses().intervals();
    r.names = names_->notes();
    r.loop = loop_->name();
    r.live_name = r.identity.live_name;
    if (capture_) {
      r.output_backend = capture_->backend();
      r.output_bytes = capture_->bytes();
      r.output_lapped_bytes = capture_->lapped_bytes();
      r.output_error = capture_->error();
    }
    r.duration_s = static_cast<double>(monotonic_now_ns() - collecting_since_) / 1e9;
    r.ended = ended;
    r.card_vanished = vanished;
    return r;
  }

  RunOptions options_;
  uint64_t started_;
  uint64_t collecting_since_ = 0;
  Signals signals_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<card::Card> card_;
  Attachment attachment_;
  std::unique_ptr<shm::SegmentWriter> segment_;
  std::unique_ptr<CaptureWriter> capture_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<LogReader> logs_;
  std::unique_ptr<Drain> drain_;
  std::unique_ptr<ZoneLogs> names_;
  bool names_full_ = false;
};

}  // namespace

RunResult run(const RunOptions& options) {
  return Run(options).collect();
}

}  // namespace ttc::collect

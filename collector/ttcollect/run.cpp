// The supervisor of a run: signals, --for, who starts when, the live line, the account of all devices. Each
// device has a thread of its own (device_run.hpp); this one only waits.
#include "collector/ttcollect/run.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include "collector/ttcollect/companion.hpp"
#include "collector/ttcollect/device_run.hpp"
#include "collector/ttcollect/program.hpp"
#include "collector/ttcollect/report.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kLookAgainNs = 20'000'000;          // for cards to appear
constexpr uint64_t kLiveLineNs = 200'000'000;          // between two showings
constexpr uint64_t kWorkloadMayEndNs = 2'000'000'000;  // after its card has gone
constexpr uint64_t kNothingToDoNs = 1'000'000'000;

class Signals {
 public:
  // `recordings`: SIGUSR1 requests one.
  explicit Signals(bool recordings) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    // A terminal that was closed. Under nohup it is ignored; blocked it would come here all the same.
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
    if (recordings) sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, nullptr);  // threads started later inherit it
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0)
      throw std::system_error(errno, std::generic_category(), "waiting for signals cannot be set up");
    signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() { close(fd_); }
  int fd() const { return fd_; }
  struct Taken {
    bool stop = false, record = false;
  };
  Taken take() {
    Taken taken;
    for (signalfd_siginfo info; read(fd_, &info, sizeof info) > 0;)
      (info.ssi_signo == SIGUSR1 ? taken.record : taken.stop) = true;
    return taken;
  }

 private:
  int fd_;
};

// What a device's thread is at. The thread moves it on, except from `attached`: the supervisor does that.
enum class Stage { attaching, attached, refused, going, done, dismissed };

struct Device {
  Device(const RunOptions& options, ChosenDevice device, const Halt& halt)
      : run(options, std::move(device), halt) {}
  DeviceRun run;
  Stage stage = Stage::attaching;  // with the supervisor's mutex
  std::exception_ptr error;        // likewise, when refused
  std::string why;                 // likewise
  std::thread thread;
};

class Supervisor {
 public:
  explicit Supervisor(const RunOptions& options)
      : options_(options),
        each_alone_(names_all(options.devices)),
        signals_(options.flight.bytes != 0),
        line_(!options.quiet),
        deadline_(monotonic_now_ns() + options.wait_ns) {
    std::string ignored;  // every device reports it itself
    loop_ = make_event_loop(signals_.fd(), changed_.fd(), options_.plain, ignored);
    for (ChosenDevice& device : choose_devices(options_.devices, present()))
      devices_.push_back(std::make_unique<Device>(options_, std::move(device), halt_));
  }

  ~Supervisor() {
    halt_.raise("stopped");
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;  // who is attached only after this is dismissed at once
    }
    dismiss_waiting();
    join();
  }

  RunResult run() {
    for (const auto& d : devices_) d->thread = std::thread([this, device = d.get()] { body(*device); });
    while (!all_over()) {
      const uint64_t now = monotonic_now_ns();
      if (now >= end_) halt_.raise("the time given by --for is over");
      const Events events = loop_->wait(
          std::min(line_.on() ? kLiveLineNs : kNothingToDoNs, end_ > now ? end_ - now : kNothingToDoNs));
      if (events.signal) {
        const Signals::Taken taken = signals_.take();
        if (taken.record && flight_) flight_->ask("requested by SIGUSR1");
        if (taken.stop) halt_.raise("stopped by a signal");
      }
      changed_.lower();
      if (each_alone_)
        start_each();
      else
        start_together();
      start_companions();
      for (Device* d : at(Stage::done)) d->run.let_go();
      if (began_) report_begun();
      show_line();
    }
    line_.clear();
    join();
    if (capture_) capture_->finish();
    if (flight_) flight_->finish(card_left() ? kWorkloadMayEndNs : 0);
    for (const auto& c : companions_)
      if (const std::string failure = c->end(); !failure.empty()) companion_failures_.push_back(failure);
    return result();
  }

 private:
  // The cards of `all`, waiting for the first one.
  std::vector<std::string> present() {
    if (!each_alone_) return {};
    for (;;) {
      std::vector<std::string> cards = card::present_cards();
      if (!cards.empty()) return cards;
      if (monotonic_now_ns() >= deadline_ || loop_->wait(kLookAgainNs).signal)
        throw card::OpenError(
            "--device all: no card is present; `ttcollect list` shows what is there, --wait waits for the "
            "first, "
            "ttemu --name NAME starts an emulated one");
    }
  }

  // A device's thread.
  void body(Device& d) {
    try {
      d.run.attach(deadline_);
    } catch (const std::exception& e) {
      refuse(d, e);
      return;
    }
    if (!await_go(d)) return;
    try {
      d.run.collect();
    } catch (const std::bad_alloc&) {
      d.run.break_off("there was not enough memory");
    } catch (const std::exception& e) {
      d.run.break_off(e.what());
    }
    move_on(d, Stage::done);
  }

  void refuse(Device& d, const std::exception& e) {
    const std::lock_guard lock(mutex_);
    d.error = std::current_exception();
    d.why = e.what();
    d.stage = Stage::refused;
    changed_.raise();
  }
  void move_on(Device& d, Stage stage) {
    const std::lock_guard lock(mutex_);
    d.stage = stage;
    changed_.raise();
    go_.notify_all();
  }
  bool await_go(Device& d) {
    move_on(d, Stage::attached);
    std::unique_lock lock(mutex_);
    go_.wait(lock, [&] { return closing_ || d.stage != Stage::attached; });
    return d.stage == Stage::going;
  }

  Stage stage_of(const Device& d) const {
    const std::lock_guard lock(mutex_);
    return d.stage;
  }
  std::vector<Device*> at(Stage stage) const {
    std::vector<Device*> found;
    for (const auto& d : devices_)
      if (stage_of(*d) == stage) found.push_back(d.get());
    return found;
  }
  bool all_over() const {
    return at(Stage::attaching).empty() && at(Stage::attached).empty() && at(Stage::going).empty();
  }

  // Devices named one by one: all or none. If one is refused, no segment or file of the others exists.
  void start_together() {
    const auto waiting = at(Stage::attached);
    if (waiting.empty() || !at(Stage::attaching).empty()) return;
    if (!at(Stage::refused).empty()) return dismiss_waiting();
    try {
      for (Device* d : waiting) d->run.start();
      record(waiting);
    } catch (...) {
      for (Device* d : waiting) d->run.withdraw();
      throw;
    }
    for (Device* d : waiting) go(*d);
  }

  // Starts the devices of "all": each as soon as it can, without those that cannot.
  void start_each() {
    for (Device* d : at(Stage::attached)) {
      try {
        d->run.start();
      } catch (const shm::SegmentError& e) {
        refuse(*d, e);
        go_.notify_all();
        continue;
      }
      try {
        record({d});
      } catch (...) {  // an output that cannot be written is everybody's
        d->run.withdraw();
        throw;
      }
      go(*d);
    }
    if (began_) report_left_out();
  }

  void record(const std::vector<Device*>& devices) {
    if (options_.flight.bytes) return watch(devices);
    if (options_.output.empty()) return;
    if (!capture_) {
      CaptureOptions capture = options_.capture;
      capture.path = options_.output;
      capture.plain = options_.plain;
      capture_ = std::make_unique<CaptureWriter>(capture, devices.front()->run.session());
    }
    for (Device* d : devices) d->run.record_to(*capture_);
  }

  void watch(const std::vector<Device*>& devices) {
    if (!flight_)
      flight_ = std::make_unique<FlightRecorder>(options_.flight,
                                                 [this](const FlightRecording& r) { report_recording(r); });
    for (Device* d : devices) {
      flight_->add(d->run.live_name(), d->run.workload_pid());
      if (options_.flight.rules.exit && d->run.workload_pid() <= 0)
        say(Exit::kOk,
            d->run.live_name() +
                ": the process that uses this card is not visible, so --trigger exit will not act on it; "
                "run ttcollect as the workload's user or as root");
    }
  }
  // On the recorder's thread.
  void report_recording(const FlightRecording& r) const {
    if (options_.quiet && r.error.empty()) return;
    // The live line is there on a terminal.
    if (isatty(STDERR_FILENO)) std::fputs("\r\033[K", stderr);
    say_lines(to_text(r));
  }

  void go(Device& d) {
    if (!began_) {
      began_ = monotonic_now_ns();
      if (options_.duration_ns) end_ = began_ + options_.duration_ns;
    }
    shown_.push_back(&d);
    live_names_.push_back(d.run.live_name());
    move_on(d, Stage::going);
  }

  // Starts them for the devices that are collected from by now: with "all", cards that come later are not shown.
  void start_companions() {
    if (companions_started_ || live_names_.empty()) return;
    companions_started_ = true;
    const auto start = [&](const char* option, const char* program, std::vector<std::string> words,
                           int well = 0) {
      companions_.push_back(
          std::make_unique<Companion>(option, program, std::move(words), live_names_, well));
    };
    if (!options_.tracy.empty())
      start("--tracy", "ttexport", {"--format", "tracy", "--listen", options_.tracy, "--wait", "10s"});
    if (!options_.metrics.empty())
      start("--metrics", "ttexport",
            {"--format", "prometheus", "--listen", options_.metrics, "--wait", "10s"});
    if (options_.publish.empty()) return;
    std::vector<std::string> words{"agent", "--bus", options_.publish, "--wait", "10s"};
    for (const std::string& word : options_.publish_with) words.push_back(word);
    if (options_.quiet) words.emplace_back("--quiet");
    start("--publish", "ttfleet", std::move(words), program::FleetExit::kSpooled);
  }

  // The drains are running by now, and need not wait for what is done here.
  void report_begun() {
    if (reported_begun_ || !options_.when_begun) return;
    reported_begun_ = true;
    options_.when_begun();
  }

  void dismiss_waiting() {
    for (Device* d : at(Stage::attached)) move_on(*d, Stage::dismissed);
  }
  void join() {
    for (const auto& d : devices_)
      if (d->thread.joinable()) d->thread.join();
  }

  // Once for each; not before something goes, because otherwise it is the run's error.
  void report_left_out() {
    for (Device* d : at(Stage::refused))
      if (std::find(reported_.begin(), reported_.end(), d) == reported_.end()) report_left_out(*d);
  }
  void report_left_out(Device& d) {
    line_.clear();
    say(Exit::kOk, (began_ ? "left out: " : "") + d.why);
    reported_.push_back(&d);
  }

  // A card went by itself: its workload is ending, or has been ended.
  bool card_left() const {
    const auto done = at(Stage::done);
    return std::any_of(done.begin(), done.end(), [](const Device* d) { return d->run.card_left(); });
  }

  void show_line() {
    std::vector<LiveFigures> figures;
    for (const Device* d : shown_) figures.push_back(d->run.figures());
    line_.show(figures, monotonic_now_ns());
  }

  RunResult result() {
    const auto done = at(Stage::done), refused = at(Stage::refused);
    if (done.empty()) {
      for (size_t i = 1; i < refused.size(); ++i) report_left_out(*refused[i]);
      std::rethrow_exception(refused.front()->error);
    }
    RunResult r;
    for (const Device* d : done) r.devices.push_back(d->run.result());
    for (const Device* d : refused) r.left_out.push_back({d->run.spec(), d->why});
    if (capture_)
      r.capture = CaptureResult{capture_->files(), capture_->file_bytes(), capture_->dropped_bytes(),
                                capture_->most_memory(), capture_->remarks()};
    r.companion_failures = companion_failures_;
    r.duration_s = static_cast<double>(monotonic_now_ns() - began_) / 1e9;
    if (flight_) r.recordings = flight_->recordings();
    return r;
  }

  const RunOptions& options_;
  const bool each_alone_;
  Signals signals_;
  Halt halt_;
  EventFlag changed_;  // a device's stage
  LiveLine line_;
  const uint64_t deadline_;  // for attaching
  bool reported_begun_ = false;
  uint64_t began_ = 0;  // the first device's start, CLOCK_MONOTONIC
  uint64_t end_ = ~uint64_t{0};
  std::unique_ptr<EventLoop> loop_;
  mutable std::mutex mutex_;
  std::condition_variable go_;
  bool closing_ = false;                    // with mutex_
  std::unique_ptr<CaptureWriter> capture_;  // outlives the devices that it is recording
  std::unique_ptr<FlightRecorder> flight_;  // likewise
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<const Device*> shown_, reported_;
  std::vector<std::string> live_names_;
  bool companions_started_ = false;
  std::vector<std::unique_ptr<Companion>> companions_;
  std::vector<std::string> companion_failures_;  // sentences
};

}  // namespace

RunResult run(const RunOptions& options) {
  check_device_list(options.devices);
  return Supervisor(options).run();
}

}  // namespace ttc::collect

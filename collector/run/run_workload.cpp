// The supervision of a run.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include "collector/capture/capture_file.hpp"
#include "collector/doctor/doctor.hpp"
#include "collector/host_side/host_server.hpp"
#include "collector/host_side/mark_listener.hpp"
#include "collector/program/program.hpp"
#include "collector/run/error_watch.hpp"
#include "collector/run/helper_program.hpp"
#include "collector/run/host_sentences.hpp"
#include "collector/run/python_words.hpp"
#include "collector/run/recording.hpp"
#include "collector/run/run_report.hpp"
#include "collector/run/run_typed.hpp"
#include "collector/run/tracy_file.hpp"
#include "collector/run/workload.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;
using Exit = program::CollectExit;

constexpr program::Program kRun{"ttcollect run", Exit::kOutput};
constexpr int kLookMs = 20;                         // for segments of the collector
constexpr uint64_t kReportLeftNs = 500'000'000;     // after the first process ended
constexpr uint64_t kAttachesForNs = 2'000'000'000;  // so long a collector that has no card yet is not stopped
constexpr const char* kHostName = "run-";        // of the host side's segment, then the number of our process
constexpr const char* kWaitForCards = "10000d";  // until SIGTERM ends it
constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
const int kStartSignal = SIGRTMIN + 1, kStopSignal = SIGRTMIN + 2;  // of collecting, by `kill`

void say(const std::string& sentence) {
  program::say(kRun, 0, sentence);
}

std::vector<std::string> environment_words(Environment all, const EnvironmentPlan& plan) {
  for (const auto& [name, value] : plan.set) all[name] = value;
  for (const std::string& name : plan.unset) all.erase(name);
  std::vector<std::string> words;
  for (const auto& [name, value] : all) {
    words.push_back(name);
    words.back() += "=" + value;
  }
  return words;
}

void say_plan(const EnvironmentPlan& plan) {
  std::string set;
  for (const auto& [name, value] : plan.set) set.append(" ").append(name).append("=").append(value);
  if (!set.empty()) say("sets" + set);
  for (const std::string& sentence : plan.sentences) say(sentence);
}

// Signals as a descriptor: those of children, and those that are handed on.
class RunSignals {
 public:
  RunSignals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, kStartSignal);
    sigaddset(&set, kStopSignal);
    for (const int number : kForwarded) {
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != SIG_IGN) sigaddset(&set, number);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd_ < 0)
      throw std::system_error(errno, std::generic_category(), "waiting for signals cannot be set up");
  }
  ~RunSignals() { close(fd_); }
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;
  // Waits; the signals that came, SIGCHLD once however often.
  std::vector<int> wait(int timeout_ms) {
    pollfd poll_fd{fd_, POLLIN, 0};
    poll(&poll_fd, 1, timeout_ms);
    std::vector<int> came;
    for (signalfd_siginfo info; read(fd_, &info, sizeof info) == sizeof info;)
      came.push_back(static_cast<int>(info.ssi_signo));
    return came;
  }

 private:
  int fd_;
};

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

std::vector<std::string> collector_words(const RunRequest& request) {
  std::vector<std::string> words{"--wait", kWaitForCards, "--quiet"};
  if (request.verbose) words.pop_back();
  std::string devices;
  for (const std::string& d : request.devices) devices += (devices.empty() ? "" : ",") + d;
  words.insert(words.end(), {"--device", devices.empty() ? "all" : devices});
  for (const std::string& word : split(request.collector_options)) words.push_back(word);
  return words;
}

class RunSession {
 public:
  RunSession(const RunRequest& request, const Environment& environment)
      : request_(request),
        claimed_(artifacts_root(request, environment, fs::current_path().string()), request.name,
                 std::time(nullptr)),
        place_(claimed_.place()),
        plan_(plan_environment(request, environment, place_.root)),
        environment_(environment),
        errors_(request.watch_stderr ? std::make_unique<ErrorWatch>() : nullptr),
        recording_(place_.capture()) {
    if (errors_ && !errors_->why_not().empty()) say(errors_->why_not());
  }

  int run() {
    if (!request_.quiet) say_plan(plan_);
    const fs::path modules = python_modules();
    listen_to_marks(modules);
    const PythonWords words = python_words(request_, !modules.empty() && marks_->failure().empty());
    if (!words.sentence.empty()) say(words.sentence);
    started_s_ = std::time(nullptr);
    if (errors_ && errors_->why_not().empty()) {
      errors_->redirect();
      if (!errors_->why_not().empty()) say(errors_->why_not());
    }
    workload_ = std::make_unique<Workload>(words.command, environment_words(environment_, plan_));
    if (errors_) errors_->restore();
    if (const auto& error = workload_->error()) return program::say(kRun, error->exit_code, error->why);
    recording_.ignore_present();
    remove_remains();
    if (!request_.paused) start_collecting();
    if (!request_.no_host) host_->look();
    supervise();
    const int code = workload_->exit_code().value_or(Exit::kFailed);
    report_end(code);
    if (errors_)
      for (const std::string& sentence : errors_->findings()) say(sentence);
    end_collecting();
    if (request_.check_exit_code && code != 0)
      say("no report was made, because of --check-exit-code");
    else
      report();
    return request_.strict_exit && code == 0 ? failure_ : code;
  }

 private:
  static bool is_host_name(const std::string& live_name) {
    const size_t digits = std::strlen(kHostName);
    return live_name.starts_with(kHostName) && live_name.size() > digits &&
           live_name.find_first_not_of("0123456789", digits) == std::string::npos;
  }

  // A `ttcollect run` that was killed leaves the segment of its host side. What was queued for the disk then, and the last block, are
  // in the segment alone, and go with it.
  static void remove_remains() {
    for (const shm::SegmentInfo& segment : shm::list_segments())
      if (!segment.alive && !segment.ended && segment.user == geteuid() && is_host_name(segment.live_name))
        shm::remove_segment(segment.live_name);  // and not where its writer is about to complete it
  }

  std::vector<pid_t> others() const {
    return collector_ ? std::vector<pid_t>{collector_->pid()} : std::vector<pid_t>{};
  }

  void supervise() {
    while (!workload_->over() && !left_alone_) {
      for (const int number : signals_.wait(kLookMs)) {
        if (number == SIGCHLD) {
          workload_->look(others());
          if (collector_) collector_->running();  // reaps it
          continue;
        }
        if (number == kStartSignal || number == kStopSignal) {
          (number == kStartSignal ? start_asked_ : stop_asked_) = true;
          continue;
        }
        // Ctrl-C of a terminal goes to the workload by itself; this one was sent to us.
        workload_->send(number);
        left_alone_ = workload_->exit_code().has_value();
      }
      if (start_asked_) start_collecting();
      follow();
      stop_collecting();
      report_left();
    }
  }

  // Where our package ttcollect is; empty: nowhere.
  static fs::path python_modules() {
    std::error_code none;
    const fs::path programs = fs::read_symlink("/proc/self/exe", none).parent_path();
    if (none) return {};
    // Of a build, of an installation: both hold nothing else that a workload could import instead of its own.
    for (const fs::path& modules : {programs / "python", programs.parent_path() / "lib/ttcollect/python"})
      if (fs::exists(modules / "ttcollect", none)) return modules;
    return {};
  }

  // Before the workload starts: its environment has the socket's name.
  void listen_to_marks(const fs::path& modules) {
    host_ = std::make_unique<HostServer>(
        getpid(), kHostName + std::to_string(getpid()),
        [this](HostPublisher& p) { p.record_into(recording_.feed_of(p.live_name(), p.session())); });
    const std::string name = kMarksPrefix + std::to_string(getpid());
    marks_ = std::make_unique<MarkListener>(
        name, [this] { return host_->open_publisher(); }, [this](const Mark& mark) { hear(mark); });
    if (!modules.empty()) {
      std::string& path = environment_["PYTHONPATH"];  // behind what is there
      path += (path.empty() ? "" : ":") + modules.string();
    }
    if (!marks_->failure().empty()) return say(marks_->failure());
    environment_[kMarksVariable] = name;
    environment_[kMarkLossVariable] = marks_->loss_path();
    if (!request_.quiet)
      say("sets " + std::string(kMarksVariable) + "=" + name +
          (modules.empty() ? std::string() : ", adds " + modules.string() + " to PYTHONPATH"));
  }

  // From the listener's thread.
  void hear(const Mark& mark) {
    const auto is = [&](const std::optional<uint64_t>& step, const char* what) {
      return step && mark.text == "step_" + std::to_string(*step) + what;
    };
    if (mark.kind == 'r' || is(request_.first_step, "_start")) start_asked_ = true;
    if (mark.kind == 's' || is(request_.last_step, "_end")) stop_asked_ = true;
    if (mark.kind == 'e') ++steps_;
  }

  // Once. What the card's logs still hold of what ran before is collected, too.
  void start_collecting() {
    if (collector_ || stopped_ || request_.no_device) return;
    if (request_.paused) say("collecting starts");
    collecting_since_ns_ = monotonic_now_ns();
    collector_ = std::make_unique<HelperProgram>(
        "ttcollect", collector_words(request_), HelperProgram::Output::kept,
        request_.verbose ? HelperProgram::Output::passed_on : HelperProgram::Output::kept);
  }

  // A step may be shorter than the search for cards. A collector that has attached reads what the card's logs hold of it.
  bool may_still_attach() {
    return collector_ && !collected_ && collector_->running() &&
           monotonic_now_ns() - collecting_since_ns_ < kAttachesForNs;
  }

  // Once, and for good; the workload goes on.
  void stop_collecting() {
    const bool stepped = request_.steps && steps_ >= request_.steps;
    if (stopped_ || !(stepped || stop_asked_) || may_still_attach()) return;
    stopped_ = true;
    const std::string steps = stepped ? std::to_string(request_.steps) + " steps have ended; " : "";
    if (collector_)
      say(steps + "collecting ends, the workload goes on");
    else if (!request_.no_device)
      say(steps + "collecting was stopped before it started, and does not start any more");
    if (collector_) collector_->ask_to_end();
  }

  void follow() {
    if (!collector_) return;
    try {
      collected_ = recording_.follow(collector_->pid()) > 0;
      if (collected_ && !request_.quiet && !std::exchange(looked_, true)) say_what_is_in_the_way();
    } catch (const CaptureError& e) {
      fail(Exit::kOutput, e.what());
    }
  }

  // The collector, which is quiet, does not say it.
  void say_what_is_in_the_way() const {
    const std::vector<std::string> all{"all"};
    for (const std::string& s : doctor::in_the_way_of(request_.devices.empty() ? all : request_.devices))
      say(s);
  }

  // Of --paused and --range: what was asked for may be over, and the workload with it, before a card is attached to.
  void finish_window() {
    if (start_asked_) start_collecting();  // by a mark that came last
    const auto breaks_off = [](int number) { return number != SIGCHLD; };
    while (request_.paused && !stopped_ && may_still_attach()) {
      const std::vector<int> came = signals_.wait(kLookMs);
      if (std::any_of(came.begin(), came.end(), breaks_off)) return;
      follow();
    }
  }

  void fail(int code, const std::string& why) {
    if (why == reported_failure_) return;
    reported_failure_ = why;
    say(why);
    if (failure_ == 0) failure_ = code;
  }

  // Once, of processes that outlive the first one.
  void report_left() {
    if (!workload_->exit_code() || workload_->over()) return;
    if (first_ended_ns_ == 0) first_ended_ns_ = monotonic_now_ns();
    if (reported_left_ || monotonic_now_ns() - first_ended_ns_ < kReportLeftNs) return;
    reported_left_ = true;
    std::string pids;
    for (const pid_t pid : Workload::left(others())) pids += " " + std::to_string(pid);
    if (!pids.empty())
      say("the workload's first process has ended; collecting goes on until these have, too:" + pids +
          " (a signal to process " + std::to_string(getpid()) + " ends the waiting)");
  }

  void report_end(int code) const {
    if (const int number = workload_->end_signal())
      say("the workload was ended by signal " + std::to_string(number) + " (" + strsignal(number) +
          "); what was collected until then is reported");
    else if (code != 0)
      say("the workload ended with exit code " + std::to_string(code));
    if (left_alone_ && !workload_->over()) say("processes of the workload still run; they are left alone");
  }

  void end_collecting() {
    if (marks_) marks_->end();
    finish_window();
    host_->end();
    if (collector_) {
      collector_->ask_to_end();
      const int code = collector_->wait();
      follow();
      report_collector(code);
    }
    if (!collector_ && !stopped_ && !request_.no_device)
      say("collecting from the device was never started (--paused, --range)");
    report_host();
    const std::string error = recording_.finish();
    report_host_loss();
    host_.reset();  // lets go of its segment
    if (error.empty()) recording_.remove_segments();
    if (!error.empty()) fail(Exit::kOutput, recording_.path() + " is not whole: " + error);
    if (const uint64_t dropped = recording_.dropped_bytes())
      fail(Exit::kOutput,
           std::to_string(dropped) +
               " bytes were not recorded, because the disk took no more; what is missing of the "
               "device is in the account of losses");
    if (const uint64_t lapped = recording_.lapped_bytes())
      fail(Exit::kOutput, std::to_string(lapped) +
                              " bytes were overwritten in the ring before they were "
                              "recorded; --collector '--ring 256MiB' makes it larger");
  }

  void report_host() {
    if (const uint64_t refused = marks_->refused())
      say("host side: " + std::to_string(refused) +
          " datagrams came that are no marks, or of more processes than are followed; they are not recorded");
    for (const MarkLoss& loss : marks_->losses()) fail(Exit::kOutput, sentence_of(loss));
    for (const auto& [pid, zones] : marks_->zones_missing())
      say("host side: process " + std::to_string(pid) + ": " + std::to_string(zones) +
          " zones of Python functions or more are missing, because they came faster than they were taken; "
          "their "
          "tracing ended there");
    if (const uint64_t foreign = marks_->foreign())
      say("host side: " + std::to_string(foreign) +
          " marks of other users were refused; a workload of another user cannot set any");
    if (const std::string why = host_->failure(); !why.empty()) fail(Exit::kSegment, why);
    for (const HostClientResult& r : host_->results())
      for (const std::string& sentence : sentences_of(r, request_.verbose)) say("host side: " + sentence);
  }

  // A backlog may come faster than a busy machine packs it.
  void report_host_loss() {
    const HostPublisher* publisher = host_->publisher();
    host_recorded_ = publisher != nullptr;
    if (!publisher) return;
    if (const uint64_t lost = publisher->events_not_recorded())
      fail(Exit::kOutput,
           "host side: " + std::to_string(lost) +
               " events came faster than they were recorded and are missing: zones and messages "
               "of the host");
    if (const uint64_t lost = publisher->names_not_recorded())
      fail(Exit::kOutput, "host side: " + std::to_string(lost) +
                              " names came faster than they were recorded; what they name has none");
  }

  // The files that tt-metal's scripts take the host's side from; where they are, empty where there is none.
  std::string host_logs() {
    const std::string logs = place_.root + "/.logs";
    std::vector<std::string> words{"host", recording_.path(), "-o", logs};
    if (!request_.child_functions.empty())
      words.insert(words.end(), {"--child-functions", request_.child_functions});
    HelperProgram helper("ttreport", words, HelperProgram::Output::kept, HelperProgram::Output::kept);
    const int code = helper.wait();
    constexpr int kNothing = 3;
    if (code == kNothing) return {};
    for (const std::string& sentence : sentences_of(helper)) say("host side: " + sentence);
    if (code) fail(Exit::kOutput, "the files of the host's side were not made");
    return code ? std::string() : logs;
  }

  void report_collector(int code) {
    if (code == 0 && collected_) return;
    std::istringstream lines(collector_->err());
    std::string last;
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) last = line;
    constexpr std::string_view kName = "ttcollect: ";
    if (last.starts_with(kName)) last.erase(0, kName.size());
    // SIGTERM came before its handler was set.
    constexpr int kBySigterm = 128 + SIGTERM;
    if (code == kBySigterm)
      last = std::string(stopped_ ? "collecting was stopped" : "the workload ended") +
             " before the search for cards began";
    if (last.empty()) last = "the collector ended with code " + std::to_string(code);
    if (code == kBySigterm) code = Exit::kNoDevice;
    fail(code ? code : Exit::kNoProfiler, (collected_ ? "" : "nothing was collected from a card: ") + last);
  }

  // tt-metal's own log of this run; chips that have no PCIe link are only there.
  std::string metal_log() const {
    const fs::path log = fs::path(place_.root) / ".logs" / "profile_log_device.csv";
    struct stat of {};
    return stat(log.c_str(), &of) == 0 && of.st_mtime >= started_s_ ? log.string() : std::string();
  }

  void report() {
    if (!collected_ && !host_recorded_) return;
    const std::string logs = host_recorded_ ? host_logs() : std::string();
    if (!collected_) {
      say("the host's side is in " + place_.capture() +
          (logs.empty() ? "" : " and " + logs + "/tracy_ops_*.csv"));
      return;
    }
    const ReportInputs inputs{logs, metal_log(),
                              tracy_capture_program(request_.tools_folder, value_in(environment_, "PATH"))};
    const ReportOutcome outcome = make_run_report(request_, place_, inputs, [](const std::string& summary) {
      std::fputs(summary.c_str(), stdout);
      std::fflush(stdout);
    });
    for (const std::string& sentence : outcome.sentences) say(sentence);
    if (outcome.exit_code && failure_ == 0) failure_ = Exit::kOutput;
    say("the report is in " + place_.folder);
  }

  const RunRequest& request_;
  const ClaimedPlace claimed_;
  const ReportPlace& place_;
  const EnvironmentPlan plan_;
  Environment environment_;             // of the workload, but for the plan
  std::unique_ptr<ErrorWatch> errors_;  // null: not asked for

  RunSignals signals_;
  Recording recording_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<HelperProgram> collector_;
  std::unique_ptr<HostServer> host_;     // ends before the recording does
  std::unique_ptr<MarkListener> marks_;  // ends before the host's segment does
  std::atomic<uint64_t> steps_{0};       // that have ended
  std::time_t started_s_ = 0;
  uint64_t first_ended_ns_ = 0, collecting_since_ns_ = 0;
  std::atomic<bool> start_asked_{false}, stop_asked_{false};
  bool stopped_ = false, host_recorded_ = false, reported_left_ = false, left_alone_ = false,
       collected_ = false, looked_ = false;
  int failure_ = 0;
  std::string reported_failure_;
};

}  // namespace

int run_workload(const RunRequest& request) {
  const Environment environment = own_environment();
  return RunSession(request, environment).run();
}

}  // namespace ttc::collect

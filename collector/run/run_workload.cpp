// The supervision of a run.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "collector/capture/capture_file.hpp"
#include "collector/doctor/doctor.hpp"
#include "collector/host_side/host_server.hpp"
#include "collector/host_side/mark_listener.hpp"
#include "collector/program/program.hpp"
#include "collector/run/error_watch.hpp"
#include "collector/run/host_sentences.hpp"
#include "collector/run/recording.hpp"
#include "collector/run/report/helper_program.hpp"
#include "collector/run/report/live_summary.hpp"
#include "collector/run/report/pass_through.hpp"
#include "collector/run/report/run_report.hpp"
#include "collector/run/report/tracy_file.hpp"
#include "collector/run/request/collector_words.hpp"
#include "collector/run/request/python_words.hpp"
#include "collector/run/run_signals.hpp"
#include "collector/run/run_typed.hpp"
#include "collector/run/short_programs.hpp"
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
constexpr unsigned kPassThroughMs = 30'000;         // for a Tracy server to take the rest
constexpr const char* kHostName = "run-";  // of the host side's segment, then the number of our process

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
        recording_(place_.capture()),
        summary_(request, place_.capture()) {
    if (errors_ && !errors_->why_not().empty()) say(errors_->why_not());
  }

  int run() {
    if (!request_.quiet) say_plan(plan_);
    const fs::path modules = python_modules();
    listen_to_marks(modules);
    const PythonWords words = python_words(request_, !modules.empty() && marks_->failure().empty());
    if (!words.sentence.empty()) say(words.sentence);
    hold_short_programs(words.command);
    if (!request_.pass_through.empty())
      pass_through_ = std::make_unique<PassThrough>(request_.pass_through, place_.capture());
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
    if (pass_through_) pass_through_->finish(kPassThroughMs);
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
    std::vector<pid_t> all;
    if (collector_) all.push_back(collector_->pid());
    if (summary_.started()) all.push_back(summary_.pid());
    if (pass_through_) all.push_back(pass_through_->pid());
    return all;
  }

  void supervise() {
    while (!workload_->over() && !left_alone_) {
      for (const int number : signals_.wait(kLookMs)) {
        if (number == SIGCHLD) {
          workload_->look(others());
          if (collector_) collector_->running();  // reaps it
          summary_.reap();
          if (pass_through_) pass_through_->reap();
          continue;
        }
        if (number == start_signal() || number == stop_signal()) {
          (number == start_signal() ? start_asked_ : stop_asked_) = true;
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
      report_waiting();
    }
  }

  void hold_short_programs(const std::vector<std::string>& command) {
    if (request_.no_host) return;
    short_ = std::make_unique<ShortPrograms>(words_to_execute(command), environment_);
    if (!request_.wait_for_short) return;
    if (short_->may_wait()) environment_[kWaitVariable] = "1";
    say(short_->sentence());
  }

  // Each once, while they wait.
  void report_waiting() {
    if (value_in(environment_, kWaitVariable).empty()) return;
    for (const pid_t pid : host_->not_understood())
      if (reported_waiting_.insert(pid).second) say(sentence_of_waiting(pid));
  }

  // The folder of our package ttcollect; empty: there is none.
  static fs::path python_modules() {
    std::error_code none;
    const fs::path programs = fs::read_symlink("/proc/self/exe", none).parent_path();
    if (none) return {};
    // The folder of a build, then that of an installation: neither holds other modules that would hide the workload's
    // own.
    for (const fs::path& modules : {programs / "python", programs.parent_path() / "lib/ttcollect/python"})
      if (fs::exists(modules / "ttcollect", none)) return modules;
    return {};
  }

  // Before the workload starts: its environment has the socket's name.
  void listen_to_marks(const fs::path& modules) {
    host_ = std::make_unique<HostServer>(
        getpid(), kHostName + std::to_string(getpid()), request_.context_switches,
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

  // Called from the listener's thread.
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

  // Once, and finally; the workload continues.
  void stop_collecting() {
    const bool stepped = request_.steps && steps_ >= request_.steps;
    if (stopped_ || !(stepped || stop_asked_) || may_still_attach()) return;
    stopped_ = true;
    const std::string steps = stepped ? std::to_string(request_.steps) + " steps have ended; " : "";
    if (collector_)
      say(steps + "collecting ends, the workload continues");
    else if (!request_.no_device)
      say(steps + "collecting was stopped before it started, and does not start any more");
    if (collector_) collector_->ask_to_end();
  }

  void follow() {
    if (!collector_) return;
    try {
      collected_ = recording_.follow(collector_->pid()) > 0;
      if (collected_ && !request_.summary_later && !summary_.started()) summary_.start();
      if (collected_ && !request_.quiet && !std::exchange(looked_, true)) say_what_is_in_the_way();
    } catch (const CaptureError& e) {
      fail(Exit::kOutput, e.what());
    }
  }

  // The collector is started with --quiet and does not print it.
  void say_what_is_in_the_way() const {
    const std::vector<std::string> all{"all"};
    for (const std::string& s : doctor::in_the_way_of(request_.devices.empty() ? all : request_.devices))
      say(s);
  }

  // Used with --paused and --range: the requested part, and the workload with it, may be over before a card is
  // attached to.
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
      say("the workload's first process has ended; collecting continues until these have, too:" + pids +
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
    ended_in_order_ = error.empty();
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
    if (request_.context_switches)
      if (const std::string why = no_context_switches(host_->results()); !why.empty()) say(why);
    if (short_)
      if (const std::string why = short_->keep(host_->results()); !why.empty() && request_.wait_for_short)
        say(why);
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

  void show_summary() {
    const LiveSummary::Lines lines = summary_.finish(ended_in_order_);
    std::fputs(lines.text.c_str(), stdout);
    std::fflush(stdout);
    constexpr int kDamaged = 4;  // what could be read is in the text
    if (lines.exit_code != 0 || request_.verbose)
      for (const std::string& sentence : lines.sentences) say(sentence);
    if (lines.exit_code != 0 && lines.exit_code != kDamaged && failure_ == 0) failure_ = Exit::kOutput;
    broken_off_ = lines.broken_off;
  }

  void report() {
    if (!collected_ && !host_recorded_) return;
    if (collected_) show_summary();
    if (broken_off_) return say("a signal broke the report off; `ttreport` makes it from the capture");
    const std::string logs = host_recorded_ ? host_logs() : std::string();
    if (!collected_) {
      say("the host's side is in " + place_.capture() +
          (logs.empty() ? "" : " and " + logs + "/tracy_ops_*.csv"));
      return;
    }
    const ReportInputs inputs{metal_log(),
                              tracy_capture_program(request_.tools_folder, value_in(environment_, "PATH"))};
    const ReportOutcome outcome = make_run_report(request_, place_, inputs);
    for (const std::string& sentence : outcome.sentences) say(sentence);
    if (outcome.exit_code && failure_ == 0) failure_ = Exit::kOutput;
    say("the report is in " + place_.folder);
  }

  const RunRequest& request_;
  const ClaimedPlace claimed_;
  const ReportPlace& place_;
  const EnvironmentPlan plan_;
  Environment environment_;             // of the workload, but for the plan
  std::unique_ptr<ErrorWatch> errors_;  // null: not requested

  RunSignals signals_;
  Recording recording_;
  LiveSummary summary_;
  std::unique_ptr<PassThrough> pass_through_;  // null: not requested
  std::unique_ptr<ShortPrograms> short_;
  std::set<pid_t> reported_waiting_;
  std::unique_ptr<Workload> workload_;
  std::unique_ptr<HelperProgram> collector_;
  std::unique_ptr<HostServer> host_;     // ends before the recording does
  std::unique_ptr<MarkListener> marks_;  // ends before the host's segment does
  std::atomic<uint64_t> steps_{0};       // that have ended
  std::time_t started_s_ = 0;
  uint64_t first_ended_ns_ = 0, collecting_since_ns_ = 0;
  std::atomic<bool> start_asked_{false}, stop_asked_{false};
  bool stopped_ = false, host_recorded_ = false, reported_left_ = false, left_alone_ = false,
       collected_ = false, looked_ = false, ended_in_order_ = false, broken_off_ = false;
  int failure_ = 0;
  std::string reported_failure_;
};

}  // namespace

int run_workload(const RunRequest& request) {
  const Environment environment = own_environment();
  return RunSession(request, environment).run();
}

}  // namespace ttc::collect

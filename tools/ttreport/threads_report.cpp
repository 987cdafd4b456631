// ttreport threads: when the host's threads ran and waited, of a capture of `ttcollect run --context-switches`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/output_guard.hpp"
#include "tools/output/output.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/host/thread_times.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/ttreport/report.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

class ThreadsReport : public Report {
 public:
  void options(CLI::App& command) override {
    command.add_option("--from,input", from_, "FILE.ttc or live:NAME of a run")->required();
    command.add_option("--json", json_, "write the threads there; - is standard output");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
  }

  int run() override {
    const std::string inputs[] = {from_};
    program::refuse_output_over_input(json_, inputs);
    collect::Wanted facts;
    facts.read_from_ns = ~uint64_t{0};
    const auto source = open_source({from_}, false, 0, facts);
    ThreadTimes times;
    for (std::vector<uint64_t> chunk; source->next(chunk) == Source::Next::chunk;) times.push(chunk);
    const std::vector<ThreadTime> threads = times.threads();
    for (const std::string& complaint : source->complaints()) say(ReportExit::kOk, complaint);
    const int code = source->complaints().empty() ? ReportExit::kOk : ReportExit::kSourceDamaged;
    if (threads.empty())
      return say(code == ReportExit::kOk ? ReportExit::kNoSource : code,
                 from_ +
                     " has no context switches; `ttcollect run --context-switches` records them where the "
                     "workload's "
                     "Tracy client may read them");
    if (json_.empty())
      print(threads);
    else
      write_json(threads);
    return code;
  }

 private:
  static constexpr double kNsPerMs = 1e6, kNsPerUs = 1e3;

  void print(const std::vector<ThreadTime>& threads) const {
    TextTable table({{"Process", true, 3, 8},
                     {"Thread", true, 0, 8},
                     {"TID"},
                     {"Running ms"},
                     {"Running %"},
                     {"Got a CPU"},
                     {"Sleeping ms", false, 2},
                     {"Blocked ms", false, 1},
                     {"Ready ms"},
                     {"Longest ready \u03bcs", false, 1}});
    const auto ms = [](uint64_t ns) { return thousands(static_cast<double>(ns) / kNsPerMs, 2); };
    for (const ThreadTime& t : threads) {
      const auto span = static_cast<double>(t.end_ns - t.begin_ns);
      table.row({{t.process},
                 {t.name.empty() ? "thread " + std::to_string(t.tid) : t.name},
                 {std::to_string(t.tid)},
                 {ms(t.running_ns)},
                 {span > 0 ? thousands(100 * static_cast<double>(t.running_ns) / span, 1) : ""},
                 {thousands(static_cast<double>(t.switches), 0)},
                 {ms(t.sleeping_ns + t.other_ns)},
                 {ms(t.blocked_ns)},
                 {ms(t.ready_ns)},
                 {thousands(static_cast<double>(t.longest_ready_ns) / kNsPerUs, 1)}});
    }
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    const auto width = static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0));
    std::fputs(table.text(width, color).c_str(), stdout);
    std::puts(
        "Ready: woken or preempted, and without a CPU. Blocked: asleep in the kernel, for a disk or a "
        "driver.");
  }

  void write_json(const std::vector<ThreadTime>& threads) const {
    json all = json::array();
    for (const ThreadTime& t : threads)
      all.push_back({{"process", t.process},
                     {"thread", t.name},
                     {"tid", t.tid},
                     {"switches", t.switches},
                     {"running_ns", t.running_ns},
                     {"sleeping_ns", t.sleeping_ns},
                     {"blocked_ns", t.blocked_ns},
                     {"ready_ns", t.ready_ns},
                     {"other_ns", t.other_ns},
                     {"longest_ready_ns", t.longest_ready_ns},
                     {"begin_ns", t.begin_ns},
                     {"end_ns", t.end_ns}});
    Output out(json_, false);
    out.append(program::json_text(json{{"threads", std::move(all)}}, 1) + "\n");
    out.commit();
  }

  std::string from_, json_;
  bool color_ = false, no_color_ = false;
};

}  // namespace

std::unique_ptr<Report> make_threads_report() {
  return std::make_unique<ThreadsReport>();
}

}  // namespace ttc::tools

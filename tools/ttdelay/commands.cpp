#include "tools/ttdelay/commands.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/option_units.hpp"
#include "collector/program/printable.hpp"
#include "tools/output/output.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/ttdelay/plan/environment.hpp"
#include "tools/ttdelay/plan/plan_json.hpp"
#include "tools/ttdelay/report/report_output.hpp"
#include "tools/ttdelay/run/experiment_run.hpp"
#include "tools/ttdelay/run/processes.hpp"

namespace ttc::delay {
namespace {

using Exit = program::DelayExit;
using json = nlohmann::ordered_json;

std::string what_is_run(const PlannedRun& run, const std::vector<Unit>& units) {
  if (run.arm != Arm::delay) return to_string(run.arm);
  return units[run.unit].label() + " by " + std::to_string(run.cycles) + " cycles";
}

std::string minutes(double ns) {
  char text[48];
  const double s = ns / 1e9;
  std::snprintf(text, sizeof text,
                s < 120    ? "%.0f s"
                : s < 7200 ? "%.0f min"
                           : "%.1f h",
                s < 120    ? s
                : s < 7200 ? s / 60
                           : s / 3600);
  return text;
}

std::string estimate_of(const Experiment& e, size_t runs, uint64_t run_ns) {
  const auto all = static_cast<double>(runs);
  if (run_ns) return minutes(all * static_cast<double>(run_ns)) + ", and the trial";
  return "at most " + minutes(all * static_cast<double>(e.limits.run_ns)) +
         ", the runs' limit; --run-time sets the expected duration of one";
}

json run_json(const Experiment& e, const PlannedRun& run, const std::vector<Unit>& units) {
  json j{{"run", run.number}, {"arm", to_string(run.arm)}};
  if (run.arm == Arm::delay) j.update({{"unit", units[run.unit].label()}, {"cycles", run.cycles}});
  j["environment"] = variables_of(e, run, Build{});
  return j;
}

void write_text(const std::string& path, const std::string& text) {
  tools::Output out(path, false);
  out.append(text);
  out.commit();
}

// The page of a run without delays, where one has a capture with programs in it.
std::string page_of_a_run(const Options& o, const JournalContent& journal) {
  namespace fs = std::filesystem;
  if (!journal.trial || !journal.trial->device_zones) return "";
  for (const RunRecord& r : journal.runs) {
    if (r.arm != Arm::watcher_only || !r.valid) continue;
    char name[32];
    std::snprintf(name, sizeof name, "/runs/%04u/reports", r.number);
    std::error_code none;
    for (fs::recursive_directory_iterator i(o.folder + name, none), end; !none && i != end;
         i.increment(none)) {
      if (i->path().filename() != "run.ttc") continue;
      const Printed page = run_program_of_ours("ttreport", {"html", i->path(), "-o", "-"});
      if (page.code == 0) return page.out;
    }
  }
  return "";
}

int make_runs(const Options& o, const std::atomic<bool>& stop) {
  Experiment e = experiment_of(o.plan);
  const auto print_line = [&](const std::string& line) {
    if (!o.quiet) program::say(kTtdelay, 0, line);
  };
  const ExperimentSummary s = run_experiment(
      e, o.folder, [&e] { return card::open_card(e.device); }, stop, print_line);
  switch (s.end) {
    case ExperimentEnd::complete:
      break;
    case ExperimentEnd::stopped:
      return program::say(kTtdelay, Exit::kStopped,
                          s.why + "; the same command continues where this one ended");
    case ExperimentEnd::no_build:
      return program::say(kTtdelay, Exit::kNoSource, s.why);
    case ExperimentEnd::unwell:
    case ExperimentEnd::hung:
      return program::say(kTtdelay, Exit::kCard, s.why);
  }
  if (s.delayed > 0 && s.untaken == s.delayed)
    return program::say(kTtdelay, Exit::kInvalid,
                        "the workload ignores the delays: in none of " + std::to_string(s.delayed) +
                            " delayed runs were they taken; `ttdelay report " + o.folder +
                            "` has the details");
  if (s.invalid)
    return program::say(kTtdelay, Exit::kInvalid,
                        std::to_string(s.invalid) + " runs are in no average; `ttdelay report " + o.folder +
                            "` has the reasons");
  return Exit::kOk;
}

}  // namespace

int plan_command(const Options& o) {
  Experiment e = experiment_of(o.plan);
  if (e.seed == 0) e.seed = drawn_seed();
  const std::vector<PlannedRun> runs = schedule_of(e, e.seed);
  const std::vector<Unit> units = units_of(e);
  if (o.json) {
    json all = json::array();
    for (const PlannedRun& run : runs) all.push_back(run_json(e, run, units));
    std::printf("%s\n", program::json_text(
                            json{{"seed", e.seed}, {"experiment", to_json(e)}, {"runs", std::move(all)}}, 1)
                            .c_str());
    return Exit::kOk;
  }
  std::printf("%s: %zu runs of %zu unit%s, order by seed %llu; estimated time: %s\n",
              program::printable(e.name).c_str(), runs.size(), units.size(), units.size() == 1 ? "" : "s",
              static_cast<unsigned long long>(e.seed), estimate_of(e, runs.size(), o.run_time_ns).c_str());
  std::printf(
      "before them a trial finds out whether the device's profiler fits beside the watcher, and which of the "
      "watcher's features "
      "must be left out; its variables are in every run with the watcher\n");
  for (const PlannedRun& run : runs) {
    std::string words = shell_line(variables_of(e, run, Build{}), {});
    if (words.empty()) words = "env -u TT_METAL_WATCHER -u TT_METAL_WATCHER_DEBUG_DELAY";
    std::printf("%5u  %-40s %s\n", run.number, program::printable(what_is_run(run, units)).c_str(),
                program::printable(words).c_str());
  }
  return Exit::kOk;
}

int report_command(const Options& o) {
  const Experiment e = experiment_in(o.folder);
  const JournalContent journal = read_journal(o.folder + "/journal.jsonl");
  const Analysis a = analyse(e, journal, o.faster);
  if (!o.csv.empty()) write_text(o.csv, report_csv(a));
  if (!o.json_file.empty()) write_text(o.json_file, report_json(e, journal, a));
  if (!o.html.empty()) write_text(o.html, report_page(e, journal, a, page_of_a_run(o, journal)));
  if (o.csv.empty() && o.json_file.empty()) {
    const bool color = report::wants_color(STDOUT_FILENO, o.color, o.no_color);
    const std::string text = report_text(e, a, o.top, report::terminal_columns(STDOUT_FILENO, 0), color);
    std::fputs(text.c_str(), stdout);
  }
  return Exit::kOk;
}

int run_command(const Options& o, const std::atomic<bool>& stop) {
  const int code = make_runs(o, stop);
  if (o.html.empty() || (code != Exit::kOk && code != Exit::kInvalid)) return code;
  const int reported = report_command(o);
  return reported == Exit::kOk ? code : reported;
}

}  // namespace ttc::delay

// The command line of `ttcollect run`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "collector/program/option_names.hpp"
#include "collector/program/program.hpp"
#include "collector/run/run_command.hpp"
#include "collector/run/run_typed.hpp"

namespace ttc::collect {
namespace {

constexpr const char* kFooter =
    "CMD is a program with its arguments, one quoted line for the shell, a Python script, or with -m a "
    "module.\n"
    "Exit code: the workload's (128 + N where signal N ended it), 126 and 127 where it could not be "
    "started.\n"
    "With --strict-exit a failure of ours counts where the workload's is 0. docs/run.md has every option "
    "and\n"
    "the variable that it sets.";

bool is_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
}

// Options that are given before the workload, and that have another name here.
struct Spelling {
  const char* given;
  const char* right;
};
constexpr Spelling kSpellings[] = {
    {"--report", "-r"},
    {"--partial", "-p"},
    {"--output", "-o"},
    {"--output_path", "-o"},
    {"--name", "-n"},
    {"--capture", "no option, `run` always captures"},
    {"--profile-dispatch", "--profile-dispatch-cores"},
    {"--noc-traces", "--collect-noc-traces"},
    {"--sync", "--sync-host-device"},
    {"--signpost", "--start-signpost"},
    {"--web-app-port", "no option, `ttexport --format tracy` serves viewers"},
    {"--enable-accumulate-profiling", "no option, tt-metal does not report such runs"},
};

}  // namespace

RunCommand::RunCommand(CLI::App& app)
    : command_(program::add_command(app, "run", "collect around a workload, and report when it is over")),
      mark_(program::add_command(app, "mark", "set a mark on the timeline of a `ttcollect run`")),
      typed_(std::make_unique<Typed>()) {
  typed_->request.switches.resize(switch_variables().size());
  add_options();
  CLI::Option* text = mark_->add_option("text", typed_->mark, "the text of the mark");
  mark_->add_flag("--start", typed_->start, "collecting starts, of a run with --paused")->excludes(text);
  mark_->add_flag("--stop", typed_->stop, "collecting stops; the workload continues")
      ->excludes(text)
      ->excludes("--start");
  mark_->add_option("--run", typed_->marked_run,
                    "PID of the `ttcollect run` (default: the one that is there)");
}
RunCommand::~RunCommand() = default;

void RunCommand::add_options() {
  CLI::App& c = *command_;
  RunRequest& r = typed_->request;
  c.footer(kFooter);
  c.prefix_command();
  c.add_option("-o,--output-folder", r.root,
               "root of the artifacts; sets TT_METAL_PROFILER_DIR (default: as tt-metal has it)");
  c.add_option("-n,--name-append", r.name, "folder below reports/, and part of file names");
  c.add_option("-d,--device", r.devices, "cards to collect from, as of ttcollect (default: all)")
      ->expected(1);
  c.add_option("--collector", r.collector_options,
               "'OPTIONS' of ttcollect for the collector, as '--ring 64MiB'");
  c.add_flag("-r", typed_->ignored, "make the report: always done");
  c.add_flag("-v", r.verbose, "show the messages of collector and report");
  c.add_flag("-q,--quiet", r.quiet, "print no variables, no progress");
  c.add_option("-t,--port", typed_->port, "taken and not needed: every process has a port of its own");
  c.add_option("-m", r.module, "MODULE: run a Python module, with CMD as its arguments");
  c.add_flag("-p", r.partial, "Python: only functions between Profiler().enable() and disable()");
  c.add_flag("-l", r.lines, "Python: a zone for each line, too");
  c.add_flag("--no-device", r.no_device, "no device side: TT_METAL_DEVICE_PROFILER is not set");
  c.add_flag("--no-host", r.no_host, "no host side: do not connect to Tracy clients");
  for (size_t i = 0; i < switch_variables().size(); ++i) {
    const SwitchVariable& s = switch_variables()[i];
    c.add_flag_function(
        s.option, [&r, i](int64_t times) { r.switches[i] = times > 0; },
        std::string(s.what) + "; sets " + s.variable + "=1");
  }
  c.add_flag("--collect-noc-traces", r.noc_traces,
             "record NoC events and write tt-npe's files; sets TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1");
  c.add_option("--op-support-count", r.programs_per_core,
               "programs a core's log holds; sets TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT")
      ->check(CLI::Range(1u, 1000000u));
  c.add_option("--profiler-capture-perf-counters", r.perf_counters,
               "fpu,pack,unpack,l1_0,...,all; sets TT_METAL_PROFILE_PERF_COUNTERS");
  c.add_option("--child-functions", r.child_functions, "A,B: further zones whose time is summed by op");
  c.add_option("--steps", r.steps, "end collecting after N steps of the module or header ttcollect")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40));
  c.add_option("--range", typed_->range,
               "A..B: collect from the begin of step A to the end of step B, and summarize these");
  c.add_flag("--paused", r.paused,
             "collect from the device between start and stop only: ttcollect.start(), mark --start");
  c.add_option("--start-signpost", r.start_signpost, "the summary begins behind this signpost");
  c.add_option("--end-signpost", r.end_signpost, "and ends at this one");
  c.add_flag("--context-switches", r.context_switches,
             "record when threads run and wait, where Tracy's clients may see it; sets TRACY_NO_SAMPLING=1 "
             "and others "
             "instead of TRACY_NO_SYS_TRACE");
  c.add_flag("--wait-for-short", r.wait_for_short,
             "processes that end before they are connected to wait for that, where an earlier run has served "
             "the same "
             "program; sets TRACY_NO_EXIT=1");
  c.add_option("--pass-through", r.pass_through,
               "PORT or ADDR:PORT: Tracy GUIs and capture programs may connect there while the run lasts, "
               "and before it")
      ->type_name("[ADDR:]PORT");
  c.add_flag("--summary-later", r.summary_later,
             "make the summary when the workload is over, and not while it runs");
  c.add_flag("--watch-stderr", r.watch_stderr,
             "search what the workload writes to its standard error for known texts, and print cause and fix "
             "at its end");
  c.add_flag("--strict-exit", r.strict_exit, "our own failure counts where the workload gave 0");
  c.add_flag("--check-exit-code", r.check_exit_code, "no report when the workload failed");
  c.add_flag("--process-logs-only", typed_->logs_only, "no workload: report what ROOT/.logs has");
  c.add_flag("--device-log,--no-runtime-analysis", typed_->ignored,
             "taken; the device log is always written");
  c.add_option("--tracy-tools-folder", r.tools_folder,
               "where Tracy's capture program is, for a .tracy file (default: PATH; not needed otherwise)");
  c.add_option("-a,--device-analysis-types", typed_->analyses, "taken and not needed: all are made");
}

// The options of `run` end at "--", behind -m MODULE as Python's do, or at the first word that is no option and no value
// of one. What follows is taken off here, because it may be any text.
std::vector<char*> RunCommand::without_workload(int argc, char** argv) {
  std::vector<char*> rest(argv, argv + argc);
  if (argc < 2 || std::strcmp(argv[1], "run") != 0) return rest;
  size_t at = 2;
  const auto cut = [&](size_t from, size_t keep) {
    typed_->request.command.assign(rest.begin() + static_cast<std::ptrdiff_t>(std::min(from, rest.size())),
                                   rest.end());
    rest.resize(std::min(keep, rest.size()));
    return rest;
  };
  while (at < rest.size()) {
    const std::string word = rest[at];
    if (word == "--") return cut(at + 1, at);
    if (word.size() < 2 || word[0] != '-') return cut(at, at);
    if (word == "-m") return cut(at + 2, at + 2);
    const size_t equals = word.find('=');
    const CLI::Option* option = command_->get_option_no_throw(word.substr(0, equals));
    at += option && option->get_items_expected_min() > 0 && equals == std::string::npos ? 2 : 1;
  }
  return rest;
}

void RunCommand::refuse_what_is_wrong() const {
  const std::vector<std::string>& words = typed_->request.command;
  for (const std::string& word : command_->remaining()) {
    const std::string name = word.substr(0, word.find('='));
    for (const Spelling& s : kSpellings)
      if (name == s.given)
        throw program::UsageError("run has no option " + name + "; what does it is " + s.right);
    const std::string near = program::near_option(*command_, name);
    throw program::UsageError("run has no option " + name + "; " +
                              (near.empty() ? "" : "did you mean " + near + "? ") +
                              "`ttcollect run --help` lists them. Options of the workload must follow it");
  }
  if (typed_->request.partial && !words.empty() && is_number(words[0]))
    throw program::UsageError("-p " + words[0] +
                              ": -p is a flag here, as in python -m tracy; a port is given by -t " +
                              words[0] + " and not needed");
  if (!typed_->port.empty() && !is_number(typed_->port))
    throw program::UsageError("-t " + typed_->port + ": -t is the port, as in python -m tracy, a number");
}

int RunCommand::run_mark() const {
  const char kind = typed_->start ? 'r' : typed_->stop ? 's' : 'm';
  if (kind == 'm' && typed_->mark.empty())
    throw program::UsageError("mark: its text is missing, as in `ttcollect mark \"warm-up is over\"`");
  return set_mark(kind, typed_->mark, typed_->marked_run);
}

std::optional<int> RunCommand::run() {
  if (*mark_) return run_mark();
  if (!*command_) return std::nullopt;
  refuse_what_is_wrong();
  RunRequest& r = typed_->request;
  const bool has_command = !r.command.empty() || !r.module.empty();
  if (r.name.find('/') != std::string::npos || r.name == "." || r.name == "..")
    throw program::UsageError("-n " + r.name + ": a name is a folder below reports/ and has no '/'");
  if (typed_->logs_only && has_command)
    throw program::UsageError("--process-logs-only takes no workload; leave out one of the two");
  if (!typed_->logs_only && !has_command)
    throw program::UsageError("what should run is missing, as in `ttcollect run -- python3 model.py`");
  if (r.lines && !r.partial) throw program::UsageError("-l needs -p, as in python -m tracy");
  if (!r.perf_counters.empty()) perf_counter_bits(r.perf_counters);
  if (!typed_->range.empty()) set_range(typed_->range, typed_->request);
  return typed_->logs_only ? report_logs(r) : run_workload(r);
}

}  // namespace ttc::collect

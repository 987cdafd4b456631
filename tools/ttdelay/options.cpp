#include "tools/ttdelay/options.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/option_units.hpp"

namespace ttc::delay {
namespace {

void add_experiment(CLI::App& c, PlanOptions& o) {
  c.add_option(
      "plan", o.file,
      "FILE.toml of the experiment (docs/delays.md); options, and a workload after --, take precedence");
  c.add_option("--kind", o.kinds, "transactions to delay, repeatable: read, write, atomic")
      ->allow_extra_args(false);
  c.add_option(
       "--cores", o.cores,
       "cores to delay together, repeatable: 'x,y', '(x,y)-(x,y)', '(x,y),(x,y)', or 'each (x,y)-(x,y)',\n"
       "in logical coordinates")
      ->allow_extra_args(false);
  c.add_option("--riscs", o.riscs,
               "BR, NC, TR0, TR1, TR2 or TR*, repeatable, each by itself (default: all together)")
      ->allow_extra_args(false);
  c.add_option("--cycles", o.cycles, "delays, as in 500,1000,2000")->delimiter(',');
  c.add_option("--repetitions", o.repetitions, "runs of each delay (default: 5)");
  c.add_option("--watcher-only", o.watcher_only, "runs with the watcher and without delays (default: 10)");
  c.add_option("--plain", o.plain, "runs without the watcher (default: 3)");
  c.add_option("--seed", o.seed, "of the order of runs (default: drawn, and printed)")
      ->check(CLI::Range(uint64_t{1}, uint64_t{UINT32_MAX}));
  c.add_option("-d,--device", o.device, "the card whose feedback words are read (default: 0)");
  c.add_option("--checksum", o.checksum,
               "regular expression for standard output; its group is the output's checksum");
  c.add_option("--number", o.numbers,
               "NAME=EXPRESSION, repeatable: an observable in standard output, microseconds")
      ->allow_extra_args(false);
  c.add_option("--host-files", o.host_files,
               "folder of the host's tracy_ops_data.csv; {run} is the run's folder");
  c.add_flag("--no-device-zones", o.no_device_zones, "do not try whether the device's profiler fits");
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + quoted(text);
  return out + "]";
}

// Options go through the reader of files, so that there is one set of rules; a sentence then names the option in place of a line.
std::string option_file(const PlanOptions& o) {
  std::string vary, observe;
  if (!o.kinds.empty()) vary += "kinds = " + list_of(o.kinds) + "\n";
  if (!o.cores.empty()) vary += "cores = " + list_of(o.cores) + "\n";
  if (!o.riscs.empty()) vary += "riscs = " + list_of(o.riscs) + "\n";
  if (!o.checksum.empty()) observe += "checksum = " + quoted(o.checksum) + "\n";
  return (vary.empty() ? "" : "[vary]\n" + vary) + (observe.empty() ? "" : "[observe]\n" + observe);
}

Experiment read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw PlanError(path + " cannot be read: " + std::strerror(errno));
  return read_experiment(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

// "{bin}": the folder of this program, "{plan}": that of the plan's file.
void place_words(Experiment& e, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path plan = file.empty() ? fs::current_path() : fs::absolute(file).parent_path();
  const std::pair<std::string, std::string> places[] = {
      {"{bin}", fs::read_symlink("/proc/self/exe").parent_path()}, {"{plan}", plan}};
  for (std::string& word : e.command)
    for (const auto& [what, by] : places)
      for (size_t at = word.find(what); at != std::string::npos; at = word.find(what, at + by.size()))
        word.replace(at, what.size(), by);
}

void take_numbers(const PlanOptions& o, Observe& observe) {
  for (const std::string& one : o.numbers) {
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw PlanError("--number '" + one + "' is not NAME=EXPRESSION");
    const Experiment read = read_experiment("[observe]\n[observe.numbers]\n" + quoted(one.substr(0, equals)) +
                                                " = " + quoted(one.substr(equals + 1)) + "\n",
                                            "--number");
    observe.numbers.insert(read.observe.numbers.begin(), read.observe.numbers.end());
  }
}

}  // namespace

Experiment experiment_of(const PlanOptions& o) {
  const std::string name = o.file.empty() ? "the options" : o.file;
  Experiment e = o.file.empty() ? Experiment{} : read_file(o.file);
  const Experiment own = read_experiment(option_file(o), "options");
  if (!o.kinds.empty()) e.vary.kinds = own.vary.kinds;
  if (!o.cores.empty()) e.vary.cores = own.vary.cores;
  if (!o.riscs.empty()) e.vary.riscs = own.vary.riscs;
  if (!o.checksum.empty()) e.observe.checksum = own.observe.checksum;
  if (!o.cycles.empty()) {
    std::string list;
    for (const uint32_t c : o.cycles) list += (list.empty() ? "" : ", ") + std::to_string(c);
    e.vary.cycles = read_experiment("[vary]\ncycles = [" + list + "]\n", "--cycles").vary.cycles;
  }
  if (o.repetitions) e.vary.repetitions = *o.repetitions;
  if (o.watcher_only) e.vary.watcher_only = *o.watcher_only;
  if (o.plain) e.vary.plain = *o.plain;
  if (e.vary.repetitions == 0 || e.vary.watcher_only == 0)
    throw PlanError(
        "--repetitions and --watcher-only must be at least 1: without them there is nothing to compare");
  if (o.seed) e.seed = *o.seed;
  if (o.limit_ns) e.limits.run_ns = *o.limit_ns;
  if (o.silent_ns) e.limits.silent_ns = *o.silent_ns;
  if (!o.device.empty()) e.device = o.device;
  if (!o.reset_command.empty()) e.reset_command = o.reset_command;
  if (!o.host_files.empty()) e.observe.host_files = o.host_files;
  if (o.no_device_zones) e.observe.device_zones = false;
  if (!o.command.empty()) e.command = o.command;
  place_words(e, o.file);
  take_numbers(o, e.observe);
  check_experiment(e, name);
  return e;
}

void add_plan_options(CLI::App& c, Options& o) {
  add_experiment(c, o.plan);
  program::add_duration_option(c, "--run-time", o.run_time_ns,
                               "how long a run takes, for the estimated time");
  c.add_flag("--json", o.json, "print the runs as JSON");
}

void add_run_options(CLI::App& c, Options& o) {
  add_experiment(c, o.plan);
  c.add_option("-o,--output-folder", o.folder, "folder of the experiment; an existing one is continued")
      ->required();
  c.add_option("--reset-cmd", o.plan.reset_command,
               "for the shell, after a hang, as in 'tt-smi -r 0'; without it the experiment then stops");
  program::add_duration_option(
      c, "--limit", [&o](uint64_t ns) { o.plan.limit_ns = ns; }, "time limit of a run (default: 5min)");
  program::add_duration_option(
      c, "--silent", [&o](uint64_t ns) { o.plan.silent_ns = ns; },
      "a run without a byte of output for this long counts as hung (default: 60s)");
  c.add_option("--html", o.html, "when all runs are made, write the report's page there");
  c.add_flag("-q,--quiet", o.quiet, "no line for every run");
}

void add_report_options(CLI::App& c, Options& o) {
  c.add_option("folder", o.folder, "of an experiment, whether it is complete or not")->required();
  c.add_option("--top", o.top, "lines of each table; 0: all")->capture_default_str();
  c.add_option("--faster", o.faster, "cycles, of the virtual speed-up (default: the smallest delay)");
  c.add_option("--csv", o.csv, "write all units, observables and delays there; - is standard output");
  c.add_option("--json", o.json_file, "write everything there; - is standard output");
  c.add_option("--html", o.html, "write a page with the chip's heat map there");
  c.add_flag("--color", o.color, "colours also into a file or pipe");
  c.add_flag("--no-color", o.no_color, "no colours; NO_COLOR does the same");
}

}  // namespace ttc::delay

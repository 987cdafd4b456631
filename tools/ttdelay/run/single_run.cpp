#include "tools/ttdelay/run/single_run.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/ttdelay/run/build_failure.hpp"
#include "tools/ttdelay/run/observables.hpp"
#include "tools/ttdelay/run/processes.hpp"
#include "tools/ttdelay/run/supervision.hpp"
#include "tools/ttdelay/run/verdict.hpp"

namespace ttc::delay {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kRunGraceNs = 3'000'000'000;  // from SIGTERM to SIGKILL
constexpr int kKilled = 128 + 9, kTerminated = 128 + 15, kCannotStart = 126, kNotFound = 127;
constexpr size_t kLastWords = 600;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string end_of(const std::string& text) {
  return text.size() <= kLastWords ? text : text.substr(text.size() - kLastWords);
}

// tt-metal's text when it stops using a device: "TIMEOUT: device timeout, potential hang detected, the device is unrecoverable" or
// "TIMEOUT: device timeout in fetch queue wait, potential hang detected" with TT_METAL_OPERATION_TIMEOUT_SECONDS, "Timeout (N ms) waiting
// for physical cores to finish" without (messages in tt-metal PR 30357, tt-xla issue 5789). No wait for a socket ends so (53849).
bool says_hang(const std::string& text) {
  return text.find("potential hang detected") != std::string::npos ||
         text.find("device timeout") != std::string::npos ||
         text.find("waiting for physical cores to finish") != std::string::npos;
}

Variables whole_environment(const RunPlace& place, const PlannedRun& run, const Build& build) {
  Variables all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos && !is_ours(text.substr(0, equals)))
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : variables_of(place.experiment, run, build)) all[name] = value;
  const std::string cache = cache_directory(place.experiment, run, place.folder.path());
  if (!cache.empty()) all["TT_METAL_CACHE"] = cache;
  all[kMarkVariable] = place.folder.mark() + "/" + std::to_string(run.number);
  return all;
}

std::vector<std::string> words_of(const RunPlace& place, const PlannedRun& run, const Build& build,
                                  const std::string& folder) {
  const Experiment& e = place.experiment;
  std::vector<std::string> words{own_program("ttcollect"), "run", "-q", "-o", folder};
  if (build.device_zones)
    words.insert(words.end(), {"-d", e.device});
  else
    words.emplace_back("--no-device");
  for (const std::string& option : e.collect_options) words.push_back(option);
  words.emplace_back("--");
  for (const std::string& word : e.command) words.push_back(with_run(word, folder, run.number));
  return words;
}

// Why a run that was broken off was, or nothing: 0, or the workload's own failure.
std::string broken_off_by(const Supervised& s) {
  if (s.by_signal) return "`ttcollect run` was ended by signal " + std::to_string(s.exit_code - 128);
  if (s.exit_code == kKilled || s.exit_code == kTerminated)
    return "the workload was ended by signal " + std::to_string(s.exit_code - 128);
  return "";
}

void set_outcome(SingleRun& one, const Supervised& s, const Limits& limits, const std::string& printed) {
  RunRecord& r = one.record;
  r.exit_code = s.exit_code;
  r.seconds = s.seconds;
  if (s.how == RunEnd::silent || s.how == RunEnd::over_limit) {
    r.outcome = Outcome::hang;
    r.why = s.how == RunEnd::silent
                ? "no sign of life for " + std::to_string(limits.silent_ns / 1'000'000) + " ms"
                : "not over after " + std::to_string(limits.run_ns / 1'000'000) + " ms";
  } else if (std::string why = broken_off_by(s); !why.empty()) {
    r.outcome = Outcome::broken_off;
    r.why = why;
  } else if (s.exit_code != 0 && says_hang(printed)) {
    r.outcome = Outcome::hang;
    r.why = "tt-metal gave the device up, exit code " + std::to_string(s.exit_code);
  } else if (s.exit_code != 0) {
    r.outcome = Outcome::failed;
    r.why = "the workload ended with exit code " + std::to_string(s.exit_code);
  }
}

std::string core_text(const LogicalCore& core) {
  return std::to_string(core.x) + "," + std::to_string(core.y);
}

void set_feedback(SingleRun& one) {
  for (const auto& [core, bits] : one.card.feedback) one.record.feedback[core_text(core)] = bits;
}

void set_waypoints(SingleRun& one) {
  for (const auto& [core, texts] : one.card.waypoints) {
    std::string& all = one.record.waypoints[core_text(core)];
    for (const std::string& text : texts) all += (all.empty() ? "" : " ") + (text.empty() ? "-" : text);
  }
}

}  // namespace

std::string command_of(const Experiment& e, const PlannedRun& run, const Build& build,
                       const std::string& cache) {
  std::vector<std::string> words;
  bool folder = false;
  for (const std::string& word : e.command) {
    folder = folder || word.find("{run}") != std::string::npos;
    words.push_back(with_run(word, "{run}", run.number));
  }
  Variables variables = variables_of(e, run, build);
  std::string line;
  for (const char* name : {"TT_METAL_WATCHER", "TT_METAL_WATCHER_DEBUG_DELAY"})
    if (!variables.contains(name)) line += (line.empty() ? "env -u " : " -u ") + std::string(name);
  if (build.device_zones) variables["TT_METAL_DEVICE_PROFILER"] = "1";
  if (!cache.empty()) variables["TT_METAL_CACHE"] = cache;
  std::string own = shell_line(variables, words);
  if (!line.empty()) own = line + (own.starts_with("env ") ? own.substr(3) : " " + own);
  // In a quoted word the folder's name must be outside of the quotes, so that the shell expands it.
  for (size_t at = own.find("{run}"); at != std::string::npos; at = own.find("{run}", at))
    own.replace(at, 5, "'\"$RUN\"'");
  for (size_t at = own.find("''\"$RUN\""); at != std::string::npos; at = own.find("''\"$RUN\""))
    own.erase(at, 2);
  for (size_t at = own.find("\"$RUN\"''"); at != std::string::npos; at = own.find("\"$RUN\"''"))
    own.erase(at + 6, 2);
  return folder ? "RUN=$(mktemp -d) && " + own : own;
}

SingleRun make_run(const RunPlace& place, const PlannedRun& run, const Build& build,
                   std::optional<RecordPlace> record) {
  SingleRun one;
  RunRecord& r = one.record;
  r.number = run.number;
  r.arm = run.arm;
  if (run.arm == Arm::delay) {
    r.unit = units_of(place.experiment)[run.unit].label();
    r.cycles = run.cycles;
  }
  r.command =
      command_of(place.experiment, run, build, cache_directory(place.experiment, run, place.folder.path()));
  const std::string folder = place.folder.run_path(run.number);
  fs::remove_all(folder);  // of an attempt that was broken off
  fs::create_directories(folder);
  Start start{words_of(place, run, build, folder), whole_environment(place, run, build), folder + "/stdout",
              folder + "/stderr"};
  CardWatch watch(place.open, masks_of(place.experiment, run), record);
  const pid_t pid = start_process(start);
  watch.start();
  const Supervised s = supervise(pid, place.experiment.limits, {folder}, place.stop);
  // A card that hangs is examined before its processes are ended, which may be the end of the card.
  if (s.how != RunEnd::ended) one.card = watch.stop();
  end_marked(start.environment.at(kMarkVariable), kRunGraceNs);
  if (s.how == RunEnd::ended) one.card = watch.stop();
  set_feedback(one);
  if (s.how == RunEnd::stopped) {
    one.stopped = true;
    return one;
  }
  const std::string said = file_text(folder + "/stderr"),
                    printed = said + "\n" + file_text(folder + "/stdout");
  one.last_words = end_of(said);
  set_outcome(one, s, place.experiment.limits, printed);
  if (s.how == RunEnd::ended && (s.exit_code == kNotFound || s.exit_code == kCannotStart))
    throw StartError("the workload cannot be started: " + one.last_words);
  if (r.outcome == Outcome::failed) one.refused = build_failure(printed);
  if (r.outcome == Outcome::hang) set_waypoints(one);
  const Observed seen = observe(place.experiment.observe, folder, run.number, build.device_zones, s.seconds);
  one.zones = seen.zones;
  r.output = seen.output;
  if (r.outcome != Outcome::ok) return one;
  r.values = seen.values;
  if (run.number == kTrial) return one;
  r.why = not_taken(place.experiment, run, one.card);
  r.valid = r.why.empty();
  return one;
}

}  // namespace ttc::delay

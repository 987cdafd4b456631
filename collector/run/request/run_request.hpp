// The request for `ttcollect run`, and the environment that follows from it. Plain values, no I/O but own_environment().
//
// Options of `python -m tracy` (tt-metal tools/tracy/__main__.py) and of tt_profile keep their meaning here. Each
// that only sets a variable of tt-metal is a row of switch_variables().
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/host/process_environment.hpp"

namespace ttc::collect {

struct SwitchVariable {
  const char* option;
  const char* variable;  // set to 1
  const char* what;
};
std::span<const SwitchVariable> switch_variables();

struct RunRequest {
  std::vector<std::string> command;  // one word with spaces: a line for the shell
  std::string root;                  // of the artifacts; empty: by variables, then generated/profiler
  std::string name;                  // of the report
  std::vector<std::string> devices;  // empty: all
  std::string collector_options;     // further words for the collector
  std::string module;                // -m: a Python module; `command` holds its arguments
  std::vector<bool> switches;        // by row of switch_variables()
  uint64_t steps = 0;                // end collecting after so many; 0: with the workload
  // Collect from the begin of this step, and to the end of that one.
  std::optional<uint64_t> first_step, last_step;
  bool paused = false;             // collect between start and stop only
  uint32_t programs_per_core = 0;  // --op-support-count
  std::string perf_counters;       // --profiler-capture-perf-counters
  std::string child_functions;     // comma list
  std::string tools_folder;        // where a capture program of Tracy may be
  std::string start_signpost, end_signpost;
  bool window_of_range = false;  // these two follow from --range
  bool summary_later = false;    // not while the workload runs
  bool wait_for_short = false, context_switches = false;
  std::string pass_through;  // PORT or ADDR:PORT for Tracy servers; empty: none
  bool no_device = false, partial = false, lines = false, noc_traces = false;
  bool verbose = false, strict_exit = false, check_exit_code = false, no_host = false, quiet = false,
       watch_stderr = false;
};

// The words that are executed: a single word with white space is a line for the shell, unless it is a file.
std::vector<std::string> words_to_execute(const std::vector<std::string>& command);

// The environment of this process.
Environment own_environment();

// A..B, A.. or ..B: of steps by their numbers; also the window of the summary. Throws program::UsageError.
void set_range(const std::string& text, RunRequest& request);

// Bits of TT_METAL_PROFILE_PERF_COUNTERS. Throws program::UsageError for a group that does not exist.
uint32_t perf_counter_bits(const std::string& groups);

// What the workload's environment gets beyond what is there.
struct EnvironmentPlan {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  std::vector<std::string> sentences;  // of what was left as the user has it, or taken away
};
// `root`: absolute. A variable that `given` has keeps its value, and a sentence names it where an option of this
// run needs another one. Two are removed: TRACY_PORT, and the profiler's switch with --no-device.
EnvironmentPlan plan_environment(const RunRequest& request, const Environment& given,
                                 const std::string& root);

// Follows tt-metal's rule (profiler_paths.hpp): -o, TT_METAL_PROFILER_DIR, TT_METAL_HOME/generated/profiler,
// generated/profiler. The path is absolute if `here` is.
std::string artifacts_root(const RunRequest& request, const Environment& given, const std::string& here);

}  // namespace ttc::collect

// An experiment as a value: the command, what is varied, what is observed. Read from TOML (docs/delays.md) or from options.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/watcher/settings.hpp"

namespace ttc::delay {

using watcher::LogicalCore;

// An error in a file: "NAME:LINE: ..."; in options: a sentence.
struct PlanError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Cores that are delayed together, and how that is written in tt-metal's grammar.
struct CoreSet {
  std::string text;  // "0,1", "(0,0)-(3,0)", "(0,0),(2,1)"
  std::vector<LogicalCore> cores;
};

struct Vary {
  std::vector<watcher::Transaction> kinds;
  std::vector<CoreSet> cores;
  std::vector<std::string> riscs;  // values of *_RISCVS, each varied by itself; "": all of them
  std::vector<uint32_t> cycles;    // rising
  unsigned repetitions = 5;        // of each delay
  unsigned watcher_only = 10;      // runs with the watcher and without delays
  unsigned plain = 3;              // runs without the watcher
};

struct Observe {
  bool signposts = true;
  unsigned skip_steps = 1;  // of a run, at its beginning
  std::string host_files;   // folder of the host's messages; "{run}" in it
  std::map<std::string, std::string>
      numbers;           // by name of the observable: a regular expression for lines of standard output
  std::string checksum;  // likewise, for the workload's own checksum of its output
  std::vector<std::string> files;  // their content is the output
  bool device_zones = true;        // where the firmware fits
};

struct Limits {
  uint64_t run_ns = 300'000'000'000;
  uint64_t silent_ns = 60'000'000'000;  // no sign of life for so long is a hang
};

struct Experiment {
  std::string name = "experiment";
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // of every run
  std::string device = "0";                        // whose feedback words are read
  unsigned chip = 0;                               // as tt-metal numbers it
  uint64_t seed = 0;                               // 0: drawn when the plan is made
  Vary vary;
  Observe observe;
  Limits limits;
  bool cache_per_value = false;  // of tt-metal versions whose compile key lacks the delay
  std::string reset_command;     // for the shell; empty: the experiment stops after a hang
  std::vector<std::string> collect_options;
};

// `name` is for sentences. Throws PlanError.
Experiment read_experiment(std::string_view toml, const std::string& name);
// Checks what no single field shows: something is varied, and something is observed. Throws PlanError.
void check_experiment(const Experiment& experiment, const std::string& name);

// "0,1", "(0,0)-(3,0)", "(0,0),(2,1)", or "each RANGE": every core of it by itself. Text that tt-metal accepts silently but that delays
// other cores than it seems to name, or none, is refused. Throws PlanError with a sentence without its place.
std::vector<CoreSet> read_cores(const std::string& text);

}  // namespace ttc::delay

// The command line of ttdelay.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collector/program/program.hpp"
#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

inline constexpr program::Program kTtdelay{"ttdelay", program::DelayExit::kOutput};

// An experiment as options give it: over a file's, where there is one.
struct PlanOptions {
  std::string file;
  std::vector<std::string> kinds, cores, riscs, command, numbers, collect;
  std::vector<uint32_t> cycles;
  std::optional<unsigned> repetitions, watcher_only, plain;
  std::optional<uint64_t> seed, limit_ns, silent_ns;
  std::string device, reset_command, checksum, host_files;
  bool no_device_zones = false;
};

struct Options {
  PlanOptions plan;
  std::string folder;
  uint64_t run_time_ns = 0;  // of a run, for the estimate
  bool json = false, quiet = false;
  std::string csv, json_file, html;
  size_t top = 20;
  uint32_t faster = 0;
  bool color = false, no_color = false;
};

void add_plan_options(CLI::App& command, Options& options);
void add_run_options(CLI::App& command, Options& options);
void add_report_options(CLI::App& command, Options& options);

// Throws PlanError.
Experiment experiment_of(const PlanOptions& options);

}  // namespace ttc::delay

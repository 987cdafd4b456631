// The command line of ttmon.
#pragma once

#include "collector/program/program.hpp"
#include "tools/ttmon/monitor.hpp"
#include "tools/ttmon/profilers.hpp"
#include "tools/ttmon/top.hpp"

namespace ttc::tools {

using program::MonitorExit;
constexpr program::Program kTtmon{"ttmon", MonitorExit::kOutput};

struct MonitorOptions {
  MonitorChoice monitor;
  TopOptions top;
  ProfilersOptions profilers;
  CLI::App *top_command = nullptr, *profilers_command = nullptr;
  bool shows_top = false, shows_profilers = false;  // from complete() on
};

void add_options(CLI::App& app, MonitorOptions& options);
// Must be called after the command line was read: sets live names as the readers take them.
void complete(MonitorOptions& options);

}  // namespace ttc::tools

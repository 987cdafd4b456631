// The command line of ttmon.
#pragma once

#include "collector/program/program.hpp"
#include "tools/ttmon/monitor.hpp"
#include "tools/ttmon/top.hpp"

namespace ttc::tools {

using program::MonitorExit;
constexpr program::Program kTtmon{"ttmon", MonitorExit::kOutput};

struct MonitorOptions {
  MonitorChoice monitor;
  TopOptions top;
  CLI::App* top_command = nullptr;
  bool shows_top = false;  // from complete() on
};

void add_options(CLI::App& app, MonitorOptions& options);
// After the command line was read: live names as the readers take them.
void complete(MonitorOptions& options);

}  // namespace ttc::tools

// The subcommands of ttdelay. Each returns the exit code.
#pragma once
#include <atomic>

#include "tools/ttdelay/options.hpp"
#include "tools/ttdelay/run/card_watch.hpp"

namespace ttc::delay {

int plan_command(const Options& options);
int run_command(const Options& options, const std::atomic<bool>& stop);
int report_command(const Options& options);

}  // namespace ttc::delay

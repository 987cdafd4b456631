// The command line of ttfleet.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collector/program/program.hpp"
#include "tools/fleet/agent/agent.hpp"
#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace ttc::fleet {

inline constexpr program::Program kTtfleet{"ttfleet", program::FleetExit::kOutput};

struct Options {
  BusOptions bus;
  TypedIdentity identity;
  StreamLimits stream;

  // agent
  std::vector<std::string> from;
  std::string spool;
  uint64_t spool_bytes = 256 << 20, linger_ns = 5'000'000'000, wait_ns = 0;
  int end_with_parent = 0;
  bool quiet = false;

  // commands to agents
  uint64_t timeout_ns = 1'000'000'000;
  bool json = false;
  uint64_t last_ns = 10'000'000'000, ahead_ns = 100'000'000, for_ns = 0, every_ns = 2'000'000'000;
  std::string output, id, why;
  bool no_gather = false;
  std::vector<std::string> arm, disarm;

  // report
  std::vector<std::string> captures;
  uint64_t since_ns = 0;
};

void add_setup_options(CLI::App& command, Options& options);
void add_agent_options(CLI::App& command, Options& options);
void add_ls_options(CLI::App& command, Options& options);
void add_watch_options(CLI::App& command, Options& options);
void add_dump_options(CLI::App& command, Options& options);
void add_gather_options(CLI::App& command, Options& options);
void add_trigger_options(CLI::App& command, Options& options);
void add_report_options(CLI::App& command, Options& options);

// The directory of an agent's persistent state: $XDG_STATE_HOME/ttfleet, ~/.local/state/ttfleet, or /var/lib/ttfleet.
std::string state_directory();
Identity identity_of(const Options& options);

}  // namespace ttc::fleet

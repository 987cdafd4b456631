// The agent beside a collector: reads its rings like any other reader, publishes rows, keeps the clock, and executes commands.
#pragma once
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/fleet/bus/bus.hpp"
#include "tools/fleet/wire/identity.hpp"

namespace ttc::fleet {

struct AgentOptions {
  std::vector<std::string> from;  // live:NAME, or captures
  Identity who;
  BusOptions bus;
  StreamLimits stream;
  std::string spool;  // directory; the rank has one of its own in it
  uint64_t spool_bytes = 256 << 20;
  uint64_t linger_ns = 5'000'000'000;
  unsigned wait_ms = 0;
  bool quiet = false;
};

struct AgentResult {
  uint64_t made = 0, stored = 0, dropped = 0;
  bool all_stored = false;
  std::string complaint;  // why not
  std::vector<std::string> remarks;
};

// Runs until the sources end, or `stop`. Throws SourceError, SpoolError, BusError.
AgentResult run_agent(const AgentOptions& options, const volatile std::sig_atomic_t& stop);

}  // namespace ttc::fleet

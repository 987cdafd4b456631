// ttmon without a command: the counters of collectors.
#pragma once
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::tools {

struct CounterOptions {
  std::string name;  // without live:; empty: every live collector
  bool once = false;
  bool json = false;
  uint64_t interval_ns = 500'000'000;
};

// Until no collector lives or `stop` is set. Throws shm::SegmentError.
void show_counters(const CounterOptions& options, const volatile std::sig_atomic_t& stop);

// live:NAME of every live collector; when there is none, of what earlier ones left. Throws shm::SegmentError
// when there is nothing.
std::vector<std::string> all_collectors();

}  // namespace ttc::tools

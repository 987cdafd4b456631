// ttmon without a command: collectors on a screen, as text, or as JSON.
#pragma once
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace ttc::tools {

struct MonitorChoice {
  std::vector<std::string> names;  // without live:; empty: every live collector
  bool once = false;
  bool json = false;
  bool profilers = false;  // searches cards for profilers besides the one that collectors read
  uint64_t interval_ns = 500'000'000;
};

// Text and JSON: until no collector is running. A screen: until the user quits. Either: until `stop` is set. Throws
// shm::SegmentError.
void monitor(const MonitorChoice& choice, const volatile std::sig_atomic_t& stop);

}  // namespace ttc::tools

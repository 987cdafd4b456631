// One sample of one collector, as plain values: what the monitor's model is made of.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shm/segment.hpp"
#include "tools/ttmon/activity/activity.hpp"

namespace ttc::tools {

enum class Writer : uint8_t { live, ended, died };
const char* to_string(Writer writer);

// Intervals of one cause.
struct LossSum {
  uint64_t intervals = 0;
  uint64_t words = 0;     // of those of exact size
  uint64_t launches = 0;  // at most, of those of bounded size
  uint64_t unknown = 0;   // intervals of unknown size
};

struct ClockState {
  uint32_t domain = 0;
  size_t segments = 0;
  double hz = 0, bound_ns = 0;
  std::string kind;  // of the bound
};

struct CardSample {
  std::string live_name, device;  // foreign text
  int64_t pid = 0;
  uint64_t session = 0;
  Writer writer = Writer::live;
  uint64_t at_ns = 0;         // CLOCK_MONOTONIC
  uint64_t heartbeat_ns = 0;  // CLOCK_MONOTONIC, of the last sweep; 0: there was none
  std::array<uint64_t, shm::kCounters> counters{};
  std::map<std::string, LossSum> lost;  // by cause
  std::vector<ClockState> clocks;
  std::string overwritten;  // for a reader that begins now, a sentence; empty: nothing, or not examined
  Activity activity;

  uint64_t count(shm::Counter counter) const { return counters[static_cast<size_t>(counter)]; }
};

}  // namespace ttc::tools

// The runs of an experiment, in the order in which they are made.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

// The cores and transactions that one environment delays, without the delay's length.
struct Unit {
  watcher::Transaction kind;
  CoreSet cores;
  std::string riscs;          // "": all
  std::string label() const;  // "read 0,1", "write (0,0)-(3,0) BR"
};
// Kind by kind, in the order of the file.
std::vector<Unit> units_of(const Experiment& experiment);

enum class Arm : uint8_t { plain, watcher_only, delay };
const char* to_string(Arm arm);

// A trial delays all kinds of transaction, so that its masks in L1 can be mistaken for nothing else.
inline constexpr unsigned kTrial = 0;

struct PlannedRun {
  unsigned number = kTrial;  // from 1, by time
  Arm arm = Arm::plain;
  unsigned unit = 0;    // of units_of(); of Arm::delay
  uint32_t cycles = 0;  // likewise
};

// Delayed runs in random order, and the two baselines in random places, spread over the whole: each stretch of runs has one of them, so
// that a drift of the machine is in both. The same seed gives the same order.
std::vector<PlannedRun> schedule_of(const Experiment& experiment, uint64_t seed);

}  // namespace ttc::delay

// A run cut into steps: windows between signposts, or replays of a trace where there are none.
#pragma once
#include <string>
#include <vector>

#include "tools/report/ops/op_table.hpp"

namespace ttc::report {

struct StepOptions {
  std::string start, end;   // signposts; only `start`: from one of it to the next
  size_t skip = 0;          // first steps left out of the summary
  bool skip_given = false;  // else steps are left out that look like warming up
};

struct Step {
  std::string name;
  size_t ops = 0;
  Number wall_us;        // host clock between the signposts; for replays the device's, start to start
  double device_us = 0;  // busy, overlaps once; of several devices the busiest
  Number host_us;        // time of the ops' own host zones
  bool counted = true;   // in the summary
  Number overhead_percent() const;
  Number dispatch_us() const;  // per op: what is no device time
};

struct Spread {
  size_t count = 0;
  double mean = 0, median = 0, least = 0, most = 0, deviation = 0;
};
Spread spread(std::vector<double> values);

struct Steps {
  std::vector<Step> steps;
  std::string how;  // what was taken for a step, as a sentence
};
// Throws UnknownName for a signpost that is not there.
Steps find_steps(const OpTable& table, const StepOptions& options);

}  // namespace ttc::report

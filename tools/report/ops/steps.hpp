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
  size_t cache_hits = 0, cache_misses = 0;  // of the program cache, as far as the host reports it
  Number wall_us;        // host clock between the signposts; for replays the device's, start to start
  double device_us = 0;  // busy, overlaps once; of several devices the busiest
  // The true times lie within so much of wall_us and device_us; absent: not known. A wall time of the host's own clock has none.
  Number wall_bound_us, device_bound_us;
  Number host_us;       // time of the ops' own host zones
  bool counted = true;  // in the summary
  Number overhead_percent() const;
  Number dispatch_us() const;  // per op: what is no device time
};

// A sentence if programs are compiled in every step, that is, if after the first one nearly all ops miss the program cache; else empty.
std::string compiled_in_every_step(const std::vector<Step>& steps);
// A signpost's name without its numbers: that of a family.
std::string signpost_family(const std::string& name);
// The ends of a family that begins with "start" or "begin"; empty: it has another form.
std::vector<std::string> ends_of_family(const std::string& family);

struct Spread {
  size_t count = 0;
  double mean = 0, median = 0, least = 0, most = 0, deviation = 0;
};
Spread spread(std::vector<double> values);

struct Steps {
  std::vector<Step> steps;
  std::string how;      // what was taken for a step, as a sentence
  std::string warning;  // empty: none
};
// If no signpost is given, those whose names differ in their numbers alone, as step_1_start and step_2_start, are one. Throws UnknownName
// for a signpost that is not there.
Steps find_steps(const OpTable& table, const StepOptions& options);

}  // namespace ttc::report

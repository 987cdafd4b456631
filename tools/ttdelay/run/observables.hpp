// The observables of a finished run, read from its folder.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tools/ttdelay/plan/experiment.hpp"

namespace ttc::delay {

// Durations between signposts NAME_start and NAME_end in a tracy_ops_data.csv, in the order of their ends, in microseconds. Steps
// (step_N) are under the name "step", each from its start to that of the next one: a host that runs ahead of the device waits
// between two steps. (To its end where there is one step only.)
std::map<std::string, std::vector<double>> signpost_us(std::string_view messages);

// Both read the lines that an expression matches: its group, as numbers, and as the last text.
std::vector<double> numbers_in(std::string_view text, const std::string& expression);
std::optional<std::string> last_match(std::string_view text, const std::string& expression);

struct Observed {
  std::map<std::string, double> values;  // by name; times in microseconds
  std::optional<std::string> output;
  bool zones = false;  // the device's profiler was there and recorded programs
};

// `folder` holds stdout and what `ttcollect run` left. A step's time is the median over the run's steps.
Observed observe(const Observe& what, const std::string& folder, unsigned number, bool device_zones,
                 double seconds);

// Names of observables that show where time went on the device: many, and corrected among themselves.
bool is_detail(std::string_view name);

}  // namespace ttc::delay

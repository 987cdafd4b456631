// A run in a few lines: device time by op, by process where there are several, and the slowest single ops. Made of rows and names alone, without
// the cells of the joined table, so that a run of 100,000 ops has it at once.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/report/ops/run.hpp"

namespace ttc::report {

struct SummaryWindow {
  std::string start_signpost, end_signpost;
  bool else_all = false;  // if one is not there, or no op is between them: the whole run, and a sentence
};

struct RunSummary {
  struct Sum {
    double us = 0;
    size_t count = 0;
    double bound_us = 0;   // of those that have a bound
    size_t unbounded = 0;  // that have none
    Number bound() const { return unbounded ? Number() : Number(bound_us); }
    void add(double of_us, const Number& of_bound_us) {
      us += of_us, ++count;
      bound_us += of_bound_us.value_or(0);
      unbounded += !of_bound_us;
    }
  };
  struct Single {
    double us = 0;
    Number bound_us;  // the true time lies within so much of it; none: not known
    std::string what, process;
  };
  size_t ops = 0, devices = 0;
  double device_us = 0, gap_us = 0;
  Number device_bound_us;
  std::string verdict;
  std::map<std::string, Sum> by_op, by_process;
  std::vector<Single> slowest;
  bool slowest_within_bounds = false;  // the next one may be as long as the last of them
  std::string warning;                 // of steps; empty: none
  std::vector<std::string> remarks;    // sentences
};

// Summarizes by the run's plan. Throws UnknownName.
RunSummary summarize(const Run& run, const SummaryWindow& window);
// Lines for a terminal; empty where there is no op.
std::string text_of(const RunSummary& summary);

}  // namespace ttc::report

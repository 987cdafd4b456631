// One run of an experiment: the workload under `ttcollect run`, the card examined meanwhile, and what came of it.
#pragma once
#include <atomic>
#include <functional>

#include "tools/ttdelay/run/card_watch.hpp"
#include "tools/ttdelay/run/folder.hpp"
#include "tools/ttdelay/run/journal.hpp"

namespace ttc::delay {

struct RunPlace {
  const Experiment& experiment;
  const ExperimentFolder& folder;
  CardOpener open;
  const std::atomic<bool>& stop;
};

struct SingleRun {
  RunRecord record;
  CardFacts card;
  bool zones = false;                  // the device's profiler recorded programs
  std::optional<std::string> refused;  // the line of a build that does not fit
  std::string last_words;              // of standard error
  bool stopped = false;                // by the user: it was not made
};

// A trial gets no verdict. Throws StartError, JournalError.
SingleRun make_run(const RunPlace& place, const PlannedRun& run, const Build& build,
                   std::optional<RecordPlace> record);

// The command for a shell: the workload in the environment of this run, in a folder of its own. `cache`: of TT_METAL_CACHE;
// empty: as it is.
std::string command_of(const Experiment& experiment, const PlannedRun& run, const Build& build,
                       const std::string& cache);

}  // namespace ttc::delay

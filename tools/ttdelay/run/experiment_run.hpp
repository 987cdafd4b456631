// `ttdelay run`: the trial, then all runs that the journal does not have yet.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include "tools/ttdelay/run/single_run.hpp"

namespace ttc::delay {

enum class ExperimentEnd : uint8_t { complete, stopped, no_build, unwell, hung };

struct ExperimentSummary {
  ExperimentEnd end = ExperimentEnd::complete;
  std::string why;                    // a sentence; of all but complete
  unsigned invalid = 0;               // runs, of those in the journal
  unsigned untaken = 0, delayed = 0;  // delayed runs without their delays; all that ended well
};

// `say` receives progress lines for the terminal. Throws FolderError, JournalError, StartError.
ExperimentSummary run_experiment(Experiment& experiment, const std::string& folder, const CardOpener& open,
                                 const std::atomic<bool>& stop,
                                 const std::function<void(const std::string&)>& say);

}  // namespace ttc::delay

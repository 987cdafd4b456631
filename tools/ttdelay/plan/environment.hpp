// The exact environment of a run: tt-metal's variables for its watcher and debug delays, by the rules of tt-metal that
// tools/watcher states, traps avoided.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ttdelay/plan/schedule.hpp"

namespace ttc::delay {

using Variables = std::map<std::string, std::string>;

// Parts of the watcher that are left out so that the firmware fits, from nothing on, each with all before it. The order is that in
// which tt-metal's own switches cost least: helpers out of line first, then checks that a delay does not need. NOC_SANITIZE is not
// among them: delays are inserted there.
struct FeatureSet {
  std::string name;  // "all", "helpers out of line", "without ASSERT", ...
  Variables variables;
};
std::span<const FeatureSet> feature_sets();

struct Build {
  bool device_zones = false;
  size_t features = 0;  // of feature_sets()
  std::string name() const;
};

// The variables that `run` sets; every other variable that begins with TT_METAL_WATCHER or ends with a debug delay's name is unset.
Variables variables_of(const Experiment& experiment, const PlannedRun& run, const Build& build);
bool is_ours(std::string_view variable);

// The compile key of tt-metal holds the delay of each kind that names cores (rtoptions.hpp, get_compile_hash_string), so that a changed
// delay is compiled again. Where a version's key lacks it, the experiment has a cache directory for every value; empty: none is needed.
std::string cache_directory(const Experiment& experiment, const PlannedRun& run, const std::string& folder);

// "{run}" and "{number}" in a word of the command.
std::string with_run(const std::string& word, const std::string& run_folder, unsigned number);

// A word as a shell reads it.
std::string shell_word(const std::string& word);
std::string shell_line(const Variables& variables, const std::vector<std::string>& words);

}  // namespace ttc::delay

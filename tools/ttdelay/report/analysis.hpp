// Evaluates an experiment's runs. Pure: an experiment and its journal in, findings out. docs/delays.md defines a finding and the
// numbers.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/ttdelay/run/journal.hpp"
#include "tools/ttdelay/statistics/contrast.hpp"

namespace ttc::delay {

inline constexpr double kAlpha =
    0.05;  // of a whole report: the chance of any finding where there is no effect
inline constexpr double kDetailShare =
    0.2;  // of it goes to the observables of single cores and zones, where there are some

// The values at one delay.
struct DosePoint {
  uint32_t cycles = 0;
  size_t runs = 0;
  double mean = 0;
  Estimate shift;  // against runs with the watcher and without delays
};

// One unit and one observable.
struct Effect {
  std::string unit, observable;
  bool detail = false;
  std::vector<DosePoint> doses;  // of those with valid runs
  size_t control_runs = 0;
  double control_mean = 0;
  Estimate slope;        // of the observable, by cycle of delay
  bool straight = true;  // the doses fit a straight line (or are fewer than three, which fit any)
  double p = 1;          // of the slope: the larger of permutation's and Welch's t's
  double corrected = 1;  // p by Holm, scaled so that kAlpha is the bound
  double discovery = 1;  // p by Benjamini and Hochberg, likewise
  bool found = false;    // corrected < kAlpha
  std::optional<double>
      detectable;  // shift at the largest delay that would have been found in four of five such experiments
  Estimate
      gain;  // of the observable if each transaction were `faster` cycles faster; see docs/delays.md for what is assumed
};

struct Suspicion {
  enum class What : uint8_t { output_changed, hang, failed } what;
  std::string unit;
  uint32_t cycles = 0;
  size_t times = 0, of = 0;  // runs in which it happened, of those of this unit and delay
  unsigned run = 0;          // the first of them
  std::string why, command;
  std::optional<std::string> output, usual_output;
  std::map<std::string, std::string> waypoints;  // of a hang, by core; empty: not known
};
const char* to_string(Suspicion::What what);
// The sentence on a hang: where which cores stood, fewest cores first, or that it is not known. Empty for anything
// else.
std::string waypoints_sentence(const Suspicion& suspicion);

struct InvalidRuns {
  std::string unit, why;
  size_t runs = 0;
};

struct Analysis {
  std::vector<Effect> effects;  // the largest first: found ones, then the others, details last
  std::vector<Effect> watcher;  // plain runs against those with the watcher: what it costs by itself
  std::vector<Suspicion> suspicions;
  std::vector<InvalidRuns> invalid;
  std::vector<std::string> remarks;  // sentences
  size_t planned = 0, made = 0, valid = 0;
  uint32_t faster = 0;  // cycles, of Effect::gain
  size_t main_tests = 0, detail_tests = 0;
  bool ignores_delays = false;  // every delayed run ended well, and in none a transaction waited
};

// `faster`: 0 takes the smallest delay.
Analysis analyse(const Experiment& experiment, const JournalContent& journal, uint32_t faster = 0);

// suspicions.cpp: outputs that changed, hangs and failures of delayed runs, against what baselines do.
void find_suspicions(const std::vector<RunRecord>& runs, Analysis& analysis);

}  // namespace ttc::delay

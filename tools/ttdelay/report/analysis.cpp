#include "tools/ttdelay/report/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/ttdelay/run/observables.hpp"
#include "tools/ttdelay/statistics/correction.hpp"
#include "tools/ttdelay/statistics/detectable.hpp"
#include "tools/ttdelay/statistics/permutation.hpp"

namespace ttc::delay {
namespace {

// The values of one observable: by unit and delay; and of the baselines.
struct Values {
  std::vector<double> control, plain;
  std::map<std::string, std::map<uint32_t, std::vector<double>>> delayed;
};

std::map<std::string, Values> values_of(const std::vector<RunRecord>& runs) {
  std::map<std::string, Values> all;
  for (const RunRecord& r : runs) {
    if (!r.valid) continue;
    for (const auto& [name, value] : r.values) {
      if (!std::isfinite(value)) continue;
      Values& v = all[name];
      if (r.arm == Arm::plain) v.plain.push_back(value);
      if (r.arm == Arm::watcher_only) v.control.push_back(value);
      if (r.arm == Arm::delay) v.delayed[r.unit][r.cycles].push_back(value);
    }
  }
  return all;
}

Estimate scaled(Estimate e, double by) {
  e.value *= by, e.error *= std::abs(by), e.low *= by, e.high *= by;
  if (e.low > e.high) std::swap(e.low, e.high);
  return e;
}

struct Subject {
  Groups groups;              // the control group first
  std::vector<double> doses;  // 0 first
  Weights slope;
};

Subject subject_of(const Values& values, const std::map<uint32_t, std::vector<double>>& by_cycles) {
  Subject s{{values.control}, {0}, {}};
  for (const auto& [cycles, runs] : by_cycles) {
    s.groups.push_back(runs);
    s.doses.push_back(cycles);
  }
  s.slope = slope_weights(s.doses, s.groups);
  return s;
}

bool is_straight(const Subject& s) {
  const Weights bend = curvature_weights(s.doses, s.groups);
  if (bend.empty()) return true;
  const Estimate e = estimate(s.groups, bend);
  // In runs without any scatter the rest is rounding.
  const double rounding = 1e-9 * std::abs(mean_of(s.groups[0])) / (s.doses.back() * s.doses.back());
  return e.freedom <= 0 || (e.low <= rounding && e.high >= -rounding);
}

Effect effect_of(const Subject& s, uint32_t faster) {
  Effect e;
  e.control_runs = s.groups[0].size();
  e.control_mean = mean_of(s.groups[0]);
  for (size_t g = 1; g < s.groups.size(); ++g) {
    const Estimate shift = estimate(s.groups, shift_weights(s.groups.size(), 0, g));
    e.doses.push_back({static_cast<uint32_t>(s.doses[g]), s.groups[g].size(), mean_of(s.groups[g]), shift});
  }
  e.slope = estimate(s.groups, s.slope);
  e.straight = is_straight(s);
  // If the line is bent, the smallest delay predicts best what happens on the other side of zero delay.
  const Estimate by_cycle = e.straight ? e.slope : scaled(e.doses[0].shift, 1.0 / e.doses[0].cycles);
  e.gain = scaled(by_cycle, faster);
  // Nothing becomes faster than at once.
  for (double* bound : {&e.gain.value, &e.gain.low, &e.gain.high})
    if (e.control_mean > 0) *bound = std::min(*bound, e.control_mean);
  return e;
}

void judge_family(std::vector<Effect*> effects, const std::vector<Subject>& subjects, double alpha) {
  if (effects.empty()) return;
  std::vector<double> p;
  const size_t draws = draws_for(effects.size(), alpha);
  for (size_t i = 0; i < effects.size(); ++i) {
    // The permutation test does not detect groups that differ in scatter alone; Welch's t is not reliable for skewed ones. Take the larger p.
    effects[i]->p = std::max(permutation_p(subjects[i].groups, subjects[i].slope, draws, i + 1),
                             welch_p(subjects[i].groups, subjects[i].slope));
    p.push_back(effects[i]->p);
  }
  const std::vector<double> family = holm(p), discoveries = benjamini_hochberg(p);
  for (size_t i = 0; i < effects.size(); ++i) {
    Effect& e = *effects[i];
    e.corrected = std::min(1.0, family[i] * kAlpha / alpha);
    e.discovery = std::min(1.0, discoveries[i] * kAlpha / alpha);
    e.found = e.corrected < kAlpha;
    const auto slope = detectable(subjects[i].groups, subjects[i].slope, effects.size(), alpha);
    if (slope) e.detectable = *slope * subjects[i].doses.back();
  }
}

void add_effects(const std::map<std::string, Values>& values, Analysis& a) {
  std::vector<Subject> subjects[2];
  std::vector<Effect> effects[2];
  for (const auto& [name, of] : values) {
    const bool detail = is_detail(name);
    for (const auto& [unit, by_cycles] : of.delayed) {
      if (of.control.size() < 2) continue;
      Subject s = subject_of(of, by_cycles);
      Effect e = effect_of(s, a.faster);
      e.unit = unit;
      e.observable = name;
      e.detail = detail;
      effects[detail].push_back(std::move(e));
      subjects[detail].push_back(std::move(s));
    }
  }
  a.main_tests = effects[0].size();
  a.detail_tests = effects[1].size();
  for (const bool detail : {false, true}) {
    std::vector<Effect*> family;
    for (Effect& e : effects[detail]) family.push_back(&e);
    const double share = effects[1].empty() ? 1 : detail ? kDetailShare : 1 - kDetailShare;
    judge_family(family, subjects[detail], kAlpha * share);
    a.effects.insert(a.effects.end(), effects[detail].begin(), effects[detail].end());
  }
  std::stable_sort(a.effects.begin(), a.effects.end(), [](const Effect& x, const Effect& y) {
    if (x.detail != y.detail) return y.detail;
    if (x.observable != y.observable && !x.detail) return x.observable < y.observable;
    if (x.found != y.found) return x.found;
    return std::abs(x.slope.value) > std::abs(y.slope.value);
  });
}

void add_watcher(const std::map<std::string, Values>& values, Analysis& a) {
  for (const auto& [name, of] : values) {
    if (is_detail(name) || of.plain.empty() || of.control.size() < 2) continue;
    const Groups groups{of.plain, of.control};
    Effect e;
    e.observable = name;
    e.control_runs = of.plain.size();
    e.control_mean = mean_of(of.plain);
    e.doses.push_back({0, of.control.size(), mean_of(of.control), estimate(groups, shift_weights(2, 0, 1))});
    a.watcher.push_back(std::move(e));
  }
}

void add_invalid(const std::vector<RunRecord>& runs, Analysis& a) {
  std::map<std::pair<std::string, std::string>, size_t> count;
  size_t ended = 0, untaken = 0;
  for (const RunRecord& r : runs) {
    if (r.arm == Arm::delay && r.outcome == Outcome::ok) {
      ++ended;
      const bool none =
          std::all_of(r.feedback.begin(), r.feedback.end(), [](const auto& f) { return f.second == 0; });
      if (!r.valid && !r.feedback.empty() && none) ++untaken;
    }
    if (!r.valid && r.outcome != Outcome::hang && r.outcome != Outcome::failed)
      ++count[{r.arm == Arm::delay ? r.unit : to_string(r.arm), r.why}];
  }
  a.ignores_delays = ended > 0 && untaken == ended;
  for (const auto& [what, n] : count) a.invalid.push_back({what.first, what.second, n});
}

}  // namespace

const char* to_string(Suspicion::What what) {
  constexpr const char* kNames[] = {"output changed", "hang", "failed"};
  return kNames[static_cast<size_t>(what)];
}

Analysis analyse(const Experiment& experiment, const JournalContent& journal, uint32_t faster) {
  Analysis a;
  a.faster = faster ? faster : experiment.vary.cycles.front();
  a.planned = schedule_of(experiment, experiment.seed).size();
  a.made = journal.runs.size();
  a.valid = static_cast<size_t>(
      std::count_if(journal.runs.begin(), journal.runs.end(), [](const RunRecord& r) { return r.valid; }));
  const std::map<std::string, Values> values = values_of(journal.runs);
  add_invalid(journal.runs, a);
  add_effects(values, a);
  add_watcher(values, a);
  find_suspicions(journal.runs, a);
  if (a.ignores_delays)
    a.remarks.emplace_back(
        "The workload ignores the delays: every delayed run ended well, and no feedback word shows a "
        "transaction that "
        "waited. Its kernels were not compiled with the watcher's NoC checks, or issue no such transactions "
        "on these cores");
  if (a.made < a.planned)
    a.remarks.push_back("Of " + std::to_string(a.planned) + " planned runs " + std::to_string(a.made) +
                        " were made; `ttdelay run` makes the others");
  for (const auto& [name, of] : values)
    if (!is_detail(name) && of.control.size() < 2)
      a.remarks.push_back(
          "'" + name +
          "' has no two valid runs with the watcher alone, and shows no effects for that reason");
  return a;
}

}  // namespace ttc::delay

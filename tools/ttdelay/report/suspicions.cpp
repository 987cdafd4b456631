#include <algorithm>
#include <set>

#include "tools/ttdelay/report/analysis.hpp"

namespace ttc::delay {
namespace {

using Key = std::pair<std::string, uint32_t>;

bool is_baseline(const RunRecord& r) {
  return r.arm != Arm::delay;
}

Suspicion& suspicion(Analysis& a, Suspicion::What what, const RunRecord& r,
                     const std::map<Key, size_t>& runs) {
  const auto known = std::find_if(a.suspicions.begin(), a.suspicions.end(), [&](const Suspicion& s) {
    return s.what == what && s.unit == r.unit && s.cycles == r.cycles;
  });
  if (known != a.suspicions.end()) return *known;
  Suspicion s{what,      r.unit,   r.cycles, 0,          runs.at({r.unit, r.cycles}), r.number, r.why,
              r.command, r.output, {},       r.waypoints};
  a.suspicions.push_back(std::move(s));
  return a.suspicions.back();
}

// The only output of all runs without delays; nothing where there is none, or where they differ.
std::optional<std::string> usual_output(const std::vector<RunRecord>& runs, Analysis& a) {
  std::set<std::string> outputs;
  for (const RunRecord& r : runs)
    if (is_baseline(r) && r.outcome == Outcome::ok && r.output) outputs.insert(*r.output);
  if (outputs.size() > 1)
    a.remarks.push_back("The output differs between runs without delays (" + std::to_string(outputs.size()) +
                        " different ones), so changed outputs of delayed runs prove nothing");
  return outputs.size() == 1 ? std::optional(*outputs.begin()) : std::nullopt;
}

void remark_baselines(const std::vector<RunRecord>& runs, Analysis& a) {
  for (const Outcome outcome : {Outcome::hang, Outcome::failed})
    for (const Arm arm : {Arm::plain, Arm::watcher_only}) {
      const auto times = std::count_if(
          runs.begin(), runs.end(), [&](const RunRecord& r) { return r.arm == arm && r.outcome == outcome; });
      if (times)
        a.remarks.push_back(
            std::to_string(times) + " runs of the arm '" + to_string(arm) + "' " +
            (outcome == Outcome::hang ? "hung" : "failed") + ": delays are not the cause of it" +
            (arm == Arm::watcher_only ? "; the watcher by itself may be (tt-metal issue 27596)" : ""));
    }
}

}  // namespace

std::string waypoints_sentence(const Suspicion& s) {
  constexpr size_t kMostGroups = 6, kMostCores = 8;
  if (s.what != Suspicion::What::hang) return "";
  if (s.waypoints.empty())
    return "Where its processors stood is not known: no waypoints were found on the card";
  std::map<std::string, std::vector<std::string>> cores_at;
  for (const auto& [core, texts] : s.waypoints) cores_at[texts].push_back("(" + core + ")");
  std::vector<std::pair<std::string, std::vector<std::string>>> groups(cores_at.begin(), cores_at.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::string text = "Waypoints of BRISC, NCRISC and the TRISCs: ";
  for (size_t g = 0; g < groups.size() && g < kMostGroups; ++g) {
    const auto& [texts, cores] = groups[g];
    text += (g ? "; " : "") + texts + " on ";
    for (size_t c = 0; c < cores.size() && c < kMostCores; ++c) text += (c ? " " : "") + cores[c];
    if (cores.size() > kMostCores) text += " and " + std::to_string(cores.size() - kMostCores) + " more";
  }
  return text + (groups.size() > kMostGroups
                     ? "; and " + std::to_string(groups.size() - kMostGroups) + " other combinations"
                     : "");
}

void find_suspicions(const std::vector<RunRecord>& runs, Analysis& a) {
  std::map<Key, size_t> counts;
  for (const RunRecord& r : runs)
    if (r.arm == Arm::delay && r.outcome != Outcome::broken_off) ++counts[{r.unit, r.cycles}];
  const std::optional<std::string> usual = usual_output(runs, a);
  remark_baselines(runs, a);
  for (const RunRecord& r : runs) {
    if (is_baseline(r) || r.outcome == Outcome::broken_off) continue;
    if (r.outcome == Outcome::hang) ++suspicion(a, Suspicion::What::hang, r, counts).times;
    if (r.outcome == Outcome::failed) ++suspicion(a, Suspicion::What::failed, r, counts).times;
    if (r.outcome == Outcome::ok && usual && r.output != usual) {
      Suspicion& s = suspicion(a, Suspicion::What::output_changed, r, counts);
      ++s.times;
      s.usual_output = usual;
    }
  }
}

}  // namespace ttc::delay

#include "tools/ttdelay/plan/schedule.hpp"

#include <algorithm>
#include <random>

namespace ttc::delay {
namespace {

// std::shuffle and the distributions differ between libraries; a printed seed must give one order everywhere.
size_t below(std::mt19937_64& random, size_t end) {
  return static_cast<size_t>(random() % end);
}

void mix(std::vector<PlannedRun>& runs, std::mt19937_64& random) {
  for (size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[below(random, i)]);
}

}  // namespace

const char* to_string(Arm arm) {
  constexpr const char* kNames[] = {"plain", "watcher only", "delay"};
  return kNames[static_cast<size_t>(arm)];
}

std::string Unit::label() const {
  std::string kind_name;
  for (const char* c = watcher::kTransactionNames[static_cast<size_t>(kind)]; *c; ++c)
    kind_name += static_cast<char>(*c | 0x20);
  return kind_name + " " + cores.text + (riscs.empty() ? "" : " " + riscs);
}

std::vector<Unit> units_of(const Experiment& e) {
  std::vector<Unit> units;
  const std::vector<std::string> all{""};
  for (const watcher::Transaction kind : e.vary.kinds)
    for (const CoreSet& cores : e.vary.cores)
      for (const std::string& riscs : e.vary.riscs.empty() ? all : e.vary.riscs)
        units.push_back({kind, cores, riscs});
  return units;
}

std::vector<PlannedRun> schedule_of(const Experiment& e, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<PlannedRun> runs;
  const auto units = static_cast<unsigned>(units_of(e).size());
  for (unsigned unit = 0; unit < units; ++unit)
    for (const uint32_t cycles : e.vary.cycles)
      for (unsigned r = 0; r < e.vary.repetitions; ++r) runs.push_back({0, Arm::delay, unit, cycles});
  mix(runs, random);
  std::vector<PlannedRun> baselines(e.vary.watcher_only, PlannedRun{0, Arm::watcher_only, 0, 0});
  baselines.resize(baselines.size() + e.vary.plain, PlannedRun{0, Arm::plain, 0, 0});
  mix(baselines, random);
  std::vector<PlannedRun> all;
  all.reserve(runs.size() + baselines.size());
  size_t next = 0;
  for (size_t b = 0; b < baselines.size(); ++b) {
    const size_t end = runs.size() * (b + 1) / baselines.size(), place = next + below(random, end - next + 1);
    for (; next < place; ++next) all.push_back(runs[next]);
    all.push_back(baselines[b]);
    for (; next < end; ++next) all.push_back(runs[next]);
  }
  for (; next < runs.size(); ++next) all.push_back(runs[next]);
  for (size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<unsigned>(i + 1);
  return all;
}

}  // namespace ttc::delay

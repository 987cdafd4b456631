// Any bytes as a plan of ttdelay: refused in one sentence with the file's name, or runs of which each follows the plan: as many of an
// arm as planned, in an environment that tt-metal reads as that delay, and the same again from its JSON.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/ttdelay/plan/environment.hpp"
#include "tools/ttdelay/plan/plan_json.hpp"
#include "tools/ttdelay/plan/schedule.hpp"

using namespace ttc::delay;

namespace {

constexpr size_t kMostRuns = 2000;

void need(bool holds) {
  if (!holds) std::abort();
}

void check_run(const Experiment& e, const PlannedRun& run) {
  const Variables v = variables_of(e, run, Build{});
  const ttc::watcher::Settings s = ttc::watcher::read_settings(v, true);
  need(s.watcher == (run.arm != Arm::plain));
  if (run.arm != Arm::delay) return need(!s.delay_named);
  const Unit unit = units_of(e)[run.unit];
  need(s.delay_cycles == run.cycles);
  need(s.delays[static_cast<size_t>(unit.kind)].workers.size() == unit.cores.cores.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const Experiment e = read_experiment({reinterpret_cast<const char*>(data), size}, "any");
    check_experiment(e, "any");
    const auto json = to_json(e);
    need(to_json(experiment_of(nlohmann::json::parse(json.dump()))) == json);
    const size_t delayed = units_of(e).size() * e.vary.cycles.size() * e.vary.repetitions;
    const size_t runs = delayed + e.vary.watcher_only + e.vary.plain;
    if (runs > kMostRuns) return 0;
    std::map<Arm, size_t> made;
    for (const PlannedRun& run : schedule_of(e, 1)) {
      need(run.number == made[Arm::plain] + made[Arm::watcher_only] + made[Arm::delay] + 1);
      ++made[run.arm];
      check_run(e, run);
    }
    need(made[Arm::delay] == delayed && made[Arm::watcher_only] == e.vary.watcher_only &&
         made[Arm::plain] == e.vary.plain);
  } catch (const PlanError& e) {
    const std::string said = e.what();
    need(said.starts_with("any:") && said.find('\n') == std::string::npos);
  }
  return 0;
}

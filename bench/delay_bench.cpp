// How often `ttdelay report` is right where the truth is known: experiments of drawn designs, noise and effects, in-process. Of a world
// the first unit's slope and largest shift are looked up in their intervals; worlds without effects count those that show one.
// 95 % must hold; a count outside of what chance allows ends the program with 1.
//   delay_bench [WORLDS of each kind of noise and seed, default 250]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "bench/machine.hpp"
#include "tools/ttdelay/report/analysis.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
using namespace ttc::delay;

constexpr unsigned kUnits = 4;

enum class Noise : uint8_t { normal, skewed, even, more_when_delayed, outliers };
constexpr const char* kNoises[] = {"normal", "skewed", "even", "more when delayed", "outliers"};

using Random = std::mt19937_64;
double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// The result has mean 0 and, without delay, a standard deviation of about 1.
double drawn(Random& random, Noise kind, double share_of_largest_delay) {
  std::normal_distribution<double> normal;
  switch (kind) {
    case Noise::normal:
      return normal(random);
    case Noise::skewed:
      return (std::exp(0.5 * normal(random)) - std::exp(0.125)) / 0.6;
    case Noise::even:
      return between(random, -std::sqrt(3), std::sqrt(3));
    case Noise::more_when_delayed:
      return normal(random) * (1 + 2 * share_of_largest_delay);
    case Noise::outliers:
      return normal(random) + (between(random, 0, 1) < 0.05 ? 3.8 : -0.2);
  }
  return 0;
}

struct World {
  Experiment experiment;
  JournalContent journal;
  double slope = 0, shift = 0;  // of the first unit; the shift at the largest delay
};

World world_of(Random& random, Noise noise, unsigned repetitions, bool effects) {
  World w;
  Vary& v = w.experiment.vary;
  v.kinds = {watcher::Transaction::read};
  for (uint32_t x = 0; x < kUnits; ++x) v.cores.push_back(read_cores(std::to_string(x) + ",0")[0]);
  v.cycles = random() % 2 ? std::vector<uint32_t>{500, 4000} : std::vector<uint32_t>{500, 1000, 2000};
  v.repetitions = repetitions;
  v.watcher_only = 2 * repetitions;
  v.plain = 0;
  w.experiment.command = {"none"};
  w.experiment.seed = random();
  const double base = between(random, 50, 5000), scatter = base * between(random, 0.002, 0.02);
  const double drift = between(random, -1, 1), largest = v.cycles.back();
  std::vector<double> effect(kUnits, 0);  // standard deviations at the largest delay
  if (effects)
    for (double& e : effect) e = random() % 2 ? between(random, 2, 10) : 0;
  if (effects) effect[0] = between(random, 2, 10);
  w.shift = effect[0] * scatter;
  w.slope = w.shift / largest;
  const std::vector<PlannedRun> runs = schedule_of(w.experiment, w.experiment.seed);
  const std::vector<Unit> units = units_of(w.experiment);
  for (const PlannedRun& run : runs) {
    RunRecord r;
    r.number = run.number;
    r.arm = run.arm;
    r.valid = true;
    const double share = run.arm == Arm::delay ? run.cycles / largest : 0;
    double value = drift * run.number / static_cast<double>(runs.size()) + drawn(random, noise, share);
    if (run.arm == Arm::delay) {
      r.unit = units[run.unit].label();
      r.cycles = run.cycles;
      r.feedback = {{"0,0", 1}};
      value += effect[run.unit] * share;
    }
    r.values = {{"step", base + scatter * value}};
    w.journal.runs.push_back(std::move(r));
  }
  return w;
}

bool holds(const Estimate& e, double truth) {
  return e.low <= truth && truth <= e.high;
}

struct Count {
  unsigned worlds = 0, slopes = 0, shifts = 0;
};

Count covered(Random& random, Noise noise, unsigned repetitions, unsigned worlds) {
  Count c;
  for (; c.worlds < worlds; ++c.worlds) {
    const World w = world_of(random, noise, repetitions, true);
    const Analysis a = analyse(w.experiment, w.journal);
    const auto first = std::find_if(a.effects.begin(), a.effects.end(),
                                    [](const Effect& e) { return e.unit == "read 0,0"; });
    c.slopes += holds(first->slope, w.slope);
    c.shifts += holds(first->doses.back().shift, w.shift);
  }
  return c;
}

unsigned inventions(Random& random, Noise noise, unsigned repetitions, unsigned worlds) {
  unsigned shown = 0;
  for (unsigned i = 0; i < worlds; ++i) {
    const World w = world_of(random, noise, repetitions, false);
    const Analysis a = analyse(w.experiment, w.journal);
    shown += std::any_of(a.effects.begin(), a.effects.end(), [](const Effect& e) { return e.found; });
  }
  return shown;
}

double percent(unsigned n, unsigned of) {
  return 100.0 * n / of;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned each = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : once() ? 4 : 250;
  print_machine("delay_bench");
  Count all;
  unsigned nulls = 0, shown = 0;
  for (const uint64_t seed : {20261123u, 4711u})
    for (const Noise noise :
         {Noise::normal, Noise::skewed, Noise::even, Noise::more_when_delayed, Noise::outliers})
      for (const unsigned repetitions : {3u, 4u, 5u, 8u}) {
        Random random(seed * 100 + static_cast<unsigned>(noise) * 10 + repetitions);
        const Count c = covered(random, noise, repetitions, each);
        const unsigned invented = inventions(random, noise, repetitions, each);
        result(
            "seed %-8lu %-17s %u repetitions: slope %5.1f %%, largest shift %5.1f %% of %u; nulls %4.1f %%",
            static_cast<unsigned long>(seed), kNoises[static_cast<size_t>(noise)], repetitions,
            percent(c.slopes, c.worlds), percent(c.shifts, c.worlds), c.worlds, percent(invented, each));
        all.worlds += c.worlds, all.slopes += c.slopes, all.shifts += c.shifts;
        nulls += each, shown += invented;
      }
  result(
      "all: slope %.2f %%, largest shift %.2f %% of %u worlds (95 stated); of %u null worlds %.2f %% show an "
      "effect (at most 5)",
      percent(all.slopes, all.worlds), percent(all.shifts, all.worlds), all.worlds, nulls,
      percent(shown, nulls));
  // Four standard deviations of a share of so many worlds.
  const double slack = 400 * std::sqrt(0.05 * 0.95 / all.worlds);
  const bool right = percent(std::min(all.slopes, all.shifts), all.worlds) >= 95 - slack &&
                     percent(shown, nulls) <= 5 + slack;
  return right ? 0 : 1;
}

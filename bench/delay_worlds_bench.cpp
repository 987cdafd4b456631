// `ttdelay run` and `report` against truth, world by world: a drawn workload on the emulated card, drawn cores and delays. The truth is
// computed here, by the chip's simulation alone over many seeds; ttdelay never reads it. Each run's length as ttemu prints it must be
// that of the same seed here: what the truth is computed with is then what ran.
//   delay_worlds_bench [WORLDS, default 200 [SEED, default 1 [NULLS, default half of WORLDS]]]
// NULLS further worlds have delays of one or two cycles: their effect is far below what could be found, and must not be named.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "bench/machine.hpp"
#include "driver_iface/emulated_card.hpp"
#include "tools/chip/schedule.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;
namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kHz = 1'000'000'000;
constexpr unsigned kTruthSeeds =
    150;  // the same with and without delay, so that most of what chance does is in both
constexpr const char* kKinds[] = {"read", "write", "atomic"};

using Random = std::mt19937_64;
unsigned whole(Random& random, unsigned low, unsigned high) {
  return std::uniform_int_distribution<unsigned>(low, high)(random);
}

struct Unit {
  unsigned kind = 0, core = 0;
  std::string label;
  std::vector<double> shifts;  // by delay: the truth
};

struct World {
  std::string toml;
  chip::ChipWorkload workload;
  unsigned side = 2, programs = 6, repetitions = 5, watcher_only = 8;
  std::vector<uint32_t> cycles;
  std::vector<Unit> units;
  bool null = false;
  unsigned plan_seed = 1;  // what ttdelay draws the order of its runs with
};

// A square of the card's cores, row by row, in logical coordinates.
chip::Shape shape_of(unsigned side) {
  static const card::EmulatedCard made([] {
    card::EmulatedCardOptions options;
    options.name = "worlds-" + std::to_string(getpid());
    options.virtual_time = true;
    return options;
  }());
  std::vector<uint8_t> xs, ys;
  for (const card::Tile& t : made.tiles())
    if (t.kind == card::TileKind::tensix && !t.harvested) xs.push_back(t.at.x), ys.push_back(t.at.y);
  for (auto* axis : {&xs, &ys}) {
    std::sort(axis->begin(), axis->end());
    axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
  }
  std::vector<chip::Place> places;
  for (unsigned y = 0; y < side; ++y)
    for (unsigned x = 0; x < side; ++x) places.push_back({xs[x], ys[y]});
  chip::Shape shape = chip::wormhole_shape(std::move(places));
  shape.columns = side;
  shape.channels = static_cast<unsigned>(made.dram_views().size());
  return shape;
}

struct Simulated {
  uint64_t cycles = 0;
  std::vector<chip::Delayed> delayed;  // of the first program
};

// Returns the time from the first go message to the last program's end. Checks the length of every program's critical
// path on the way.
Simulated simulated(const World& w, uint64_t seed, unsigned kind, unsigned core, uint32_t delay) {
  chip::Schedule schedule(shape_of(w.side), w.workload, {}, seed, kHz);
  chip::Watched watched{chip::kWatcherCheckCycles, delay, {}};
  watched.masks.resize(size_t{w.side} * w.side);
  if (delay != 0) watched.masks[core][kind] = 0x1f;
  schedule.set_watched(watched);
  Simulated s;
  uint64_t first = 0, done = 0;
  for (unsigned p = 0; p < w.programs; ++p) {
    const chip::Launched l = schedule.next();
    if (p == 0) first = l.go, s.delayed = l.timeline.delayed;
    const std::vector<chip::ProgramPart> path = chip::program_path(l, done);
    for (size_t i = 1; i < path.size(); ++i)
      if (path[i].begin != path[i - 1].end) throw std::runtime_error("a critical path has a hole");
    done = l.timeline.end();
    if (path.back().end != done) throw std::runtime_error("a critical path ends before its program");
  }
  s.cycles = done - first;
  return s;
}

double mean_cycles(const World& w, unsigned kind, unsigned core, uint32_t delay) {
  double sum = 0;
  for (unsigned i = 0; i < kTruthSeeds; ++i)
    sum += static_cast<double>(simulated(w, 1'000'000 + i, kind, core, delay).cycles);
  return sum / kTruthSeeds;
}

World world_of(Random& random, bool null) {
  World w;
  w.null = null;
  w.side = whole(random, 2, 3);
  w.programs = whole(random, 2, 6);
  w.repetitions = whole(random, 4, 7);
  w.watcher_only = whole(random, 6, 10);
  w.plan_seed = whole(random, 1, 1'000'000);
  const char* pattern = std::array{"stream", "multicast", "pipeline", "ring"}[whole(random, 0, 3)];
  std::ostringstream toml;
  toml << "jitter = " << 0.05 * whole(random, 1, 8) << "\n[[op]]\npattern = \"" << pattern
       << "\"\nblocks = " << whole(random, 2, 6) << "\nout_blocks = " << whole(random, 1, 2)
       << "\ntiles = " << whole(random, 1, 4) << "\nhost_us = 2\nmath_cycles = " << whole(random, 300, 4000)
       << "\nunpack_cycles = " << whole(random, 200, 2000) << "\nimbalance = " << whole(random, 0, 2) << "\n";
  w.toml = toml.str();
  w.workload = chip::read_workload(w.toml, "drawn");
  const uint32_t first = null ? 1 : whole(random, 100, 1500);
  w.cycles = {first, null ? 2 : first * whole(random, 2, 4)};
  // In some patterns only one core issues commands of a kind.
  for (unsigned tries = 0; w.units.empty() || (w.units.size() < 2 && tries < 60); ++tries) {
    Unit u{whole(random, 0, 1), whole(random, 0, w.side * w.side - 1), {}, {}};
    u.label = std::string(kKinds[u.kind]) + " " + std::to_string(u.core % w.side) + "," +
              std::to_string(u.core / w.side);
    const auto taken = simulated(w, 1, u.kind, u.core, 1).delayed;
    const bool again = !w.units.empty() && (w.units[0].core == u.core || w.units[0].kind != u.kind);
    if (taken.empty() || again) continue;
    w.units.push_back(u);
  }
  const double without = mean_cycles(w, 0, 0, 0);
  for (Unit& u : w.units)
    for (const uint32_t c : w.cycles) u.shifts.push_back(mean_cycles(w, u.kind, u.core, c) - without);
  return w;
}

std::string plan_of(const World& w, const std::string& card, const fs::path& workload) {
  std::ostringstream plan;
  plan << "command = [\"{bin}/ttemu\", \"--name\", \"" << card << "\", \"--workload\", \""
       << workload.string() << "\", \"--cores\", \"" << w.side * w.side << "\", \"--programs\", \""
       << w.programs
       << "\", \"--seed\", \"{number}\", \"--profiler\", \"not-built\", \"--wait-observer\", \"--linger\", "
          "\"60s\", \"--time\", "
          "\"virtual\", \"--json\"]\ndevice = \"emu:"
       << card << "\"\nseed = " << w.plan_seed << "\n[vary]\nkinds = [\"" << kKinds[w.units[0].kind]
       << "\"]\ncores = [";
  for (const Unit& u : w.units) plan << '"' << u.label.substr(u.label.find(' ') + 1) << "\", ";
  plan << "]\ncycles = [" << w.cycles[0] << ", " << w.cycles[1] << "]\nrepetitions = " << w.repetitions
       << "\nwatcher_only = " << w.watcher_only
       << "\nplain = 0\n[observe]\nsignposts = false\ndevice_zones = false\n[observe.numbers]\ntime = "
          "'\"simulated_cycles\":([0-9]+)'\n";
  return plan.str();
}

// What a program prints. Throws where it does not end with 0.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start: " + command);
  std::string out;
  char buffer[65536];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, got);
  if (const int status = pclose(pipe); status != 0)
    throw std::runtime_error(command + " ends with status " + std::to_string(WEXITSTATUS(status)));
  return out;
}

// Every run is the simulation of its number.
unsigned check_runs(const World& w, const fs::path& journal) {
  unsigned runs = 0;
  std::ifstream file(journal);
  for (std::string line; std::getline(file, line);) {
    const json run = json::parse(line);
    if (!run.contains("run")) continue;
    const std::string unit = run.value("unit", "");
    const auto u =
        std::find_if(w.units.begin(), w.units.end(), [&](const Unit& one) { return one.label == unit; });
    const uint32_t delay = run.value("cycles", 0u);
    const uint64_t here =
        simulated(w, run.at("run"), u == w.units.end() ? 0 : u->kind, u == w.units.end() ? 0 : u->core, delay)
            .cycles;
    if (run.at("values").at("time") != static_cast<double>(here))
      throw std::runtime_error("a run is not what was simulated: " + line + ", " + std::to_string(here));
    ++runs;
  }
  return runs;
}

struct Score {
  unsigned worlds = 0, slopes = 0, shifts = 0;                      // of worlds with effects
  unsigned large = 0, large_found = 0, small = 0, small_found = 0;  // units
  unsigned nulls = 0, nulls_shown = 0, runs = 0;
};

bool holds(const json& interval, double truth) {
  return interval.at("low") <= truth && truth <= interval.at("high");
}

// What least squares makes of the true means.
double slope_of(const World& w, const Unit& u) {
  double n = w.watcher_only, x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = 0; i < w.cycles.size(); ++i) {
    const double r = w.repetitions, c = w.cycles[i];
    n += r, x += r * c, y += r * u.shifts[i], xx += r * c * c, xy += r * c * u.shifts[i];
  }
  return (xy - x * y / n) / (xx - x * x / n);
}

void judge(const World& w, const json& report, Score& score) {
  bool any = false;
  for (const json& e : report.at("effects")) {
    const auto u = std::find_if(w.units.begin(), w.units.end(),
                                [&](const Unit& one) { return one.label == e.at("unit"); });
    const double detectable =
        e.at("detectable_us").is_null() ? HUGE_VAL : e.at("detectable_us").get<double>();
    const double truth = u->shifts.back();
    const bool found = e.at("found");
    any = any || found;
    if (std::abs(truth) > 2 * detectable) ++score.large, score.large_found += found;
    if (std::abs(truth) < 0.1 * detectable) ++score.small, score.small_found += found;
    if (w.null || u != w.units.begin()) continue;
    ++score.worlds;
    score.slopes += holds(e.at("slope_us_a_cycle"), slope_of(w, *u));
    score.shifts += holds(e.at("doses").back().at("shift_us"), truth);
  }
  if (w.null) ++score.nulls, score.nulls_shown += any;
}

// Whether so many of `n` may be wrong by chance where each is with 5 %: exactly, as a check has few worlds.
bool by_chance(unsigned n, unsigned wrong) {
  double one = std::pow(0.95, n), fewer = 0;  // the probability of exactly k, of less than `wrong`
  for (unsigned k = 0; k < wrong; ++k) {
    fewer += one;
    one *= 0.05 / 0.95 * (n - k) / (k + 1);
  }
  return 1 - fewer > 2.5e-4;
}

void run_world(const World& w, const std::string& bin, const fs::path& folder, Score& score) {
  fs::create_directories(folder);
  std::ofstream(folder / "op.toml") << w.toml;
  std::ofstream(folder / "plan.toml") << plan_of(w, folder.filename().string(), folder / "op.toml");
  const std::string made = (folder / "made").string();
  output_of(bin + "/ttdelay run " + (folder / "plan.toml").string() + " -q -o " + made + " > /dev/null");
  const json report = json::parse(output_of(bin + "/ttdelay report " + made + " --json -"));
  if (report.at("valid") != report.at("planned"))
    throw std::runtime_error(made + " has runs that are not valid");
  score.runs += check_runs(w, made + "/journal.jsonl");
  judge(w, report, score);
  fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned worlds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : once() ? 2 : 200;
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  const unsigned nulls = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : worlds / 2;
  print_machine("delay_worlds_bench");
  const std::string bin = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path base = fs::temp_directory_path() / ("worlds-" + std::to_string(getpid()));
  Random random(seed);
  Score s;
  const uint64_t begun = now_ns();
  for (unsigned i = 0, of_nulls = 0; i < worlds + nulls; ++i) {
    // Spread evenly among the others.
    const bool null = uint64_t{i + 1} * nulls / (worlds + nulls) > of_nulls;
    of_nulls += null;
    run_world(world_of(random, null), bin, base / ("w" + std::to_string(getpid()) + "-" + std::to_string(i)),
              s);
    if (i % 15 == 14)
      std::fprintf(stderr, "%u worlds: %u slopes, %u shifts; %u of %u nulls show an effect\n", s.worlds,
                   s.slopes, s.shifts, s.nulls_shown, s.nulls);
  }
  fs::remove_all(base);
  result("%u runs in %.0f s, each as simulated", s.runs, static_cast<double>(now_ns() - begun) / 1e9);
  result("%u worlds: the slope's interval holds the truth in %u, the largest shift's in %u", s.worlds,
         s.slopes, s.shifts);
  result(
      "%u units whose effect is above twice what would be seen: %u named; %u below a tenth of it: %u named",
      s.large, s.large_found, s.small, s.small_found);
  result("%u worlds with delays of 1 and 2 cycles: %u show an effect", s.nulls, s.nulls_shown);
  const bool right = by_chance(s.worlds, s.worlds - std::min(s.slopes, s.shifts)) &&
                     s.large_found == s.large && by_chance(s.nulls, s.nulls_shown);
  return right ? 0 : 1;
}

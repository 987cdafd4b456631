// How the cost of collecting grows with cores, launches and the price of a round trip; as a table, and with
// `--svg FILE` as a figure. Every number is printed beside its bound.
//
// Time is simulated: a case has a clock of its own, for the card and the drain alike, that
// moves by what a sweep takes (the collector's CPU time, and the charge of its round trips) and by the waits
// between sweeps. Launches (four zones, five RISCs, each core at its own phase) take none of it. So 140 cores
// can launch 50 000 programs a second each on a small machine that others use too. What is left out are late
// timers and the scheduler; latency_bench has them.
//
// Two ways of looking:
//   sweep     every core once a millisecond (the idle interval), or as soon as the last sweep has ended
//   schedule  whatever the drain itself has due: what ttcollect does
//
// The last table has the drain's schedule where sweeps take a stated share of the time (`--loaded`: that table alone): how long launches
// take to readers, in sweeps in which every core has a launch.
//
// The card charges every line of payload a full round trip. Streaming loads overlap on silicon, so where
// payload dominates, this is the pessimistic end.
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "bench/emulated_rig.hpp"
#include "bench/fewest_lines.hpp"
#include "bench/svg_panels.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr uint32_t kZones = 4;
constexpr uint64_t kSweepEveryNs = 1'000'000;
// A log of tt-metal's size holds so many of these launches (28 words each in 48 000 bytes). Who lets more of
// them pass between two polls loses some.
constexpr uint64_t kLogLaunches = 48'000 / (4 * 28);

struct Rate {
  uint32_t a_second;  // launches of one core
  const char* name;
  const char* colour;
};
constexpr Rate kRates[] = {{0, "idle", "#6b7280"},
                           {100, "100/s", "#0072b2"},
                           {1000, "1 k/s", "#009e73"},
                           {10'000, "10 k/s", "#e69f00"},
                           {50'000, "50 k/s", "#c0392b"}};
constexpr uint32_t kCharges[] = {0, 500, 1000};

struct Chip {
  const char* what;
  const char* generation;
  const char* arch;
  const char* board;
  std::vector<size_t> cores;
};

enum class Look { sweep, schedule };

// What one way of looking costs in one case.
struct Cost {
  double trips = 0, fewest = 0;             // round trips a core and visit; the bound
  double p50_us = 0, p99_us = 0;            // of a sweep
  double bound_p50_us = 0;                  // what the fewest lines of a sweep are charged
  double looking = 0;                       // share of the time the collector is in a sweep
  double link = 0, fewest_link = 0;         // share of the time the link is taken, charged round trips
  double seen_p50_us = 0, seen_p99_us = 0;  // from the end of a launch to the end of the sweep that read it
  bool behind = false;                      // more is launched than fetched: the other numbers mean nothing
};

enum class Launches {
  apart,    // each core at its own phase
  at_once,  // all cores at the same moment, as the programs of a device are launched
};

struct Case {
  size_t cores;
  Rate rate;
  uint32_t charged_ns;
  Launches launches = Launches::apart;
};

// Launches of all cores on the clock of the case.
class Workload {
 public:
  Workload(Rig& rig, const Case& c, uint64_t begin)
      : rig_(rig), period_(c.rate.a_second ? 1'000'000'000 / c.rate.a_second : 0), unseen_(rig.cores.size()) {
    for (size_t core = 0; core < rig.cores.size(); ++core)
      next_.push_back(begin + (c.launches == Launches::apart ? period_ * core / rig.cores.size() : 0));
  }

  void run_until(uint64_t now) {
    for (size_t core = 0; period_ && core < next_.size(); ++core)
      for (; next_[core] <= now; next_[core] += period_) {
        Rig::launch(*rig_.cores[core], ++launches_, kZones, false);
        unseen_[core].push_back(next_[core]);
      }
  }
  // Everything that core has launched has been read at `now`.
  void seen(size_t core, uint64_t now, Samples& age) {
    for (const uint64_t finished : unseen_[core]) age.add(now - finished);
    unseen_[core].clear();
  }
  uint32_t launches() const { return launches_; }

 private:
  Rig& rig_;
  uint64_t period_;
  std::vector<uint64_t> next_;                 // by core
  std::vector<std::vector<uint64_t>> unseen_;  // launched and not read yet
  uint32_t launches_ = 0;
};

// Sweeps that grow without end: the later half takes clearly longer than the one before it.
bool growing(const std::vector<uint64_t>& sweeps) {
  const auto median = [](std::vector<uint64_t> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
    return static_cast<double>(v[v.size() / 2]);
  };
  if (sweeps.size() < 2) return true;  // one used up all there was to launch
  const auto half = sweeps.begin() + static_cast<ptrdiff_t>(sweeps.size() / 2);
  return median({half, sweeps.end()}) > 1.5 * median({sweeps.begin(), half});
}

// The cost of reading the CPU time, to be taken off.
uint64_t cpu_clock_cost_ns() {
  static const uint64_t kCost = [] {
    uint64_t least = ~uint64_t{0};
    for (int i = 0; i < 1000; ++i) {
      const uint64_t begin = thread_cpu_ns();
      least = std::min(least, thread_cpu_ns() - begin);
    }
    return least;
  }();
  return kCost;
}

// What a sweep takes: the collector's CPU time, and the charge of its round trips.
uint64_t timed_sweep(Rig& rig, Look look, uint32_t charged_ns) {
  const uint64_t trips = rig.observer->transactions().round_trips, begin = thread_cpu_ns();
  if (rig.drain->sweep(rig.at_ns(), look == Look::sweep) != card::Access::ok)
    std::puts("WRONG: the card refused"), std::exit(1);
  const uint64_t spent = thread_cpu_ns() - begin;
  return spent - std::min(spent, cpu_clock_cost_ns()) +
         (rig.observer->transactions().round_trips - trips) * charged_ns;
}

struct Limits {
  size_t sweeps;
  uint32_t launches;  // of all cores
  uint64_t real_ns;
};
Limits limits(size_t cores) {
  if (once()) return {3, 500, 10'000'000};
  return {2000, static_cast<uint32_t>(std::min<size_t>(60'000, 12'000 * cores)), 250'000'000};
}

class Measurement {
 public:
  Measurement(Rig& rig, const Case& c, uint32_t bytes_per_risc)
      : rig_(rig), case_(c), lines_(rig, bytes_per_risc), control_(fewest_control_lines(rig.attachment)) {
    for (const auto& core : rig.cores) looked_.push_back(rig.card().control_reads(core->where().at));
  }

  Cost look(Look look) {
    rig_.move_to(rig_.drain->next_due_ns());
    Workload workload(rig_, case_, rig_.at_ns());
    settle(look, workload);
    Totals totals;
    std::vector<uint64_t> sweeps;
    Samples age;
    const uint64_t begin = rig_.at_ns(), real_begin = now_ns();
    const uint32_t launches_before = workload.launches();
    const Limits most = limits(rig_.cores.size());
    while (sweeps.size() < most.sweeps && workload.launches() - launches_before < most.launches &&
           now_ns() - real_begin < most.real_ns && !overflown(sweeps))
      sweeps.push_back(step(look, workload, totals, age));
    launches_ += workload.launches();
    return account(sweeps, totals, rig_.at_ns() - begin, age);
  }
  uint64_t launches() const { return launches_; }  // so far, on all cores

 private:
  struct Totals {
    uint64_t trips = 0, fewest = 0, visits = 0, looking_ns = 0;
    Samples bounds;  // of each sweep
  };

  // Intervals of quiet cores grow; what the last case left is read.
  void settle(Look look, Workload& workload) {
    Totals totals;
    Samples age;
    const uint64_t end = rig_.at_ns() + (once() ? 1 : 8) * kSweepEveryNs;
    std::vector<uint64_t> sweeps;
    while (rig_.at_ns() < end && sweeps.size() < 400 && !overflown(sweeps))
      sweeps.push_back(step(look, workload, totals, age));
  }

  bool overflown(const std::vector<uint64_t>& sweeps) const {
    return !sweeps.empty() && sweeps.back() * case_.rate.a_second / 1'000'000'000 > kLogLaunches;
  }

  // One sweep and the wait for the next; what the sweep took.
  uint64_t step(Look look, Workload& workload, Totals& totals, Samples& age) {
    const uint64_t now = rig_.at_ns();
    workload.run_until(now);
    const card::Transactions before = rig_.observer->transactions();
    const uint64_t took = timed_sweep(rig_, look, case_.charged_ns);
    const card::Transactions after = rig_.observer->transactions();
    const uint64_t trips = after.round_trips - before.round_trips;
    // The wall clock's loads every 10 ms belong to no core.
    totals.trips += trips - (after.register_loads - before.register_loads);
    totals.looking_ns += took;
    const uint64_t fewest_before = totals.fewest;
    for (size_t core = 0; core < looked_.size(); ++core) {
      const uint64_t looks = rig_.card().control_reads(rig_.cores[core]->where().at);
      if (looks == std::exchange(looked_[core], looks)) continue;
      ++totals.visits;
      totals.fewest += control_ + lines_.since(core).touched;
      workload.seen(core, now + took, age);
    }
    totals.bounds.add((totals.fewest - fewest_before) * case_.charged_ns);
    const uint64_t due = look == Look::sweep ? now + kSweepEveryNs : rig_.drain->next_due_ns();
    rig_.move_to(std::max(now + took, due));
    return took;
  }

  Cost account(const std::vector<uint64_t>& sweeps, Totals& t, uint64_t elapsed, Samples& age) const {
    Samples times;
    for (const uint64_t ns : sweeps) times.add(ns);
    const auto visits = static_cast<double>(t.visits), all_ns = static_cast<double>(elapsed);
    Cost c;
    c.trips = static_cast<double>(t.trips) / visits;
    c.fewest = static_cast<double>(t.fewest) / visits;
    c.p50_us = times.us(50);
    c.p99_us = times.us(99);
    c.bound_p50_us = t.bounds.us(50);
    c.looking = static_cast<double>(t.looking_ns) / all_ns;
    c.link = static_cast<double>(t.trips) * case_.charged_ns / all_ns;
    c.fewest_link = static_cast<double>(t.fewest) * case_.charged_ns / all_ns;
    c.seen_p50_us = age.us(50);
    c.seen_p99_us = age.us(99);
    c.behind = overflown(sweeps) || (!once() && c.looking > 0.97 && growing(sweeps));
    return c;
  }

  Rig& rig_;
  Case case_;
  Appended lines_;
  uint64_t control_;
  std::vector<uint64_t> looked_;
  uint64_t launches_ = 0;
};

struct Result {
  Case at;
  Cost sweep, schedule;
};

RigOptions rig_options(const Chip& chip, size_t cores) {
  RigOptions o;
  o.generation = chip.generation;
  o.arch = chip.arch;
  o.board = chip.board;
  o.unharvested = true;
  o.cores = cores;
  o.simulated = true;
  o.bytes_per_risc = 4 << 20;  // so long that no host has to read and reset in between
  return o;
}

Result measure(const Chip& chip, const Case& c) {
  const RigOptions o = rig_options(chip, c.cores);
  Rig rig(o);
  rig.warm_up(kZones, false);
  const uint64_t frames_before = rig.drain->frames();
  Measurement measurement(rig, c, o.bytes_per_risc);
  const Cost sweep = measurement.look(Look::sweep);
  rig.sweep_all();
  const Cost schedule = measurement.look(Look::schedule);
  rig.sweep_until_quiet();  // a long log is read in several pieces
  const uint64_t frames = rig.drain->frames() - frames_before;
  if (frames != device::kMaxRiscs * measurement.launches()) {
    result("WRONG: %llu launches left %llu frames", static_cast<unsigned long long>(measurement.launches()),
           static_cast<unsigned long long>(frames));
    std::exit(1);
  }
  return {c, sweep, schedule};
}

void print_head(const Chip& chip) {
  result("%s, %s; trips: round trips a core and visit, and the fewest", chip.what, chip.generation);
  result(
      "  trip               |     every core once a millisecond       |             the drain's own "
      "schedule");
  result(
      "    ns cores   rate  | trips fewest ratio   p50 us   p99 us  | trips fewest ratio  busy  link fewest"
      "  seen p50   p99 us");
}

// What is left of the columns when the card outruns the collector.
constexpr char kBehind[] = "falls behind";

std::string sweep_columns(const Cost& c) {
  char text[64];
  std::snprintf(text, sizeof text, "%5.1f %6.1f %5.2f %8.1f %8.1f", c.trips, c.fewest, c.trips / c.fewest,
                c.p50_us, c.p99_us);
  return c.behind ? kBehind : text;
}
std::string schedule_columns(const Cost& c) {
  char text[96];
  std::snprintf(text, sizeof text, "%5.1f %6.1f %5.2f %4.0f%% %4.1f%%  %4.1f%% %9.0f %8.0f", c.trips,
                c.fewest, c.trips / c.fewest, 100 * c.looking, 100 * c.link, 100 * c.fewest_link,
                c.seen_p50_us, c.seen_p99_us);
  return c.behind ? kBehind : text;
}

void print_row(const Result& r) {
  result(" %5u %5zu %6s  | %-36s  | %s", r.at.charged_ns, r.at.cores, r.at.rate.name,
         sweep_columns(r.sweep).c_str(), schedule_columns(r.schedule).c_str());
}

std::vector<Result> measure(const Chip& chip) {
  print_head(chip);
  std::vector<Result> results;
  for (const uint32_t charged : kCharges)
    for (const size_t cores : chip.cores)
      for (const Rate& rate : kRates) {
        if (once() && (rate.a_second % 10'000 != 0 || charged == 500 || rate.a_second > 10'000)) continue;
        results.push_back(measure(chip, {cores, rate, charged}));
        print_row(results.back());
      }
  return results;
}

constexpr double kLoadedShare = 0.7;  // of the time that the drain is in sweeps, by its own schedule
constexpr double kNearEnough = 0.02;
// The median sweep in which every core has one launch.
double full_sweep_us(const Chip& chip, size_t cores, uint32_t charged_ns) {
  Rig rig(rig_options(chip, cores));
  rig.warm_up(kZones, false);
  Samples times;
  for (int i = 0; i < repetitions(40); ++i) {
    rig.launch_all(kZones, false);
    rig.move_to(rig.at_ns() + kSweepEveryNs);
    times.add(timed_sweep(rig, Look::sweep, charged_ns));
    rig.sweep_all();
  }
  return times.us(50);
}

struct Loaded {
  double a_second = 0;
  Cost cost;
  double off() const { return cost.behind ? 1 : std::abs(cost.looking - kLoadedShare); }
};

// The rate of launches with that share, between the highest one tried that has less and the lowest that has more. Sweeps of idle cores count, and
// beyond some rate every sweep finds news: the share grows with the rate by leaps.
Loaded find_loaded(const Chip& chip, size_t cores, uint32_t charged, Launches launches) {
  Loaded best{0, {}};
  best.cost.behind = true;
  double a_second = kLoadedShare / (charged / 1e9 * static_cast<double>(cores)) / 20, less = 0, more = 0;
  for (int i = 0; i < repetitions(12); ++i) {
    const Case at{cores, {static_cast<uint32_t>(a_second), "", ""}, charged, launches};
    const Loaded tried{a_second, measure(chip, at).schedule};
    if (tried.off() <= best.off()) best = tried;
    if (best.off() < kNearEnough) break;
    (tried.cost.behind || tried.cost.looking > kLoadedShare ? more : less) = a_second;
    if (less > 0 && more > 0)
      a_second = std::sqrt(less * more);
    else
      a_second *= tried.cost.behind ? 0.8 : kLoadedShare / tried.cost.looking;
  }
  return best;
}

void measure_loaded(const Chip& chip) {
  result("%s, %s: the drain is in sweeps for %.0f %% of the time; how long launches take to readers",
         chip.what, chip.generation, 100 * kLoadedShare);
  result(
      "    ns cores  launches at      a second  link  busy   sweep us  seen p50   p99 us  p99 in sweeps, "
      "with a launch of each core");
  for (const Launches launches : {Launches::apart, Launches::at_once})
    for (const uint32_t charged : {500u, 1000u})
      for (const size_t cores : chip.cores) {
        if (cores < 8) continue;
        const auto [a_second, cost] = find_loaded(chip, cores, charged, launches);
        const double sweep_us = full_sweep_us(chip, cores, charged), in_sweeps = cost.seen_p99_us / sweep_us;
        result(" %5u %5zu  %-11s %12.0f %4.0f%% %4.0f%% %10.0f %9.0f %8.0f %14.2f %s", charged, cores,
               launches == Launches::apart ? "own phases" : "once", a_second, 100 * cost.link,
               100 * cost.looking, sweep_us, cost.seen_p50_us, cost.seen_p99_us, in_sweeps,
               judged(in_sweeps, "<=", 2).c_str());
      }
}

// One panel: for every rate what was measured, its tail and the bound, over the cores.
template <class Value, class Tail, class Bound>
std::vector<Stroke> panel(const std::vector<Result>& results, uint32_t charged, bool own_schedule,
                          Value value, Tail tail, Bound bound) {
  std::vector<Stroke> strokes;
  for (const Rate& rate : kRates) {
    Stroke measured{Stroke::Kind::measured, rate.colour, {}}, late{Stroke::Kind::tail, rate.colour, {}},
        least{Stroke::Kind::bound, rate.colour, {}};
    for (const Result& r : results) {
      if (r.at.charged_ns != charged || r.at.rate.a_second != rate.a_second) continue;
      const Cost& c = own_schedule ? r.schedule : r.sweep;
      if (c.behind) continue;
      const auto x = static_cast<double>(r.at.cores);
      measured.points.push_back({x, value(c)});
      late.points.push_back({x, tail(c)});
      least.points.push_back({x, bound(c)});
    }
    strokes.insert(strokes.end(), {late, measured, least});
  }
  return strokes;
}

Figure figure_of(const Chip& chip, const std::vector<Result>& results) {
  const auto none = [](const Cost&) { return 0.0; };
  Figure f;
  f.title = std::string("Cost of collecting from ") + chip.what + ", " + chip.generation;
  f.remarks = {
      "Emulated card; every line of payload is charged a full round trip. A launch: 4 zones on 5 RISCs, "
      "560 bytes.",
      "Upper two rows: every core is polled once a millisecond. Lower two: on the drain's own schedule.",
      "A line ends where the card outruns the collector. Measured on " + cpu_model() + ", " +
          std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores."};
  f.x_label = "cores";
  for (const size_t cores : chip.cores) f.x_ticks.push_back(static_cast<double>(cores));
  std::vector<Figure::Key> rates, kinds;
  for (const Rate& rate : kRates)
    rates.push_back({Stroke::Kind::measured, rate.colour,
                     rate.a_second ? std::string(rate.name) + " launches a core" : rate.name});
  kinds = {{Stroke::Kind::measured, "#333", "measured (times: median)"},
           {Stroke::Kind::tail, "#333", "99th percentile"},
           {Stroke::Kind::bound, "#333", "bound: the fewest lines that hold what is new"}};
  f.legend = {rates, kinds};
  f.rows = {{"round trips a core, one sweep", {}},
            {"one sweep of all cores, us", {}},
            {"time spent in sweeps, %", {}},
            {"launch to reader, us", {}}};
  for (const uint32_t charged : kCharges) {
    f.columns.push_back(charged ? std::to_string(charged) + " ns a round trip" : "free round trips");
    f.rows[0].panels.push_back(panel(
        results, charged, false, [](const Cost& c) { return c.trips; }, none,
        [](const Cost& c) { return c.fewest; }));
    f.rows[1].panels.push_back(panel(
        results, charged, false, [](const Cost& c) { return c.p50_us; },
        [](const Cost& c) { return c.p99_us; }, [](const Cost& c) { return c.bound_p50_us; }));
    f.rows[2].panels.push_back(panel(
        results, charged, true, [](const Cost& c) { return 100 * c.looking; }, none,
        [](const Cost& c) { return 100 * c.fewest_link; }));
    f.rows[3].panels.push_back(panel(
        results, charged, true, [](const Cost& c) { return c.seen_p50_us; },
        [](const Cost& c) { return c.seen_p99_us; }, none));
  }
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  std::string svg;
  const bool loaded_only = argc == 2 && std::strcmp(argv[1], "--loaded") == 0;
  if (argc == 3 && std::strcmp(argv[1], "--svg") == 0) {
    svg = argv[2];
  } else if (argc != 1 && !loaded_only) {
    std::fprintf(stderr,
                 "usage: scaling_bench [--svg FILE | --loaded]\n"
                 "  tables on stdout; --svg: the Blackhole figure in FILE; --loaded: only the table of a "
                 "loaded link\n");
    return 2;
  }
  print_machine("scaling_bench");
  Chip wormhole{"a Wormhole with all its 80 cores", "G3", "wormhole_b0", "n150", {1, 8, 16, 32, 64, 80}};
  Chip blackhole{
      "a Blackhole with all its 140 cores", "G4", "blackhole", "p150", {1, 8, 16, 32, 64, 100, 140}};
  if (once()) wormhole.cores = {1}, blackhole.cores = {1, 140};
  std::vector<Result> results;
  if (!loaded_only) {
    measure(wormhole);
    results = measure(blackhole);
  }
  measure_loaded(wormhole);
  measure_loaded(blackhole);
  if (svg.empty() || write_svg(svg, figure_of(blackhole, results))) return 0;
  std::fprintf(stderr, "scaling_bench: cannot write the figure to %s: %s; try another place\n", svg.c_str(),
               std::strerror(errno));
  return 1;
}

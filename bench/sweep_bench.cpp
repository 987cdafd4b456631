// What polling a card costs in round trips, and how long a sweep takes. A round trip is what the link
// charges (0.7 to 1 us on silicon); times on the emulated card without a charge are the collector's own work.
//
// Fewest: see fewest_lines.hpp. The drain adds the line that shows that the host has not rewound meanwhile,
// and where a core's log begins at a line, the one before it. "In whole lines" counts the payload as if every
// push began at a line, which the log does not do.
#include <numeric>

#include "bench/emulated_rig.hpp"
#include "bench/fewest_lines.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

// Round trips a core. The wall clock is not in them: its three loads every 10 ms belong to no core. The
// median sweep is the ordinary one; the mean has in it what the drain looks up after it was kept from looking
// for long.
struct Trips {
  double median, mean;
};

template <class Before>
Trips sweep_many(Rig& rig, int sweeps, Samples& times, Before before) {
  std::vector<uint64_t> trips;
  for (int i = 0; i < sweeps; ++i) {
    before();
    const card::Transactions t0 = rig.observer->transactions();
    const uint64_t begin = now_ns();
    rig.sweep_all();
    times.add(now_ns() - begin);
    const card::Transactions t1 = rig.observer->transactions();
    trips.push_back(t1.round_trips - t0.round_trips - (t1.register_loads - t0.register_loads));
  }
  std::sort(trips.begin(), trips.end());
  const auto cores = static_cast<double>(rig.cores.size());
  return {static_cast<double>(trips[trips.size() / 2]) / cores,
          static_cast<double>(std::accumulate(trips.begin(), trips.end(), uint64_t{0})) / (cores * sweeps)};
}

void print_times(const char* what, Samples& times, uint32_t charged) {
  result("    %s sweep at %u ns a round trip: p50 %.1f, p99 %.1f, max %.1f us", what, charged, times.us(50),
         times.us(99), times.us(100));
}

void idle(const RigOptions& o) {
  Rig rig(o);
  rig.warm_up(4, false);
  Samples times;
  const Trips trips = sweep_many(rig, once() ? 3 : 1000, times, [] {});
  const size_t fewest = fewest_control_lines(rig.attachment);
  if (o.round_trip_ns == 0)
    result("  idle: %.2f round trips a core %s, mean %.3f, fewest %zu, ratio %.2f", trips.median,
           judged(trips.median, "<=", 2).c_str(), trips.mean, fewest,
           trips.median / static_cast<double>(fewest));
  print_times("idle", times, o.round_trip_ns);
}

void busy(const RigOptions& o, bool data) {
  Rig rig(o);
  rig.warm_up(4, data);
  Samples times;
  NewLines lines;
  Appended appended(rig, o.bytes_per_risc);
  const uint64_t frames_before = rig.drain->frames();
  const int sweeps = once() ? 3 : 300;
  const double trips = sweep_many(rig, sweeps, times, [&] {
                         rig.launch_all(4, data);
                         for (size_t core = 0; core < rig.cores.size(); ++core) lines += appended.since(core);
                       }).mean;  // pushes begin elsewhere in a line each time
  const double visits = static_cast<double>(rig.cores.size()) * sweeps;
  const double frames = static_cast<double>(rig.drain->frames() - frames_before) / visits;
  const auto control = static_cast<double>(fewest_control_lines(rig.attachment));
  const double fewest = control + static_cast<double>(lines.touched) / visits;
  const double in_whole_lines = control + static_cast<double>(lines.whole) / visits;
  if (o.round_trip_ns == 0) {
    result(
        "  busy, 4 zones%s: %.2f round trips a core, fewest %.2f, ratio %.2f %s; in whole lines %.2f, ratio "
        "%.2f",
        data ? " and data" : "", trips, fewest, trips / fewest, judged(trips / fewest, "<=", 1.3).c_str(),
        in_whole_lines, trips / in_whole_lines);
    result("    %.3f frames delivered a core and sweep of %u", frames, device::kMaxRiscs);
  }
  print_times(data ? "busy, data," : "busy", times, o.round_trip_ns);
}

// A quiet card under the default schedule, in real time: what ttcollect costs the link when nothing happens.
void quiet_second(const RigOptions& o) {
  Rig rig(o);
  rig.warm_up(4, false);
  const auto run_for = [&](uint64_t ns) {
    for (const uint64_t end = now_ns() + ns; now_ns() < end;) {
      rig.drain->sweep(now_ns());
      const uint64_t due = rig.drain->next_due_ns(), after = now_ns();
      rig.loop->wait(due > after ? due - after : 0);
    }
  };
  run_for(
      50'000'000);  // until the intervals have grown, and the clock of the warm-up has been caught up with
  const card::Transactions t0 = rig.observer->transactions();
  const uint64_t begin = now_ns();
  run_for(once() ? 5'000'000 : 500'000'000);
  const auto ms = static_cast<double>(now_ns() - begin) / 1e6;
  const auto trips = static_cast<double>(rig.observer->transactions().round_trips - t0.round_trips);
  const double due = static_cast<double>(rig.cores.size() * fewest_control_lines(rig.attachment)) * 1e6 /
                     static_cast<double>(o.drain.idle_interval_ns);
  result(
      "  quiet at the default schedule: %.0f round trips a ms, %.0f %% of a link of 1 us each; one poll of "
      "the"
      " fewest lines a core and idle interval is %.0f a ms, ratio %.2f",
      trips / ms, trips / ms / 10, due, trips / ms / due);
}

// What tt-metal's host moves for the same result: every control vector and every region, whole.
void whole_regions(const RigOptions& o, const char* what) {
  Rig rig(o);
  rig.warm_up(4, false);
  rig.launch_all(4, false);
  const auto before_drain = rig.observer->transactions();
  rig.sweep_all();
  const auto before = rig.observer->transactions();
  std::vector<uint64_t> vector(rig.attachment.layout->format.control_words / 2), region(o.bytes_per_risc / 8);
  for (const collect::AttachedCore& core : rig.attachment.cores) {
    rig.observer->aim(card::Window::control, core.at, core.control_address);
    rig.observer->copy(card::Window::control, core.control_address, vector);
    for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
      const auto place = markers::log_place(core.flat_id, r, rig.attachment.core_count_per_dram,
                                            rig.attachment.dram_base, o.bytes_per_risc);
      const collect::LogRead read{place.bank, place.address, region};
      rig.logs->read({&read, 1});
    }
  }
  const auto after = rig.observer->transactions();
  const auto trips = static_cast<double>(after.round_trips - before.round_trips);
  const auto drains = static_cast<double>(before.round_trips - before_drain.round_trips);
  result(
      "  %s: whole vectors and regions, as tt-metal's host reads them: %.0f round trips a core, %.0f times "
      "the"
      " drain's; %.1f MiB, at least %.0f ms at 1 us a round trip, the drain %.1f ms",
      what, trips / static_cast<double>(rig.cores.size()), trips / drains,
      static_cast<double>(after.bytes - before.bytes) / (1 << 20), trips / 1000, drains / 1000);
}

void measure(const char* what, const RigOptions& o) {
  result("%s", what);
  for (const uint32_t charged : {0u, 1000u}) {
    RigOptions with = o;
    with.round_trip_ns = charged;
    idle(with);
    if (charged == 0) quiet_second(with);
    busy(with, false);
    busy(with, true);
  }
}

}  // namespace

int main() {
  print_machine("sweep_bench");
  for (const char* generation : {"G3", "G4"}) {
    RigOptions n150, p150;
    n150.generation = p150.generation = generation;
    p150.arch = "blackhole";
    p150.board = "p150";
    p150.cores = 80;
    measure((std::string(generation) + ", n150, 72 cores").c_str(), n150);
    measure((std::string(generation) + ", p150, 80 of its cores").c_str(), p150);
    whole_regions(n150, generation);
  }
}

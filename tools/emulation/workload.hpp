// A synthetic workload: programs launched on the emulated cores the way tt-metal launches them, with the
// host's reads and resets in between.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tools/chip/workload.hpp"
#include "tools/emulation/pacing.hpp"
#include "tools/emulation/programs_allowed.hpp"
#include "tools/streaming/real_time.hpp"
#include "tools/streaming/resident.hpp"
#include "tools/streaming/rings.hpp"
#include "tools/watcher/build.hpp"
#include "tools/watcher/record.hpp"
#include "tools/watcher/waypoints.hpp"

namespace ttc::emulation {

// tt-metal's watcher, as the workload's environment and its build have it.
struct WatcherSetup {
  watcher::Settings settings;
  watcher::Built built;
  watcher::DelayRecord record;  // of Tensix cores
  std::optional<watcher::DelayRecord> active_ethernet{}, idle_ethernet{};
  // One entry a kind of core; empty where the block's place is not known.
  std::array<std::optional<watcher::Waypoints>, markers::kCoreKinds> waypoints{};

  const watcher::DelayRecord* record_of(markers::CoreKind kind) const {
    if (kind == markers::CoreKind::tensix) return &record;
    const auto& ethernet = kind == markers::CoreKind::active_ethernet ? active_ethernet : idle_ethernet;
    return ethernet ? &*ethernet : nullptr;
  }
  const watcher::Waypoints* waypoints_of(markers::CoreKind kind) const {
    const auto& own = waypoints[static_cast<size_t>(kind)];
    return own ? &*own : nullptr;
  }
  // Firmware passes waypoints.
  bool marks_the_way() const { return settings.watcher && !settings.disabled.contains("WAYPOINT"); }
};

struct WorkloadOptions {
  unsigned cores = 8;           // that run programs; 0: all
  unsigned dispatch_cores = 0;  // further ones that run without end and quick-push
  uint64_t programs = 1000;     // 0: until stopped
  double rate = 0;              // programs a second; 0: as fast as it goes
  bool from_stdin = false;      // numbers on standard input (ProgramsAllowed)
  unsigned zones_per_kernel = 4;
  unsigned skip_core_percent = 0;  // launches a core is not part of
  unsigned skip_risc_percent = 0;  // RISCs that sit a launch out
  unsigned trace_programs = 0;     // programs of a trace; 0: no traces
  unsigned trace_replays = 1;      // how often each trace is replayed
  unsigned noc_event_percent = 0;  // launches in which a core records its NoC transactions
  bool perf_counters = false;
  bool sums = false;              // kernels add up the time in their zones
  uint64_t host_reads_every = 0;  // the host reads and resets after so many programs; 0: only at the end
  uint32_t pace_programs = 0;     // with WorldOptions::pace: wait while more than so many are unread
  uint64_t seed = 1;
  bool followed =
      false;  // by another workload: with pacing, the last read of the host is waited for like the others
  std::shared_ptr<const WatcherSetup> watcher;  // null: the record's place is not known
  std::optional<streaming::Relay> streaming;    // the streaming profiler records, instead of the classic one
  bool real_time = false;                       // the real-time profiler is there, on the last core
  bool recorded = true;                         // false: kernels were built without the profiler
  std::shared_ptr<const chip::ChipWorkload> chip;  // set: ChipPlayer plays it instead of Workload
  uint64_t chip_hz = 1'000'000'000;                // of the card's tile clock, nominally
  uint64_t operation_timeout_ns = 0;               // the host aborts a program that takes this long; 0: never
  uint64_t no_observer_ns = 30'000'000'000;  // pacing stops waiting when no observer was attached for so long
};

class Workload {
 public:
  Workload(World& world, const ZoneCatalog& zones, ZoneLog& log, const WorkloadOptions& options);

  // Runs until done or `stop`. Ends with a host read, as closing a device does.
  void run(const std::atomic<bool>& stop);
  uint64_t programs_run() const { return program_; }
  uint64_t host_reads() const { return pacing_.host_reads(); }

 private:
  void launch();
  // Until the next program may be launched. False: there is none.
  bool wait_for_next(const std::atomic<bool>& stop);
  void run_on(EmulatedCore& core, Launch launch);
  uint32_t host_id_of_program() const;
  void compile_for(uint64_t program);

  World& world_;
  const ZoneCatalog& zones_;
  ZoneLog& log_;
  WorkloadOptions options_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<EmulatedCore>> cores_, ethernet_, dispatch_;
  Pacing pacing_;
  std::optional<ProgramsAllowed> allowed_;
  uint64_t program_ = 0;
  uint64_t paced_from_ = 0;  // the first of those that are launched at a rate since rate_begun_
  std::chrono::steady_clock::time_point rate_begun_;
  uint32_t compiled_ = 0;
};

}  // namespace ttc::emulation

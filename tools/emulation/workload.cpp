#include "tools/emulation/workload.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "ttcollect/host_time.hpp"

namespace ttc::emulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWaitStep = std::chrono::microseconds(20);
// Looks at a core's vector that make some visits: an observer reads twice before it believes, and looks twice
// at a reset.
constexpr uint32_t kPollsToNotice = 24;
// An observer that looks so often and fetches nothing has what it wants: pacing waits for it, but not for
// ever.
constexpr uint64_t kPollsInVain = 400;
// Before the first launch after a reset: nothing can then have happened unseen in between.
constexpr uint64_t kPollsBeforeLaunch = 4;
constexpr uint64_t kCloselyNs = 500'000;

// Ethernet cores are looked at a few times a second only; that, too, makes a poll worth more.
uint64_t polls_at(const EmulatedCore& core, uint64_t polls) {
  return core.where().kind == markers::CoreKind::tensix ? polls : std::max<uint64_t>(2, polls / 4);
}

}  // namespace

Workload::Workload(World& world, const ZoneCatalog& zones, ZoneLog& log, const WorkloadOptions& options)
    : world_(world),
      zones_(zones),
      log_(log),
      options_(options),
      random_(options.seed),
      paced_(world.options().pace) {
  const auto& all = world.cores();
  const size_t dispatch = std::min<size_t>(options.dispatch_cores, all.size() - 1);
  const size_t working =
      options.cores == 0 ? all.size() - dispatch : std::min<size_t>(options.cores, all.size() - dispatch);
  for (size_t i = 0; i < working; ++i) cores_.push_back(make_core(world, all[i], zones));
  for (const WorldCore& core : world.ethernet()) ethernet_.push_back(make_core(world, core, zones));
  for (size_t i = 0; i < dispatch; ++i) {
    const WorldCore& core = all[all.size() - 1 - i];
    world.is_dispatch_core(core);
    dispatch_.push_back(make_core(world, core, zones, true));
  }
}

// Kernels are compiled when first used: a new zone of the catalog every few programs.
void Workload::compile_for(uint64_t program) {
  const uint64_t needed = std::min<uint64_t>(zones_.kernel_zones(), options_.zones_per_kernel + program / 16);
  while (compiled_ < std::max<uint64_t>(1, needed)) log_.compiled(zones_.kernel_zones_of(compiled_++));
}

// A replayed trace runs its programs again under the ids they were captured with.
uint32_t Workload::host_id_of_program() const {
  uint64_t id = program_;
  if (options_.trace_programs) {
    const uint64_t once = options_.trace_programs, all = once * options_.trace_replays;
    id = program_ / all * once + program_ % once;
  }
  return static_cast<uint32_t>(id + 1) & 0x7fffffff;
}

void Workload::run_on(EmulatedCore& core, Launch launch) {
  const auto chance = [&](unsigned percent) { return percent && random_() % 100 < percent; };
  launch.for_this_core = !chance(options_.skip_core_percent);
  for (uint32_t r = 1; r < device::kMaxRiscs; ++r) launch.enabled[r] = !chance(options_.skip_risc_percent);
  launch.seed = random_();
  const bool data = world_.options().mode == device::Mode::normal;  // the other modes record none
  if (data && chance(options_.noc_event_percent))
    launch.noc_events = static_cast<uint32_t>(4 + random_() % 200);
  launch.perf_counters = data && options_.perf_counters;
  wait_after_read(core);
  core.run(launch);
}

void Workload::wait_after_read(const EmulatedCore& core) {
  if (paced_ && first_after_read_) wait_polls(core, polls_at(core, kPollsBeforeLaunch));
}

void Workload::launch() {
  compile_for(program_);
  Launch launch;
  launch.host_id = host_id_of_program();
  launch.zones = world_.options().mode == device::Mode::trace_only ? 0 : options_.zones_per_kernel;
  launch.first_zone =
      compiled_ > launch.zones ? static_cast<uint32_t>(random_() % (compiled_ - launch.zones + 1)) : 0;
  launch.sums = options_.sums;
  if (options_.trace_programs && program_ % options_.trace_programs == 0)
    for (auto* group : {&cores_, &ethernet_})
      for (auto& core : *group)
        if (core->where().kind != markers::CoreKind::idle_ethernet) {
          wait_after_read(*core);
          core->replay_started();
        }
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group) {
      run_on(*core, launch);
      if (world_.card().lost()) return;
    }
  for (auto& core : dispatch_) {
    wait_after_read(*core);
    core->dispatch_step(2);
  }
  first_after_read_ = false;
  ++program_;
}

bool Workload::wait_step() {
  world_.land_due();
  if (*stop_ || world_.card().lost()) return false;
  const uint64_t now = collect::monotonic_now_ns();
  if (world_.card().observers() > 0)
    alone_since_ns_ = 0;
  else if (alone_since_ns_ == 0)
    alone_since_ns_ = now;
  else if (now - alone_since_ns_ > options_.no_observer_ns)
    return paced_ = false;
  if (world_.writes_under_way()) return true;  // they land when they are due, not when a sleep is over
  std::this_thread::sleep_for(kWaitStep);      // the workload's own pace, waiting for another process
  return true;
}

void Workload::wait_unread(size_t at_most) {
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) {
      const uint64_t enough = world_.card().control_reads(core->where().at) + polls_at(*core, kPollsInVain);
      while (core->unread_programs() > at_most) {
        if (world_.card().control_reads(core->where().at) > enough) core->forget_unread();
        if (!wait_step()) return;
      }
    }
}

void Workload::wait_polls(const EmulatedCore& core, uint64_t polls) {
  const auto count = [&] { return world_.card().control_reads(core.where().at); };
  for (uint64_t enough = count() + polls;;) {
    const uint64_t before_ns = collect::monotonic_now_ns();
    if (!wait_step()) return;
    // What comes next must follow a poll closely. Where this thread was kept waiting, that is not known.
    if (count() >= enough && collect::monotonic_now_ns() - before_ns < kCloselyNs) return;
    if (count() >= enough) enough = count() + 1;
  }
}

// A paced card gives observers the time for some looks at every core; silicon would not.
void Workload::wait_noticed() {
  std::vector<uint64_t> polls_before;
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) polls_before.push_back(world_.card().control_reads(core->where().at));
  size_t i = 0;
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) {
      const uint64_t enough = polls_before[i++] + polls_at(*core, kPollsToNotice);
      while (world_.card().control_reads(core->where().at) < enough)
        if (!wait_step()) return;
    }
}

void Workload::host_read(bool last) {
  if (paced_) {
    world_.land_all();
    wait_unread(0);
    wait_noticed();  // what was fetched is also judged by now
  }
  while (!world_.host_may_reset() && wait_step()) {
  }
  world_.land_all();  // the host reads after the writes have arrived
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) world_.host_reset(core->where());
  ++host_reads_;
  first_after_read_ = true;
  if (paced_ && !last) wait_noticed();
}

void Workload::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  first_after_read_ = paced_;
  log_.compiled(zones_.firmware_zones());
  for (auto& core : dispatch_) core->dispatch_open(0);
  const auto begun = Clock::now();
  const auto over = [&] { return stop || world_.card().lost(); };
  while (!over() && (options_.programs == 0 || program_ < options_.programs)) {
    if (options_.rate > 0)
      while (!over() && Clock::now() < begun + std::chrono::duration<double>(static_cast<double>(program_) /
                                                                             options_.rate)) {
        world_.land_due();
        if (!world_.writes_under_way()) std::this_thread::sleep_for(kWaitStep);
      }
    launch();
    if (world_.card().lost()) break;
    if (paced_) wait_unread(options_.pace_programs);
    if (options_.host_reads_every && program_ % options_.host_reads_every == 0) host_read(false);
  }
  if (world_.card().lost()) return;  // it took the workload with it
  for (auto& core : dispatch_) core->dispatch_close();
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group) core->close();
  host_read(!options_.followed);
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) core->settle_unseen();
}

}  // namespace ttc::emulation

#include "tools/emulation/workload.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace ttc::emulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRateStep = std::chrono::microseconds(20);

}  // namespace

Workload::Workload(World& world, const ZoneCatalog& zones, ZoneLog& log, const WorkloadOptions& options)
    : world_(world),
      zones_(zones),
      log_(log),
      options_(options),
      random_(options.seed),
      pacing_(world, options.no_observer_ns) {
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
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) pacing_.add(*core);
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
  pacing_.before_launch(core);
  core.run(launch);
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
          pacing_.before_launch(*core);
          core->replay_started(0);
        }
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group) {
      run_on(*core, launch);
      if (world_.card().lost()) return;
    }
  for (auto& core : dispatch_) {
    pacing_.before_launch(*core);
    core->dispatch_step(2);
  }
  pacing_.launched();
  ++program_;
}

bool Workload::wait_for_next(const std::atomic<bool>& stop) {
  const auto over = [&] { return stop || world_.card().lost(); };
  const auto step = [&] {
    world_.land_due();
    if (!world_.writes_under_way()) std::this_thread::sleep_for(kRateStep);
  };
  if (options_.programs != 0 && program_ >= options_.programs) return false;
  if (allowed_ && program_ >= allowed_->count()) {
    for (allowed_->read(); !over() && program_ >= allowed_->count(); allowed_->read()) {
      if (allowed_->ended()) return false;
      step();
    }
    rate_begun_ = Clock::now(), paced_from_ = program_;
  }
  if (options_.rate > 0) {
    const std::chrono::duration<double> since(static_cast<double>(program_ - paced_from_) / options_.rate);
    while (!over() && Clock::now() < rate_begun_ + since) step();
  }
  return !over();
}

void Workload::run(const std::atomic<bool>& stop) {
  pacing_.begin(stop);
  log_.compiled(zones_.firmware_zones());
  for (auto& core : dispatch_) core->dispatch_open(0);
  if (options_.from_stdin) allowed_.emplace(STDIN_FILENO);
  rate_begun_ = Clock::now();
  while (wait_for_next(stop)) {
    launch();
    if (world_.card().lost()) break;
    if (pacing_.on()) pacing_.wait_unread(options_.pace_programs);
    if (options_.host_reads_every && program_ % options_.host_reads_every == 0) pacing_.host_read(false);
  }
  if (world_.card().lost()) return;  // it took the workload with it
  for (auto& core : dispatch_) core->dispatch_close();
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group) core->close();
  pacing_.host_read(!options_.followed);
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) core->settle_unseen();
}

}  // namespace ttc::emulation

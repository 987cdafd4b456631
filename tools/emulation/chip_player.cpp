#include "tools/emulation/chip_player.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace ttc::emulation {
namespace {

constexpr uint64_t kMostLagNs = 500'000;
constexpr uint64_t kLeadNs = 200'000;  // from the beginning to the first host call
constexpr uint64_t kShortWaitNs = 60'000;
constexpr auto kLongestWait = std::chrono::milliseconds(1);
constexpr auto kShortStep = std::chrono::microseconds(20);
constexpr uint64_t kDispatchGo = 200;  // cycles before the go message leaves

Zone zone_at(const std::string& name, const std::string& file, unsigned line) {
  const std::string zone_string = name + "," + file + "," + std::to_string(line) + ",KERNEL_PROFILER";
  return {zone_string, markers::hash16(zone_string)};
}

uint64_t cycles_of(uint64_t ns, uint64_t hz) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ns) * hz / 1'000'000'000);
}

// So many cores as a grid of the chip: its columns from the left, its rows from the top. Row by row.
std::vector<WorldCore> grid_of(const std::vector<WorldCore>& all, size_t wanted, unsigned& columns) {
  std::set<uint8_t> xs;
  for (const WorldCore& core : all) xs.insert(core.at.x);
  columns = static_cast<unsigned>(xs.size());
  if (wanted < all.size())
    columns = std::min(columns, static_cast<unsigned>(std::ceil(std::sqrt(static_cast<double>(wanted)))));
  std::vector<WorldCore> grid;
  for (;; ++columns) {
    const uint8_t end = *std::next(xs.begin(), columns - 1);
    grid.clear();
    for (const WorldCore& core : all)
      if (core.at.x <= end) grid.push_back(core);
    if (grid.size() >= wanted) break;  // with all columns it is all of them
  }
  std::sort(grid.begin(), grid.end(), [](const WorldCore& a, const WorldCore& b) {
    return std::pair(a.at.y, a.at.x) < std::pair(b.at.y, b.at.x);
  });
  grid.resize(wanted);
  return grid;
}

}  // namespace

ChipZones::ChipZones(const ZoneCatalog& catalog) {
  std::set<uint16_t> taken;
  for (const Zone* z : catalog.firmware_zones()) taken.insert(z->id);
  for (uint32_t i = 0; i < catalog.kernel_zones(); ++i)
    for (const Zone* z : catalog.kernel_zones_of(i)) taken.insert(z->id);
  const auto unique = [&](const std::string& name, const std::string& file, unsigned line) {
    for (;; ++line)
      if (Zone z = zone_at(name, file, line); taken.insert(z.id).second) return z;
  };
  for (const auto pattern :
       {chip::Pattern::stream, chip::Pattern::multicast, chip::Pattern::pipeline, chip::Pattern::ring})
    for (uint8_t z = 0; z < static_cast<uint8_t>(chip::ZoneOf::count); ++z) {
      const chip::ZonePlace place = chip::zone_place(pattern, static_cast<chip::ZoneOf>(z));
      zones_[{pattern, z}] = unique(place.name, place.file, place.line);
    }
  dispatch_[0] = unique("CQ-DISPATCH-WRITE", "emulated/kernels/cq_dispatch.cpp", 400);
  dispatch_[1] = unique("CQ-DISPATCH-GO", "emulated/kernels/cq_dispatch.cpp", 430);
}

const Zone& ChipZones::of(chip::Pattern pattern, uint8_t zone) const {
  return zones_.at({pattern, zone});
}

std::vector<const Zone*> ChipZones::all() const {
  std::vector<const Zone*> all = dispatch();
  for (const auto& [key, zone] : zones_) all.push_back(&zone);
  return all;
}

std::vector<const Zone*> ChipZones::of(chip::Pattern pattern) const {
  std::vector<const Zone*> all;
  for (const auto& [key, zone] : zones_)
    if (key.first == pattern) all.push_back(&zone);
  return all;
}

ChipPlayer::ChipPlayer(World& world, const ZoneCatalog& zones, ZoneLog& log, const WorkloadOptions& options,
                       ChipOutputs outputs)
    : world_(world),
      log_(log),
      options_(options),
      outputs_(outputs),
      zones_(zones),
      catalog_(zones),
      firmware_zones_(zones.firmware_zones()),
      pacing_(world, options.no_observer_ns) {
  if (world.options().faults.overrun.every !=
      0)  // a kernel that overruns its buffer does so with other zones
    for (const Zone* z : zones.kernel_zones_of(0)) firmware_zones_.push_back(z);
  for (uint32_t i = 0; i < 2 && !world.ethernet().empty(); ++i)
    for (const Zone* z : zones.kernel_zones_of(i))
      if (std::find(firmware_zones_.begin(), firmware_zones_.end(), z) == firmware_zones_.end())
        firmware_zones_.push_back(z);
  std::vector<WorldCore> all = world.cores();
  if (options_.real_time && all.size() > 1) {
    real_time_.emplace(world.card(), all.back().at, options_.chip_hz);
    all.pop_back();
  }
  for (size_t i = 0; i < options.dispatch_cores && all.size() > 1; ++i) {
    world.is_dispatch_core(all.back());
    dispatch_.push_back(make_core(world, all.back(), zones, true));
    all.pop_back();
  }
  const size_t wanted = options.cores == 0 ? all.size() : std::min<size_t>(options.cores, all.size());
  unsigned columns = 0;
  std::vector<chip::Place> places;
  for (const WorldCore& core : grid_of(all, wanted, columns)) {
    cores_.push_back(make_core(world, core, zones));
    places.push_back({core.at.x, core.at.y});
  }
  const bool blackhole = world.card().arch().name == "blackhole";
  chip::Shape shape = (blackhole ? chip::blackhole_shape : chip::wormhole_shape)(std::move(places));
  shape.columns = columns;
  shape.channels = static_cast<unsigned>(world.card().dram_views().size());
  const uint64_t hz = options.chip_hz;
  chip::HostPace host;
  if (options.rate > 0) host.apart = static_cast<chip::Cycles>(static_cast<double>(hz) / options.rate);
  schedule_ = std::make_unique<chip::Schedule>(std::move(shape), *options.chip, host, options.seed, hz);
  for (const WorldCore& core : world.ethernet()) ethernet_.push_back(make_core(world, core, zones));
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) pacing_.add(*core);
}

// Host ids as tt-metal's are: the op's number and the chip's.
uint32_t ChipPlayer::host_id(const chip::Launched& l) const {
  uint64_t number =
      l.number;  // a replayed trace runs its programs again under the ids they were captured with
  if (options_.trace_programs) {
    const uint64_t once = options_.trace_programs, all = once * options_.trace_replays;
    number = number / all * once + number % once;
  }
  return static_cast<uint32_t>((number + 1) << 10) & 0x7fffffff;
}

void ChipPlayer::compile(const chip::Launched& l) {
  if (compiled_.insert(l.op->pattern).second) log_.compiled(zones_.of(l.op->pattern));
}

// What kernels and firmware record besides zones, where the options ask for it.
void ChipPlayer::add_records(const chip::Launched& l, const chip::Step& from, CoreStep& step) const {
  constexpr uint8_t kMostEvents = 16;  // of a block
  step.seed = (l.number * 1031 + from.core) * 0x9e3779b97f4a7c15 + options_.seed;
  const bool data = world_.options().mode == device::Mode::normal;  // the other modes record none
  const bool moves_a_block = from.act == chip::Act::zone_begin && from.risc < 2;
  if (data && moves_a_block && (step.seed >> 40) % 100 < options_.noc_event_percent)
    step.noc_events = static_cast<uint8_t>(std::min<unsigned>(l.op->tiles, kMostEvents));
  step.perf_counters = data && options_.perf_counters && from.act == chip::Act::fw_end && from.risc == 0;
}

// Ethernet tiles take part in no pattern: each runs a kernel of two zones while the program runs.
void ChipPlayer::add_ethernet(const chip::Launched& l, std::vector<Act>& acts) const {
  using chip::Act;
  const uint64_t begin = l.go + 200, part = (l.timeline.end() - l.go) / 8;
  for (const auto& core : ethernet_) {
    const auto add = [&](uint64_t at, chip::Act act, uint32_t id = 0) {
      acts.push_back({core.get(), CoreStep{at, 0, act, id}});
    };
    add(begin, Act::launch, host_id(l));
    add(begin + 60, Act::kernel_start);
    for (uint32_t z = 0; z < 2 && world_.options().mode != device::Mode::trace_only; ++z) {
      const uint32_t id = catalog_.custom(0, z, core->where().kind).id;
      add(begin + 100 + z * 2 * part, Act::zone_begin, id);
      add(begin + 200 + (z * 2 + 1) * part, Act::zone_end, id);
    }
    const uint64_t end = std::max(begin + 300 + 4 * part, l.go);
    add(end, Act::kernel_end);
    add(end + 30, Act::fw_end);
    add(end + 60, Act::finish);
  }
}

std::vector<ChipPlayer::Act> ChipPlayer::acts_of(const chip::Launched& now,
                                                 const chip::Launched* next) const {
  std::vector<Act> acts;
  acts.reserve(now.timeline.steps.size() + 2 * dispatch_.size() + 10 * ethernet_.size());
  const bool trace_only = world_.options().mode == device::Mode::trace_only;
  const bool records = options_.noc_event_percent != 0 || options_.perf_counters;
  for (const chip::Step& s : now.timeline.steps) {
    if (trace_only && (s.act == chip::Act::zone_begin || s.act == chip::Act::zone_end)) continue;
    CoreStep step{s.at, s.risc, s.act};
    if (records) add_records(now, s, step);
    if (s.act == chip::Act::launch) step.id = host_id(now);
    if (s.act == chip::Act::zone_begin || s.act == chip::Act::zone_end)
      step.id = zones_.of(now.op->pattern, s.zone).id;
    const auto zone = static_cast<chip::ZoneOf>(s.zone);
    if (options_.sums && s.act == chip::Act::zone_end && zone == chip::ZoneOf::wait_front) step.sum = 0;
    if (options_.sums && s.act == chip::Act::zone_end && zone == chip::ZoneOf::reserve_back) step.sum = 1;
    acts.push_back({cores_[s.core].get(), step});
  }
  add_ethernet(now, acts);
  if (!next && ethernet_.empty()) return acts;
  if (next)
    for (const auto& core : dispatch_)
      for (const unsigned which : {0u, 1u}) {
        const uint64_t end = which == 0 ? next->written_end : next->go;
        const uint64_t begin = which == 0 ? next->written_begin : next->go - kDispatchGo;
        Act act{core.get(), CoreStep{begin, static_cast<uint8_t>(which), chip::Act::zone_begin,
                                     zones_.dispatch(which).id}};
        act.until = end;
        acts.push_back(act);
      }
  std::stable_sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) {
    return std::max(a.step.at, a.until) < std::max(b.step.at, b.until);
  });
  return acts;
}

void ChipPlayer::start_replay(const chip::Launched& l) {
  if (!options_.recorded || options_.trace_programs == 0 || l.number % options_.trace_programs != 0) return;
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group)
      if (core->where().kind != markers::CoreKind::idle_ethernet) core->replay_started(l.go - 1 + moved_);
}

// --- time

bool ChipPlayer::wait_until(uint64_t at) {
  if (world_.options().virtual_time) {
    const uint64_t now = world_.clock();
    if (now < at) world_.card().advance_clock(at - now);
    return !over();
  }
  while (!over()) {
    const uint64_t now = world_.clock();
    if (now + cycles_of(1'000'000'000, options_.chip_hz) < last_clock_) {  // it has restarted
      moved_ += now - last_clock_;
      at += now - last_clock_;
    }
    last_clock_ = now;
    if (now >= at) return true;
    world_.land_due();
    const auto left_ns =
        static_cast<uint64_t>(static_cast<unsigned __int128>(at - now) * 1'000'000'000 / options_.chip_hz);
    if (world_.writes_under_way()) continue;  // they land when they are due, not when a sleep is over
    if (left_ns < kShortWaitNs)
      std::this_thread::sleep_for(kShortStep);
    else
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
          kLongestWait, std::chrono::nanoseconds(left_ns - kShortWaitNs / 2)));
  }
  return false;
}

// `first`: the earliest of what comes next, as planned.
void ChipPlayer::catch_up(uint64_t first) {
  const uint64_t now = world_.clock(), at = first + moved_;
  const uint64_t most = world_.options().virtual_time ? 0 : cycles_of(kMostLagNs, options_.chip_hz);
  if (now < at + most) return;
  moved_ += now - at;
  if (!world_.options().virtual_time)
    late_ns_ +=
        static_cast<uint64_t>(static_cast<unsigned __int128>(now - at) * 1'000'000'000 / options_.chip_hz);
}

// The streaming profiler has kernels' zones alone: no firmware's, and none of dispatch cores.
void ChipPlayer::stream(const Act& act) {
  using chip::Act;
  const auto found = rings_.find(act.core);
  if (found == rings_.end()) return;
  Streamed& s = found->second;
  const CoreStep& step = act.step;
  const uint64_t at = step.at + moved_;
  auto& open = s.open[step.risc];
  const auto close = [&] {
    s.rings.zone(step.risc, open.back().first, open.back().second, at);
    streamed_.push_back(
        {act.core->where().at, step.risc, s.program, open.back().first, open.back().second, at});
    open.pop_back();
  };
  if (step.act == Act::launch) s.program = step.id;
  if (step.act == Act::kernel_start) {
    s.rings.launch(step.risc, s.program);
    open.emplace_back(catalog_.kernel(step.risc, act.core->where().kind).id, at);
  }
  if (step.act == Act::zone_begin) open.emplace_back(step.id, at);
  if (step.act == Act::zone_end) close();
  if (step.act == Act::kernel_end && !open.empty()) {
    close();
    s.rings.kernel_end(step.risc);
  }
}

uint64_t ChipPlayer::stalls() const {
  uint64_t all = 0;
  for (const auto& [core, streamed] : rings_) all += streamed.rings.stalls();
  return all;
}

void ChipPlayer::close_other_profilers() {
  for (auto& [core, streamed] : rings_) streamed.rings.close();
  if (real_time_) real_time_->close();
}

void ChipPlayer::play(const Act& act) {
  if (options_.streaming) return stream(act);
  if (!options_.recorded) return;  // the firmware has no markers to write
  CoreStep step = act.step;
  step.at += moved_;
  if (act.until != 0)
    act.core->dispatch_zone(step.risc, step.id, step.at, act.until + moved_);
  else
    act.core->play(step);
}

void ChipPlayer::play(const std::vector<Act>& acts) {
  for (const Act& act : acts) {
    const uint64_t at = std::max(act.step.at, act.until) + moved_;
    if (at > last_clock_ && !wait_until(at)) return;
    play(act);
    if (world_.card().lost()) return;
  }
}

chip::InPass ChipPlayer::in_pass(const chip::Launched& l) const {
  uint64_t ops = 0;
  for (const chip::ChipOp& op : options_.chip->ops) ops += op.repeat;
  return {l.number / ops, l.number % ops == 0, l.number % ops == ops - 1};
}

void ChipPlayer::write(const chip::Launched& l, uint64_t done_before) {
  // Of the program before, whose times were perhaps not moved as far.
  const uint64_t before = done_before == 0 ? 0 : done_before - moved_;
  if (outputs_.path)
    outputs_.path->add(host_id(l), chip::program_path(l, before), schedule_->shape(), moved_);
  if (outputs_.host)
    outputs_.host->add(host_id(l), *l.op, !l.first_of_its_kind, l.host_begin + moved_, l.host_end + moved_,
                       in_pass(l));
}

// Masks lie in L1, where firmware reads them at every transaction; here, at every program.
std::unique_ptr<chip::Launched> ChipPlayer::next() {
  if (const WatcherSetup* w = options_.watcher.get(); w && w->built.sanitises) {
    chip::Watched watched{chip::kWatcherCheckCycles, w->built.delays_by(), {}};
    for (const auto& core : cores_) {
      const watcher::Masks masks = w->record.masks(world_.card(), core->where().at);
      watched.masks.push_back(
          {static_cast<uint8_t>(masks[0]), static_cast<uint8_t>(masks[1]), static_cast<uint8_t>(masks[2])});
    }
    schedule_->set_watched(std::move(watched));
  }
  return std::make_unique<chip::Launched>(schedule_->next());
}

void ChipPlayer::give_feedback(const chip::Timeline& timeline) {
  for (const chip::Delayed& d : timeline.delayed) {
    const card::Coord at = cores_[d.core]->where().at;
    options_.watcher->record.add_feedback(world_.card(), at, 1u << d.command);
    delays_[at][d.command] += d.times;
  }
}

void ChipPlayer::take_output(const chip::Launched& l) {
  if (outputs_.output) outputs_.output->add(host_id(l), l);
  for (const chip::Race& race : l.timeline.races) races_lost_ += race.lost && race.kind == chip::Race::data;
  hung_ = l.hung;
  if (hung_.empty()) checksum_ = (checksum_ ^ l.checksum) * 0x100000001b3;
}

// The host waits for the program, for ever or as long as TT_METAL_OPERATION_TIMEOUT_SECONDS allows.
void ChipPlayer::hang() {
  using Clock = std::chrono::steady_clock;
  if (world_.options().virtual_time) return;  // its clock would never move again
  const auto until = Clock::now() + std::chrono::nanoseconds(options_.operation_timeout_ns);
  while (!over() && (options_.operation_timeout_ns == 0 || Clock::now() < until)) {
    world_.land_due();
    std::this_thread::sleep_for(kLongestWait);
  }
}

void ChipPlayer::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  world_.steps_take_no_time();
  if (options_.streaming)
    for (const auto& core : cores_)
      rings_.emplace(
          core.get(),
          Streamed{
              {world_.card(), core->where().at, core->where().control_address, *options_.streaming}, {}, 0});
  pacing_.begin(stop);
  log_.compiled(firmware_zones_);
  if (!dispatch_.empty()) log_.compiled(zones_.dispatch());
  if (options_.recorded)
    for (auto& core : dispatch_) core->dispatch_open(0);
  moved_ = world_.clock() + cycles_of(kLeadNs, options_.chip_hz);  // planned times begin with 0
  bool ends = false;                                               // nothing follows a program that hangs
  const auto more = [&] {
    return !ends && (options_.programs == 0 || schedule_->launched() < options_.programs);
  };
  std::unique_ptr<chip::Launched> now = next();
  const uint64_t first_go = now->go;
  for (uint64_t done_before = 0; now && !over();) {
    ends = !now->hung.empty();
    auto following = more() ? next() : nullptr;
    compile(*now);
    for (auto* group : {&cores_, &ethernet_})
      for (auto& core : *group) pacing_.before_launch(*core);
    pacing_.launched();
    catch_up(now->go);
    write(*now, done_before);
    start_replay(*now);
    play(acts_of(*now, following.get()));
    if (over()) break;
    take_output(*now);
    if (!hung_.empty()) {
      give_feedback(now->timeline);
      return hang();  // a host that ends then reads and closes nothing
    }
    ++played_;
    give_feedback(now->timeline);
    if (real_time_)
      real_time_->program(host_id(*now) & 0xffff, now->go + moved_, now->timeline.end() + moved_);
    simulated_cycles_ = now->timeline.end() - first_go;
    done_before = now->timeline.end() + moved_;
    if (pacing_.on()) pacing_.wait_unread(options_.pace_programs);
    if (options_.host_reads_every && options_.recorded && played_ % options_.host_reads_every == 0)
      pacing_.host_read(false);
    now = std::move(following);
  }
  if (world_.card().lost()) return;  // it took the workload with it
  close_other_profilers();
  if (!options_.recorded) return;  // no host that would read results
  for (auto& core : dispatch_) core->dispatch_close();
  for (auto* group : {&cores_, &ethernet_})
    for (auto& core : *group) core->close();
  pacing_.host_read(!options_.followed);
  for (auto* group : {&cores_, &ethernet_, &dispatch_})
    for (auto& core : *group) core->settle_unseen();
}

}  // namespace ttc::emulation

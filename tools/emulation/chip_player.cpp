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

uint64_t cycles_of(uint64_t ns, uint64_t hz) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ns) * hz / 1'000'000'000);
}

// The given number of cores as a grid of the chip: its columns from the left, its rows from the top. Row by row.
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

// Adds what kernels and firmware record besides zones, if the options request it.
void ChipPlayer::add_records(const chip::Launched& l, const chip::Step& from, CoreStep& step) const {
  constexpr uint8_t kMostEvents = 16;  // of a block
  step.seed = (l.number * 1031 + from.core) * 0x9e3779b97f4a7c15 + options_.seed;
  const bool data = world_.options().mode == device::Mode::normal;  // the other modes record none
  const bool moves_a_block = from.act == chip::Act::zone_begin && from.risc < 2;
  if (data && moves_a_block && (step.seed >> 40) % 100 < options_.noc_event_percent)
    step.noc_events = static_cast<uint8_t>(std::min<unsigned>(l.op->tiles, kMostEvents));
  step.perf_counters = data && options_.perf_counters && from.act == chip::Act::fw_end && from.risc == 0;
}

// Ethernet tiles take part in no pattern: each runs a kernel of two zones while the program runs, one that reads, one that writes and
// then signals. The program is over when they are done, too.
constexpr uint64_t kEthernetStart = 200, kEthernetRest = 400;

uint64_t ChipPlayer::ethernet_end(const chip::Launched& l, const WorldCore& core) const {
  const Held held = held_by_watcher(core);
  return l.go + kEthernetStart + (l.timeline.end() - l.go) / 8 * 4 + kEthernetRest + held[0] + held[1] +
         held[2];
}

void ChipPlayer::add_ethernet(const chip::Launched& l, std::vector<Act>& acts) const {
  using chip::Act;
  const uint64_t part = (l.timeline.end() - l.go) / 8;
  for (const auto& core : ethernet_) {
    const auto add = [&](uint64_t at, chip::Act act, uint32_t id = 0) {
      acts.push_back({core.get(), CoreStep{at, 0, act, id}});
    };
    const Held held = held_by_watcher(core->where());
    const uint64_t longer[] = {held[0], held[1] + held[2]};
    uint64_t begin = l.go + kEthernetStart;
    add(begin, Act::launch, host_id(l));
    add(begin + 60, Act::kernel_start);
    for (uint32_t z = 0; z < 2; ++z) {
      const uint32_t id = catalog_.custom(0, z, core->where().kind).id;
      const bool zones = world_.options().mode != device::Mode::trace_only;
      if (zones) add(begin + 100, Act::zone_begin, id);
      begin += part + longer[z];
      if (zones) add(begin + 200, Act::zone_end, id);
      begin += part;
    }
    add(begin + 300, Act::kernel_end);
    add(begin + 330, Act::fw_end);
    add(begin + 360, Act::finish);
  }
}

ChipPlayer::Act ChipPlayer::act_of(const chip::Launched& now, const chip::Step& s) const {
  CoreStep step{s.at, s.risc, s.act};
  if (options_.noc_event_percent != 0 || options_.perf_counters) add_records(now, s, step);
  if (s.act == chip::Act::launch) step.id = host_id(now);
  if (s.act == chip::Act::zone_begin || s.act == chip::Act::zone_end)
    step.id = zones_.of(now.op->pattern, s.zone).id;
  if (options_.sums && s.act == chip::Act::zone_end) {
    const auto zone = static_cast<chip::ZoneOf>(s.zone);
    if (zone == chip::ZoneOf::wait_front) step.sum = 0;
    if (zone == chip::ZoneOf::reserve_back) step.sum = 1;
  }
  return {cores_[s.core].get(), step};
}

// The actions of Ethernet and dispatch cores while the program runs, in order of time.
std::vector<ChipPlayer::Act> ChipPlayer::acts_besides(const chip::Launched& now,
                                                      const chip::Launched* next) const {
  std::vector<Act> acts;
  add_ethernet(now, acts);
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
  std::stable_sort(acts.begin(), acts.end(), [](const Act& a, const Act& b) { return a.due() < b.due(); });
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
    for (streaming::Resident& resident : residents_) resident.beat(std::max(now, at));
    return !over();
  }
  while (!over()) {
    const uint64_t now = world_.clock();
    for (streaming::Resident& resident : residents_) resident.beat(now);
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

// Sampler of the clock and relay stay on two Ethernet cores that run nothing else (tt-metal takes idle ones).
void ChipPlayer::open_streaming() {
  for (const auto& core : cores_)
    rings_.emplace(
        core.get(),
        Streamed{
            {world_.card(), core->where().at, core->where().control_address, *options_.streaming}, {}, 0});
  if (*options_.streaming == streaming::Relay::none) return;
  constexpr size_t kResidents = 2;
  for (const WorldCore& core : world_.prepared()) {
    const auto runs = [&](const WorldCore& other) { return other.flat_id == core.flat_id; };
    const bool is_free = core.kind != markers::CoreKind::tensix &&
                         std::none_of(world_.ethernet().begin(), world_.ethernet().end(), runs);
    if (is_free && residents_.size() < kResidents)
      residents_.emplace_back(world_.card(), core.at, options_.chip_hz);
  }
}

void ChipPlayer::close_other_profilers() {
  for (streaming::Resident& resident : residents_) resident.close();
  for (auto& [core, streamed] : rings_) streamed.rings.close();
  if (real_time_) real_time_->close();
}

void ChipPlayer::play(const Act& act) {
  if (options_.watcher && options_.watcher->marks_the_way()) pass_waypoint(act);
  if (options_.streaming) return stream(act);
  if (!options_.recorded) return;  // the firmware has no markers to write
  CoreStep step = act.step;
  step.at += moved_;
  if (act.until != 0)
    act.core->dispatch_zone(step.risc, step.id, step.at, act.until + moved_);
  else
    act.core->play(step);
}

bool ChipPlayer::play_in_time(const Act& act) {
  const uint64_t at = act.due() + moved_;
  if (at > last_clock_ && !wait_until(at)) return false;
  play(act);
  return !world_.card().lost();
}

void ChipPlayer::play_program(const chip::Launched& now, const chip::Launched* next) {
  const std::vector<Act> besides = acts_besides(now, next);
  const bool trace_only = world_.options().mode == device::Mode::trace_only;
  auto other = besides.begin();
  for (const chip::Step& s : now.timeline.steps) {
    if (trace_only && (s.act == chip::Act::zone_begin || s.act == chip::Act::zone_end)) continue;
    for (; other != besides.end() && other->due() < s.at; ++other)
      if (!play_in_time(*other)) return;
    if (!play_in_time(act_of(now, s))) return;
  }
  for (; other != besides.end(); ++other)
    if (!play_in_time(*other)) return;
}

chip::InPass ChipPlayer::in_pass(const chip::Launched& l) const {
  uint64_t ops = 0;
  for (const chip::ChipOp& op : options_.chip->ops) ops += op.repeat;
  return {l.number / ops, l.number % ops == 0, l.number % ops == ops - 1};
}

void ChipPlayer::write(const chip::Launched& l, uint64_t done_before) {
  // The done time of the program before, whose times were perhaps not moved as far.
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
  auto launched = std::make_unique<chip::Launched>(schedule_->next());
  for (const auto& core : ethernet_) schedule_->others_done(ethernet_end(*launched, core->where()));
  return launched;
}

void ChipPlayer::take_output(const chip::Launched& l) {
  if (outputs_.output) outputs_.output->add(host_id(l), l);
  for (const chip::Race& race : l.timeline.races) races_lost_ += race.lost && race.kind == chip::Race::data;
  hung_ = l.hung;
  if (hung_.empty()) checksum_ = (checksum_ ^ l.checksum) * 0x100000001b3;
}

// The host waits for the program, without limit or as long as TT_METAL_OPERATION_TIMEOUT_SECONDS allows.
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
  if (options_.streaming) open_streaming();
  pacing_.begin(stop);
  mark_idle();
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
    play_program(*now, following.get());
    if (over()) break;
    take_output(*now);
    if (!hung_.empty()) {
      give_feedback(now->timeline);
      mark_standing(now->timeline);
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

#include "tools/emulation/core.hpp"

#include <algorithm>

namespace ttc::emulation {

using device::kMaxRiscs;

namespace {

template <const device::Format& F, device::Mode M>
class CoreOf : public EmulatedCore {
 public:
  CoreOf(World& world, const WorldCore& where, const ZoneCatalog& zones)
      : EmulatedCore(where),
        world_(world),
        zones_(zones),
        port_(world, where, M),
        overrun_dice_(world.options().faults.overrun.seed * 256 + where.flat_id) {
    for (uint32_t r = 0; r < where.riscs; ++r)
      riscs_.push_back(std::make_unique<Risc>(port_, r, world.options().bytes_per_risc, where.riscs));
    riscs_[0]->boot();
  }

  void run(const Launch& launch) override {
    Risc& master = *riscs_[0];
    begin(launch.for_this_core, launch.host_id);
    if (!launch.for_this_core) return end_for_others(launch.host_id);
    const uint32_t overruns = draw_overrun();
    for (uint32_t r = 1; r < where_.riscs; ++r)
      if (launch.enabled[r]) {
        riscs_[r]->fw_start(fw(r));
        kernel(r, launch, r == overruns);
        riscs_[r]->fw_end(fw(r));
      }
    if (launch.enabled[0]) kernel(0, launch, overruns == 0);
    if (launch.perf_counters && where_.kind == markers::CoreKind::tensix) perf_counters(launch);
    master.fw_end(fw(0));
    end();
  }

  void play(const CoreStep& step) override {
    using chip::Act;
    const uint32_t r = step.risc;
    Risc& risc = *riscs_[r];
    port_.time_is(step.at, r);
    switch (step.act) {
      case Act::launch:
        begin(true, step.id);
        overruns_ = draw_overrun();
        break;
      case Act::fw_start:
        risc.fw_start(fw(r));
        break;
      case Act::kernel_start:
        risc.kernel_start(zones_.kernel(r, where_.kind).id);
        if (overruns_ == r) overrun(r);
        break;
      case Act::zone_begin:
        open_[r].push_back({risc.zone_start(step.id), step.at});
        if (step.noc_events != 0) {
          Launch events;
          events.noc_events = step.noc_events;
          events.seed = step.seed;
          noc_events(risc, events);
        }
        break;
      case Act::zone_end:
        if (open_[r].back().recorded) risc.zone_end(step.id);
        if (step.sum != CoreStep::kNoSum) risc.add_to_sum(step.sum, step.id, step.at - open_[r].back().begun);
        open_[r].pop_back();
        break;
      case Act::kernel_end:
        risc.kernel_end(zones_.kernel(r, where_.kind).id);
        break;
      case Act::fw_end:
        if (step.perf_counters) {
          Launch counters;
          counters.seed = step.seed;
          perf_counters(counters);
        }
        risc.fw_end(fw(r));
        break;
      case Act::finish:
        end();
        break;
    }
  }

  void replay_started(uint64_t at) override {
    if (at != 0) port_.time_is(at, 0);
    if (F.quick_push_ends_late && M == device::Mode::trace_only) port_.launch_ends_with_push();
    riscs_[0]->replay_started(zones_.quick_push().id);
    if (M == device::Mode::normal) port_.trace_is(riscs_[0]->trace_count());
    if (M == device::Mode::trace_only) {
      port_.frame_over();
      port_.launch_is(riscs_[0]->trace_count());
    }
  }
  void close() override { port_.frame_over(); }
  void settle_unseen() override { port_.settle_unseen(); }

  void dispatch_open(uint32_t host_id) override {
    Risc& brisc = *riscs_[0];
    brisc.open_launch();
    brisc.fw_start(fw(0));
    brisc.take_launch(true, host_id);
    port_.launch_is(host_id);
    riscs_[1]->fw_start(fw(1));
    for (uint32_t r : {0u, 1u}) riscs_[r]->kernel_start(zones_.kernel(r).id);
  }

  void dispatch_step(uint32_t zones) override {
    for (uint32_t r : {0u, 1u})
      for (uint32_t z = 0; z < zones; ++z) {
        device::DispatchScope zone(*riscs_[r], zones_.custom(r, z).id, zones_.quick_push().id);
      }
    note_program();
  }

  void dispatch_zone(uint32_t risc, uint32_t id, uint64_t begin, uint64_t end) override {
    port_.time_is(begin, risc);
    const bool recorded = riscs_[risc]->dispatch_start(id);
    port_.time_is(end, risc);
    if (recorded) riscs_[risc]->dispatch_end(id, zones_.quick_push().id);
    note_program();
  }

  void dispatch_close() override {
    port_.time_is_the_cards();
    for (uint32_t r : {1u, 0u}) {
      riscs_[r]->kernel_end(zones_.kernel(r).id);
      riscs_[r]->fw_end(fw(r));
    }
    finish();
    port_.launch_over();
    note_program();
  }

  void forget_unread() override {
    if (unread_.empty() || unread_.back().resets != world_.resets(where_)) return unread_.clear();
    for (uint32_t r = 0; r < where_.riscs; ++r)
      if (unread_.back().laps[r] == world_.lap(where_.flat_id, r))
        world_.card().assume_read(where_.flat_id * kMaxRiscs + r, unread_.back().laps[r],
                                  unread_.back().words[r]);
    unread_.clear();
  }

  size_t unread_programs() override {
    while (!unread_.empty() && fetched(unread_.front())) unread_.pop_front();
    return unread_.size();
  }

 private:
  using Risc = device::Profiler<CorePort, F, M>;
  static constexpr bool kAccumulate = M == device::Mode::accumulate;
  struct LogEnds {
    uint32_t resets;
    std::array<uint32_t, kMaxRiscs> laps, words;
  };

  struct OpenZone {
    bool recorded;
    uint64_t begun;
  };

  uint32_t fw(uint32_t r) const { return zones_.fw(r, where_.kind).id; }
  uint32_t as_held(uint32_t host_id) const {
    return F.host_id.get(F.host_id.put(host_id));
  }  // as much as the words hold

  void begin(bool for_this_core, uint32_t host_id) {
    port_.settle_unseen(true);
    Risc& master = *riscs_[0];
    master.open_launch();
    master.fw_start(fw(0));
    master.take_launch(for_this_core, host_id);
    if (kAccumulate)
      port_.launch_is(0);  // no identity, and nothing is discarded
    else if (for_this_core && M == device::Mode::normal)
      port_.launch_is(as_held(host_id));
  }
  void end() {
    finish();
    if (M == device::Mode::normal) port_.launch_over();
    note_program();
  }
  void end_for_others(uint32_t host_id) {
    riscs_[0]->fw_end(fw(0), false);
    if (!kAccumulate)
      port_.launch_of_others(as_held(host_id));
    else if (world_.card().load(where_.at, where_.control_address + 4 * F.device_end) == 0)
      port_.launch_overwritten();  // no word shows that the buffer holds a launch: the next restarts it
    finish();
    if (!kAccumulate) port_.launch_discarded();
  }
  void finish() {
    riscs_[0]->finish_launch({zones_.dram_push().id, zones_.noc_flush().id});
    if (kAccumulate) port_.launch_shown();
  }

  // The RISC whose buffer is to overrun in this launch, or none.
  uint32_t draw_overrun() {
    const uint64_t every = world_.options().faults.overrun.every;
    if (every == 0 || overrun_dice_() % every != 0) return kMaxRiscs;
    return static_cast<uint32_t>(overrun_dice_() % where_.riscs);
  }
  // One event, then zones while the firmware takes them: the end of the last one has no room.
  void overrun(uint32_t r) {
    riscs_[r]->event(r);
    while (riscs_[r]->zone_start(zones_.custom(r, 0, where_.kind).id))
      riscs_[r]->zone_end(zones_.custom(r, 0, where_.kind).id);
    world_.count_overrun();
  }

  void kernel(uint32_t r, const Launch& launch, bool overruns) {
    Risc& risc = *riscs_[r];
    risc.kernel_start(zones_.kernel(r, where_.kind).id);
    if (overruns) overrun(r);
    for (uint32_t z = 0; z < launch.zones; ++z) {
      const uint64_t begun = launch.sums ? risc.clock() : 0;
      {
        device::Scope zone(risc, zones_.custom(r, launch.first_zone + z, where_.kind).id);
        if (launch.payload_every && z % launch.payload_every == 0) payload(r, launch, z);
      }
      if (launch.sums) risc.add_to_sum(z % 2, zones_.sum(r, z % 2, where_.kind).id, risc.clock() - begun);
    }
    const bool has_noc = where_.kind != markers::CoreKind::tensix || r < 2;
    if (has_noc) noc_events(risc, launch);
    risc.kernel_end(zones_.kernel(r, where_.kind).id);
  }

  // Room for a few packets and the zone of a push, so that the buffer never overruns.
  bool make_room(Risc& risc) {
    if (risc.free_words() < 16) risc.quick_push(zones_.quick_push().id);
    return risc.free_words() >= 16;
  }

  void noc_events(Risc& risc, const Launch& launch) {
    for (uint32_t n = 0; n < launch.noc_events && make_room(risc); ++n) {
      const uint64_t dice = (launch.seed + n) * 0x9e3779b97f4a7c15;
      const auto coordinate = [&](unsigned shift) { return static_cast<int8_t>(dice >> shift & 15); };
      const device::NocTile to{coordinate(8), coordinate(16)};
      uint64_t event = device::local_noc_event(dice & 1 ? device::kNocRead : device::kNocWrite, to,
                                               static_cast<uint32_t>(dice >> 32 & 0x3fff), dice >> 48 & 1);
      if (n % 8 == 5) event = device::fabric_routing_1d(static_cast<uint32_t>(dice >> 20));
      if (n % 8 == 4)
        event = device::fabric_noc_event(device::kFabricUnicastWrite, to, 0, device::kFabricLowLatency);
      device::record_noc_event(risc, event, zones_.quick_push().id);
    }
  }

  // FPU, SFPU and math, then three of packing (tt-metal perf_counters.hpp): an even number of 6-word packets.
  void perf_counters(const Launch& launch) {
    constexpr uint8_t kCounters[][2] = {{1, 2}, {3, 18}, {19, 20}};
    auto value = static_cast<uint32_t>(launch.seed & 0xffff);
    for (const auto& pair : kCounters) {
      if (!make_room(*riscs_[0])) return;
      for (const uint8_t counter : pair)
        device::record_perf_counter(*riscs_[0], counter, value++, 100000, zones_.quick_push().id);
    }
  }

  void payload(uint32_t r, const Launch& launch, uint32_t z) {
    const uint64_t value = launch.seed * 0x9e3779b97f4a7c15 + z;
    const uint32_t id = zones_.data(r, where_.kind).id;
    const auto event = [&](uint64_t seed) { riscs_[r]->event(static_cast<uint32_t>(seed >> 20 & 0xfff)); };
    // Four words or eight at a time: what is 2 mod 4 makes the buffer overrun when it fills up, and pushes
    // after that are undefined on silicon (tt-metal kernel_profiler.hpp).
    if (riscs_[r]->free_words() < 8) return;
    switch (launch.seed % 4) {
      case 0:
        riscs_[r]->data(id, value);
        break;
      case 1:
        event(value);
        event(~value);
        break;
      case 2:
        if (riscs_[r]->data16(id, value, ~value)) event(value);
        break;
      default:
        break;
    }
  }

  void note_program() {
    if (!world_.options().pace) return;
    LogEnds ends{world_.resets(where_), {}, {}};
    const bool recycled = world_.card().account().index_writes != 0;
    for (uint32_t r = 0; r < where_.riscs; ++r) {
      const uint32_t index = world_.card().load(where_.at, where_.control_address + 4 * (F.host_end + r));
      ends.laps[r] = world_.lap(where_.flat_id, r);
      ends.words[r] = world_.words_pushed(where_.flat_id, r);
      if (!recycled) ends.words[r] = std::min(ends.words[r], index);
    }
    unread_.push_back(ends);
  }

  bool fetched(const LogEnds& ends) const {
    if (ends.resets != world_.resets(where_)) return true;  // the host waited for it before it reset
    for (uint32_t r = 0; r < where_.riscs; ++r)
      if (const bool over = ends.laps[r] != world_.lap(where_.flat_id, r);
          world_.words_read(where_.flat_id, r) < (over ? 1 : ends.words[r]))
        return false;  // who reads the next lap has resolved this one
    return true;
  }

  World& world_;
  const ZoneCatalog& zones_;
  CorePort port_;
  std::vector<std::unique_ptr<Risc>> riscs_;
  std::deque<LogEnds> unread_;
  std::array<std::vector<OpenZone>, kMaxRiscs> open_;  // of a launch that is played act by act
  uint32_t overruns_ = kMaxRiscs;
  std::mt19937_64 overrun_dice_;
};

template <const device::Format& F>
std::unique_ptr<EmulatedCore> core_of(World& world, const WorldCore& where, const ZoneCatalog& zones,
                                      device::Mode mode) {
  if constexpr (F.generation == device::kG4.generation)
    if (mode == device::Mode::accumulate)
      return std::make_unique<CoreOf<F, device::Mode::accumulate>>(world, where, zones);
  if constexpr (F.trace_status != 0)
    if (mode == device::Mode::trace_only)
      return std::make_unique<CoreOf<F, device::Mode::trace_only>>(world, where, zones);
  return std::make_unique<CoreOf<F, device::Mode::normal>>(world, where, zones);
}

}  // namespace

std::unique_ptr<EmulatedCore> make_core(World& world, const WorldCore& where, const ZoneCatalog& zones,
                                        bool dispatch) {
  device::Mode mode = world.options().mode;
  if (mode == device::Mode::trace_only && where.kind != markers::CoreKind::tensix)
    mode = device::Mode::normal;  // on Ethernet cores the option does nothing
  if (dispatch) mode = device::Mode::normal;
  switch (world.format().generation) {
    case device::kG1Narrow.generation:
      return core_of<device::kG1Narrow>(world, where, zones, mode);
    case device::kG1.generation:
      return core_of<device::kG1>(world, where, zones, mode);
    case device::kG2.generation:
      return core_of<device::kG2>(world, where, zones, mode);
    case device::kG3.generation:
      return core_of<device::kG3>(world, where, zones, mode);
    default:
      return core_of<device::kG4>(world, where, zones, mode);
  }
}

}  // namespace ttc::emulation

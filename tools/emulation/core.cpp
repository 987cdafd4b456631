#include "tools/emulation/core.hpp"

#include <algorithm>
#include <utility>

#include "firmware_markers/frame.hpp"

namespace ttc::emulation {

using device::kMaxRiscs;

CorePort::CorePort(World& world, const WorldCore& core, device::Mode mode)
    : world_(world),
      core_(core),
      mode_(mode),
      tear_dice_(world.options().faults.torn_marker.seed * 256 + core.flat_id) {}

uint32_t CorePort::load(uint32_t address) {
  world_.step();
  return world_.card().load(core_.at, address);
}

void CorePort::store(uint32_t address, uint32_t value) {
  world_.step();
  last_store_ = address;
  const uint32_t index = core_.control_address + 4u * world_.format().host_end;
  if (address - index < 4 * kMaxRiscs) world_.announce_push(core_);
  world_.card().store(core_.at, address, value);
}

uint32_t CorePort::clock_high() {
  world_.step();
  const WorkloadFaults::TornMarker& f = world_.options().faults.torn_marker;
  const uint64_t before = world_.clock();
  const uint64_t left = (uint64_t{1} << 32) - (before & 0xffffffffu);
  high_read_at_ = before;
  if (f.every && tear_dice_() % f.every == 0 && tear_would_show(before + left)) {
    world_.card().advance_clock(left - 1);  // the step of the low read is then the one that rolls over
    high_read_at_ += left - 1;
  } else if (left < f.within_cycles && !world_.options().virtual_time) {
    while (world_.clock() - before < left) world_.land_due();
    high_read_at_ += left - 1;
  }
  return static_cast<uint32_t>(before >> 32);
}

constexpr uint64_t kMostBetweenHalves = 1000;  // cycles

// A torn time is told by what its lane recorded before, if that is later than the roll-over before this one.
// On silicon 4.29 s lie between the two; a clock that jumps has them as often as it is asked to.
bool CorePort::tear_would_show(uint64_t roll_over) const {
  constexpr uint64_t kPeriod = uint64_t{1} << 32;
  return std::all_of(last_recorded_.begin(), last_recorded_.end(), [&](uint64_t last) {
    return last == 0 || last + kPeriod > roll_over + kMostBetweenHalves;
  });
}

// A core loads both halves within a few cycles. A process may lose the CPU in between; a time torn by a
// roll-over would then be further off than any on silicon, and nothing repairs it.
uint32_t CorePort::clock_low() {
  world_.step();
  true_time_ = world_.clock();
  if (true_time_ >> 32 != high_read_at_ >> 32)
    true_time_ = std::min(true_time_, high_read_at_ + kMostBetweenHalves);
  return static_cast<uint32_t>(true_time_);
}

void CorePort::push(uint32_t risc, uint32_t words, uint32_t, uint32_t bank_offset) {
  world_.step();
  if (id_if_pushed_) launch_is(*std::exchange(id_if_pushed_, {}));
  std::vector<uint32_t> copy(words);
  for (uint32_t w = 0; w < words; ++w)
    copy[w] = world_.card().load(core_.at, buffer_address() + risc * device::kBufferBytes + 4 * w);
  // After an overrun source and destination are aligned differently, which the NoC does not do: the halves of
  // every 16 bytes change places.
  if (world_.options().faults.overrun.damage && bank_offset % 16 != 0)
    for (size_t w = 0; w + 4 <= copy.size(); w += 4) std::swap_ranges(&copy[w], &copy[w] + 2, &copy[w] + 2);
  std::vector<TruthRecord> markers;
  const auto take = [&](const Stored& s) {
    const bool pushed = s.record.risc == risc && s.word < words;
    if (pushed) markers.push_back(s.record);
    return pushed;
  };
  std::erase_if(kept_, take);
  std::erase_if(stored_, take);
  const uint32_t log_words = world_.options().bytes_per_risc / 4;
  world_.post(core_, risc, bank_offset, std::move(copy), bank_offset / 4 % log_words + words,
              std::move(markers));
  if (std::exchange(ends_with_push_, false)) launch_over();
}

void CorePort::emit(const Stored& stored) {
  world_.truth().add(stored.record);
  if (world_.unseen().wanted()) stored_.push_back(stored);
}

void CorePort::settle_unseen() {
  const auto struck = [&](const Stored& s) { return s.strikes != world_.unseen().strikes(core_.flat_id); };
  std::erase_if(kept_, [&](const Stored& s) {
    if (struck(s) && !world_.looked_before_reset(core_, s.polls)) world_.unseen().add(s.record);
    return struck(s);
  });
  for (const Stored& s : stored_) {
    if (struck(s))
      world_.unseen().add(s.record);
    else if (mode_ == device::Mode::accumulate)
      kept_.push_back(s);
  }
  stored_.clear();
}

void CorePort::recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t a, uint64_t b) {
  if (world_.card().lost()) return;  // nothing runs there any more
  last_recorded_[risc] = true_time_;
  // The words may be torn, the truth is not. A time that is not the last one read was taken earlier.
  const bool now = static_cast<uint32_t>(time) == static_cast<uint32_t>(true_time_);
  const uint32_t word = stored_word(risc);
  TruthRecord record{};
  record.time = (now ? true_time_ : time) & markers::kClockMask;
  if (word == device::kFwStartWord) fw_start_[risc] = record.time;
  if (type == device::kZoneTotal) record.time = fw_start_[risc];  // it has none of its own
  record.data[0] = a;
  record.data[1] = b;
  record.host_id = host_id_;
  record.id = static_cast<uint16_t>(id);
  record.type = static_cast<uint8_t>(type);
  record.risc = static_cast<uint8_t>(risc);
  record.core_x = core_.at.x;
  record.core_y = core_.at.y;
  record.trace_counter = trace_counter_;
  record.core_kind = core_.kind;
  record.one_risc = mode_ == device::Mode::trace_only;
  if (mode_ == device::Mode::trace_only && word < device::kFirstCustomWord)
    slots_[word] = record;
  else if (const Stored stored{record, word + 1, world_.unseen().strikes(core_.flat_id),
                               world_.card().control_reads(core_.at)};
           host_known_)
    emit(stored);
  else
    held_.push_back(stored);
}

void CorePort::frame_over() {
  for (const auto& [word, record] : slots_) world_.truth().add(record);
  slots_.clear();
}

void CorePort::launch_is(uint32_t host_id) {
  host_id_ = host_id;
  host_known_ = true;
  for (Stored& stored : held_) {
    stored.record.host_id = host_id;
    emit(stored);
  }
  held_.clear();
}

void CorePort::launch_overwritten() {
  for (const Stored& s : stored_) world_.unseen().add(s.record);
  stored_.clear();
}

void CorePort::launch_discarded() {
  held_.clear();
  if (!std::exchange(id_if_pushed_, {})) host_known_ = false;  // it was pushed, and is over now
}

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
    port_.settle_unseen();
    Risc& master = *riscs_[0];
    master.open_launch();
    master.fw_start(fw(0));
    master.take_launch(launch.for_this_core, launch.host_id);
    const uint32_t host_id = F.host_id.get(F.host_id.put(launch.host_id));  // as much of it as the words hold
    if (kAccumulate)
      port_.launch_is(0);  // no identity, and nothing is discarded
    else if (launch.for_this_core && M == device::Mode::normal)
      port_.launch_is(host_id);
    if (!launch.for_this_core) {
      master.fw_end(fw(0), false);
      if (!kAccumulate)
        port_.launch_of_others(host_id);
      else if (world_.card().load(where_.at, where_.control_address + 4 * F.device_end) == 0)
        port_.launch_overwritten();  // nothing says that the buffer holds something: the next begins it anew
      finish();
      if (!kAccumulate) port_.launch_discarded();
      return;
    }
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
    finish();
    if (M == device::Mode::normal) port_.launch_over();
    note_program();
  }

  void replay_started() override {
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

  void dispatch_close() override {
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

  uint32_t fw(uint32_t r) const { return zones_.fw(r, where_.kind).id; }
  void finish() { riscs_[0]->finish_launch({zones_.dram_push().id, zones_.noc_flush().id}); }

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

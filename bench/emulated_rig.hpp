// An emulated card with firmware on it and a collector's parts attached to it, all in this process, put
// together as collector/ttcollect/run.cpp does. Card and segment carry the process id in their name and are
// gone afterwards.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "collector/drain/drain.hpp"
#include "driver_iface/emulated_card.hpp"
#include "shm/segment.hpp"
#include "tools/emulation/core.hpp"

namespace ttc::bench {

struct RigOptions {
  const char* generation = "G4";
  const char* arch = "wormhole_b0";
  const char* board = "n150";
  bool unharvested = false;  // every core of the chip, more than boards have
  size_t cores = 0;          // looked after; 0: all
  uint32_t round_trip_ns = 0;
  bool simulated = false;  // time moves by move_to() and sweep_all() alone; a round trip then costs none
  uint32_t bytes_per_risc = 48000;
  size_t ring_bytes = working_set();
  bool descriptor_reads = false;
  bool plain = false;  // descriptor reads without io_uring
  // How the card of this name is opened; empty: as an emulated one.
  std::function<std::unique_ptr<card::Card>(const std::string& name)> open;
  collect::DrainOptions drain;
};

class Rig {
 public:
  explicit Rig(const RigOptions& o)
      : name_("bench-" + std::to_string(getpid())),
        simulated_(o.simulated),
        card_(card_options(o, name_)),
        truth_(""),
        world_(card_, world_options(o), truth_),
        zones_(64) {
    card_.announce();
    observer = o.open ? o.open(name_) : card::open_card("emu:" + name_);
    collect::AttachOptions tensix_only;  // `cores` and the attached ones go together one by one
    tensix_only.ethernet = false;
    if (o.simulated)
      attachment = collect::attach(*observer, tensix_only, [this] { return at_ns_; });
    else
      attachment = collect::attach(*observer, tensix_only);
    if (o.cores) attachment.cores.resize(std::min(o.cores, attachment.cores.size()));
    for (const collect::AttachedCore& at : attachment.cores)
      for (const emulation::WorldCore& c : world_.cores())
        if (c.flat_id == at.flat_id) cores.push_back(emulation::make_core(world_, c, zones_));
    shm::SegmentOptions segment_options;
    segment_options.ring_bytes = o.ring_bytes;
    segment = std::make_unique<shm::SegmentWriter>(live_name(), "emu:" + name_, 1, segment_options);
    publisher = std::make_unique<collect::Publisher>(*segment, 0, attachment.layout->format.generation);
    std::string fallback;
    loop = collect::make_event_loop(-1, observer->hangup_fd(), o.plain, fallback);
    logs = o.descriptor_reads ? collect::descriptor_log_reader(*observer, *loop)
                              : collect::window_log_reader(*observer);
    collect::DrainOptions drain_options = o.drain;
    drain_options.bytes_per_risc = o.bytes_per_risc;
    drain =
        std::make_unique<collect::Drain>(*observer, attachment, *logs, *publisher, *segment, drain_options);
  }
  ~Rig() {
    segment->end();
    segment.reset();
    shm::remove_segment(live_name());
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  std::string live_name() const { return "emu-" + name_; }
  card::EmulatedCard& card() { return card_; }
  const card::EmulatedCard& card() const { return card_; }
  emulation::World& world() { return world_; }

  // One program on every core.
  void launch_all(uint32_t zones, bool data) {
    ++host_id_;
    for (auto& core : cores) launch(*core, host_id_, zones, data);
  }
  static void launch(emulation::EmulatedCore& core, uint32_t host_id, uint32_t zones, bool data) {
    emulation::Launch launch;
    launch.host_id = host_id;
    launch.zones = zones;
    launch.payload_every = data ? 8 : 0;
    core.run(launch);
  }
  // Visits every core as if a millisecond had passed since the last time: long enough for all writes to have
  // landed.
  void sweep_all() {
    move_to(at_ns_ + 1'000'000);
    sweep_now();
  }
  void sweep_now() {
    if (drain->sweep(at_ns_, true) != card::Access::ok) std::puts("WRONG: the card refused"), std::exit(1);
  }
  // Until nothing new is found: a long log is read in several pieces, the fewer the faster this machine is.
  void sweep_until_quiet() {
    uint64_t before;
    do {
      before = drain->frames();
      for (int i = 0; i < 8; ++i) sweep_all();
    } while (drain->frames() != before);
  }
  uint64_t at_ns() const { return at_ns_; }
  void move_to(uint64_t ns) {
    if (simulated_) card_.advance_clock(ns - at_ns_);  // it runs at 1 GHz
    at_ns_ = ns;
  }
  // A results read of the host: all logs begin at their front again.
  void reset_all() {
    for (const emulation::WorldCore& core : world_.cores()) world_.host_reset(core);
    for (int i = 0; i < 8; ++i) sweep_all();
  }
  // The firsts are over: first run of a core, first frame of a lane, first pages of the ring and of the card.
  void warm_up(uint32_t zones, bool data) {
    for (int i = 0; i < 3; ++i) {
      launch_all(zones, data);
      for (int j = 0; j < 4; ++j) sweep_all();
    }
  }

  std::vector<std::unique_ptr<emulation::EmulatedCore>> cores;
  std::unique_ptr<card::Card> observer;
  collect::Attachment attachment;
  std::unique_ptr<shm::SegmentWriter> segment;
  std::unique_ptr<collect::Publisher> publisher;
  std::unique_ptr<collect::EventLoop> loop;
  std::unique_ptr<collect::LogReader> logs;
  std::unique_ptr<collect::Drain> drain;

 private:
  static card::EmulatedCardOptions card_options(const RigOptions& o, const std::string& name) {
    card::EmulatedCardOptions c;
    c.name = name;
    c.arch = o.arch;
    c.board = o.board;
    c.unharvested = o.unharvested;
    c.virtual_time = o.simulated;
    c.start_cycles =
        uint64_t{1} << 32;  // 4.3 s until a core preempted in a roll-over tears a time beyond repair
    c.round_trip_ns = o.round_trip_ns;
    return c;
  }
  static emulation::WorldOptions world_options(const RigOptions& o) {
    emulation::WorldOptions w;
    w.layout = markers::layout_by_name(o.generation);
    w.bytes_per_risc = o.bytes_per_risc;
    return w;
  }

  std::string name_;
  bool simulated_;
  card::EmulatedCard card_;
  emulation::TruthLog truth_;
  emulation::World world_;
  emulation::ZoneCatalog zones_;
  uint32_t host_id_ = 0;
  uint64_t at_ns_ = now_ns();
};

}  // namespace ttc::bench

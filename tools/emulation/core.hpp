// One emulated core, Tensix or Ethernet: a Profiler of the device header for each of its RISCs, on a Port
// that is emulated L1, clock and NoC.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "firmware_markers/device/noc_event.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "tools/chip/machine.hpp"
#include "tools/emulation/world.hpp"
#include "tools/emulation/zone_catalog.hpp"

namespace ttc::emulation {

class CorePort {
 public:
  CorePort(World& world, const WorldCore& core, device::Mode mode);

  uint32_t control_address() const { return core_.control_address; }
  uint32_t buffer_address() const { return world_.buffer_address(core_); }
  uint32_t load(uint32_t address);
  void store(uint32_t address, uint32_t value);
  uint32_t clock_high();
  uint32_t clock_low();
  void push(uint32_t risc, uint32_t words, uint32_t bank, uint32_t bank_offset);
  void wait_sent() { world_.step(); }
  uint32_t noc_x() const { return core_.at.x; }
  uint32_t noc_y() const { return core_.at.y; }
  bool noc_busy() const { return false; }
  void recorded(uint32_t risc, uint32_t type, uint32_t id, uint64_t time, uint64_t a, uint64_t b);

  // The next action of `risc` happens at `at`, wherever the card's clock is; each further read of the clock is a few cycles later.
  void time_is(uint64_t at, uint32_t risc);
  void time_is_the_cards() { planned_ = 0; }

  // Markers recorded so far belong to this launch and are true from now on; until then they are held back.
  void launch_is(uint32_t host_id);
  // Its words will be overwritten before they are pushed.
  void launch_overwritten();
  // The launch is for other cores: what it stored is pushed only if the host resets the core meanwhile.
  void launch_of_others(uint32_t host_id) { id_if_pushed_ = host_id; }
  void launch_discarded();
  void launch_over() { host_known_ = false; }
  // Its markers stay in L1, and the control vector shows them from now on: polls before count as none.
  void launch_shown();
  // Words recorded after the next push belong to the launch after this one.
  void launch_ends_with_push() { ends_with_push_ = true; }
  void trace_is(uint32_t trace_counter) { trace_counter_ = static_cast<uint16_t>(trace_counter); }
  // Trace-only mode writes a frame's slots over and over; what they hold when the frame is over is true.
  void frame_over();
  // The buffers are about to be reused: marks launches that a host reset kept from being pushed, because no
  // reader can get them. `launch_begins`: a launch reuses them.
  void settle_unseen(bool launch_begins = false);

 private:
  struct Stored {
    TruthRecord record;
    uint32_t word;          // of the RISC's buffer, where its last word is
    uint32_t strikes;       // of the host, when it was stored
    uint64_t polls;         // of observers, when the control vector showed it
    uint64_t shown_ns = 0;  // and when that was, where markers accumulate
  };
  void emit(const Stored& stored);
  bool struck(const Stored& stored) const;
  bool may_be_unseen(const Stored& stored, bool continued) const;
  uint64_t now() const { return world_.clock_on(core_, world_.clock()); }
  bool tear_would_show(uint64_t roll_over) const;
  // The word of the marker just stored, counted from the start of its RISC's buffer.
  uint32_t stored_word(uint32_t risc) const {
    return (last_store_ - buffer_address()) / 4 - risc * device::kBufferWords - 1;
  }

  World& world_;
  WorldCore core_;
  card::TileMemory l1_;
  device::Mode mode_;
  uint64_t planned_ = 0;  // the time that the next read of the clock gives; 0: the card's
  uint64_t high_read_at_ = 0;
  uint64_t true_time_ = 0;  // the whole clock at the last low read
  struct Torn {             // by the last roll-over between two halves
    uint64_t words = ~uint64_t{0}, truth = 0;
  };
  Torn torn_;
  std::array<uint64_t, device::kMaxRiscs> last_recorded_{};
  uint32_t last_store_ = 0;  // L1 address
  std::array<uint64_t, device::kMaxRiscs> fw_start_{};
  uint32_t host_id_ = 0;
  uint16_t trace_counter_ = 0;
  bool host_known_ = false;
  std::optional<uint32_t> id_if_pushed_;
  bool ends_with_push_ = false;
  std::vector<Stored> held_;
  std::vector<Stored> stored_;  // not pushed yet; kept where unseen markers are distinguished
  std::vector<Stored> kept_;    // of earlier launches, where they accumulate
  std::mt19937_64 tear_dice_;
  std::map<uint32_t, TruthRecord> slots_;  // by word
};

// The actions of one launch on one core.
struct Launch {
  uint32_t host_id = 1;
  bool for_this_core = true;
  std::array<bool, device::kMaxRiscs> enabled{true, true, true, true, true};
  uint32_t zones = 4;          // custom zones a RISC records
  uint32_t first_zone = 0;     // index into the catalog
  uint32_t payload_every = 8;  // after every so many zones some data; 0: never
  uint64_t seed = 0;           // picks the kind of data
  bool sums = false;           // time in each zone is also added up
  uint32_t noc_events = 0;     // NoC transactions recorded by each RISC that has a NoC
  bool perf_counters = false;  // BRISC records some at the end
};

// One act of a launch that is played act by act, each at a time of its own and among those of other cores.
struct CoreStep {
  static constexpr uint8_t kNoSum = 0xff;
  uint64_t at = 0;  // as cores read the clock
  uint8_t risc = 0;
  chip::Act act = chip::Act::launch;
  uint32_t id = 0;             // of the zone; Act::launch: the host id
  uint8_t sum = kNoSum;        // zone_end: the sum that the zone's time is added to
  uint8_t noc_events = 0;      // zone_begin: NoC transactions recorded in the zone
  bool perf_counters = false;  // fw_end of BRISC: counters are recorded before
  uint64_t seed = 0;           // of their values
};

class EmulatedCore {
 public:
  virtual ~EmulatedCore() = default;
  virtual void run(const Launch& launch) = 0;  // a whole launch, RISC after RISC, on the card's clock
  virtual void play(const CoreStep& step) = 0;
  // A trace is replayed: counted, or in trace-only mode a new frame. `at`: as in CoreStep; 0: on the card's clock.
  virtual void replay_started(uint64_t at) = 0;
  virtual void close() = 0;  // nothing runs any more
  // Dispatch cores: open once, then a burst of zones a program with quick pushes, finish at the very end.
  virtual void dispatch_open(uint32_t host_id) = 0;
  virtual void dispatch_step(uint32_t zones) = 0;
  virtual void dispatch_zone(uint32_t risc, uint32_t id, uint64_t begin,
                             uint64_t end) = 0;  // at times of its own
  virtual void dispatch_close() = 0;

  // Pacing: programs of this core that observers have not fetched whole.
  virtual size_t unread_programs() = 0;
  virtual void forget_unread() = 0;
  // Called at the end: marks the part of the truth that no reader can have read.
  virtual void settle_unseen() = 0;
  const WorldCore& where() const { return where_; }

 protected:
  explicit EmulatedCore(const WorldCore& where) : where_(where) {}
  WorldCore where_;
};

// `dispatch`: kernels built for dispatch cores record as in normal mode whatever the mode of the others.
std::unique_ptr<EmulatedCore> make_core(World& world, const WorldCore& where, const ZoneCatalog& zones,
                                        bool dispatch = false);

}  // namespace ttc::emulation

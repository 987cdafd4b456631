// The emulated card with a profiler on it: addresses, control vectors, DRAM logs, the host's habits. Firmware
// runs on it through CorePort (core.hpp), which is the device header's machine.
#pragma once
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"
#include "tools/emulation/truth/index_race.hpp"
#include "tools/emulation/truth/truth.hpp"
#include "tools/emulation/truth/unseen.hpp"
#include "tools/emulation/workload_faults.hpp"

namespace ttc::emulation {

struct WorldOptions {
  const markers::Layout* layout = nullptr;
  const markers::Mailbox* mailbox = nullptr;  // null: the newest
  device::Mode mode = device::Mode::normal;
  uint32_t bytes_per_risc = 48000;
  unsigned ethernet = 0;        // so many Ethernet tiles run kernels as active ones,
  unsigned idle_ethernet = 0;   // and so many more as idle ones; the others are active and run nothing
  uint64_t landing_ns = 0;      // how long a posted write is under way
  uint64_t split_ns = 300'000;  // and how much longer its second half, where words of markers land apart
  uint64_t index_behind_ns = 200'000;  // how much later than words their index is seen, where it is not first
  // An assumption of the collector (kPollDeadlineNs): after a host reset a core continues no sooner than this. Where it
  // does, what became visible within this time of the reset is not judged.
  uint64_t continues_after_ns = 2'500'000;
  bool pace = false;
  bool virtual_time = false;  // as the card's
  WorkloadFaults faults;
  uint64_t clock_offset = 0;  // added to what cores read: a session of another time
};

struct WorldCore {
  card::Coord at;
  uint8_t flat_id;
  markers::CoreKind kind = markers::CoreKind::tensix;
  uint8_t riscs = device::kMaxRiscs;  // with a buffer of their own
  uint32_t control_address = 0;       // in the tile's L1
};

class World {
 public:
  // `card` not announced yet. Writes magic words and control vectors as tt-metal's device init does.
  // `unseen`: where to write what of the truth no reader can have known; null: nowhere.
  World(card::EmulatedCard& card, const WorldOptions& options, TruthLog& truth, TruthLog* unseen = nullptr);

  card::EmulatedCard& card() { return card_; }
  const WorldOptions& options() const { return options_; }
  const device::Format& format() const { return options_.layout->format; }
  const std::vector<WorldCore>& cores() const { return cores_; }        // Tensix tiles by flat id
  const std::vector<WorldCore>& ethernet() const { return ethernet_; }  // those that run kernels
  const std::vector<WorldCore>& prepared() const { return prepared_; }  // all that have a vector, by flat id
  TruthLog& truth() { return truth_; }
  Unseen& unseen() { return unseen_; }
  uint64_t clock() const { return card_.clock() + options_.clock_offset; }
  // The clock as a core reads it; `cycles`: of clock().
  uint64_t clock_on(const WorldCore& core, uint64_t cycles) const { return card_.clock_on(core.at, cycles); }

  uint32_t buffer_address(const WorldCore& core) const {
    return core.control_address + 4u * format().control_words;
  }
  uint32_t cores_per_bank() const { return cores_per_bank_; }

  // A core's posted write: lands later, in the order of its lane. `end_words`: of the lane's log when it has.
  // `markers`: in the words, where unseen ones are distinguished.
  void post(const WorldCore& core, uint32_t risc, uint64_t in_bank, std::vector<uint32_t> words,
            uint32_t end_words, std::vector<TruthRecord> markers);
  void land_due();  // called by every firmware step
  void land_all();
  // An index is about to move: words follow within a few steps, or it was moved behind them.
  void announce_push(const WorldCore& core);
  // The core's own view of its L1, where what it stores becomes visible to others later.
  uint32_t load(const WorldCore& core, const card::TileMemory& l1, uint32_t address) const {
    return not_visible_.empty() ? l1.load(address) : load_own(core, l1, address);
  }
  // `before`: what is there.
  void store_index(const WorldCore& core, uint32_t risc, uint32_t address, uint32_t before, uint32_t value);
  bool writes_under_way() const { return !posted_.empty(); }
  // One firmware step: time passes, due writes land.
  void step() {
    if (is_quiet())
      ++steps_;
    else
      eventful_step();
  }
  // In virtual time each step is a cycle, unless the player moves the clock.
  void steps_take_no_time() { step_cycles_ = 0; }
  uint64_t steps() const { return steps_; }
  uint64_t host_strikes() const { return host_strikes_; }  // resets by fault
  uint64_t overruns() const { return overruns_; }
  uint64_t index_races() const { return index_races_; }  // resets between a read of an index and its store
  void count_overrun() { ++overruns_; }

  // The host reads results and rewrites the whole vector (tt-metal impl/profiler/profiler.cpp), word by word.
  void host_reset(const WorldCore& core);
  // Does the same for all these cores.
  void results_read(const std::vector<WorldCore>& cores);
  // Resets that come by a fault are kept apart; a results read is one, too. Ends what the host has begun to write.
  bool host_may_reset();
  // Did an observer examine the vector between `looks` of it and the last reset?
  bool looked_before_reset(const WorldCore& core, uint64_t polls) const {
    return polls_at_reset_[core.flat_id] >= polls + Unseen::kReadsOfAPoll;
  }
  uint64_t reset_ns() const { return reset_ns_; }  // of any core, the last
  uint32_t resets(const WorldCore& core) const { return resets_[core.flat_id]; }
  // Distinguishes the laps of a lane's log: the host's resets, and a collector's where one recycles.
  uint32_t lap(uint8_t flat_id, uint32_t risc) const {
    return resets_[flat_id] + recycled_[flat_id * device::kMaxRiscs + risc];
  }
  void write_initial_vector(const WorldCore& core);
  // The firmware is gone: magic words, vectors and buffers of all cores are zero, as tt-metal leaves L1 when it opens a device
  // (tt_metal/impl/device: clear_l1_state). Logs in DRAM stay.
  void unload();
  // In accumulate mode the host distinguishes these cores from the others.
  void is_dispatch_core(const WorldCore& core);

  // End of the lane's log as far as it was really pushed since the last reset. Before G3 the index in the
  // vector can be beyond it: one full log silences the RISCs after it.
  uint32_t words_pushed(uint8_t flat_id, uint32_t risc) const;
  // Words of the lane that observers have fetched since the last reset.
  uint32_t words_read(uint8_t flat_id, uint32_t risc) const;

 private:
  struct Posted {
    WorldCore core;
    uint32_t risc;
    uint64_t in_bank;
    std::vector<uint32_t> words;
    uint32_t end_words;
    uint32_t lap, strikes;
    std::vector<TruthRecord> markers;
    bool odd_words_alone = false;  // the others, and all that landing means, come with a write of their own
    uint32_t index_at = 0;         // L1 address: this is an index word, not words of a log
  };
  // Nothing besides the step itself is due with it.
  bool is_quiet() const {
    return step_cycles_ == 0 && !clock_may_stand_ && announced_ns_ == 0 && posted_.empty() && steps_ != 0 &&
           rewritten_ == kNotRewriting && steps_ + 1 < next_reset_step_;
  }
  void eventful_step();
  uint32_t load_own(const WorldCore& core, const card::TileMemory& l1, uint32_t address) const;
  void write(const WorldCore& core, uint32_t from, uint32_t to);
  void land_index(const Posted& posted);
  void land(const Posted& posted);
  uint64_t landing_due(uint8_t flat_id, uint32_t risc);
  void report_landing_due();
  void index_is_wrong(uint32_t lane);
  uint32_t vector_word(const WorldCore& core, uint32_t word, bool after_results_read) const;
  void begin_reset(const WorldCore& core);
  void strike_of_host();
  bool long_enough_since_reset() const;
  bool looked_at_since_reset() const;
  void rewrite_words();
  void draw_next_reset();
  void place(WorldCore& core);

  card::EmulatedCard& card_;
  bool clock_may_stand_;
  WorldOptions options_;
  TruthLog& truth_;
  const markers::Placement& placement_;
  uint32_t cores_per_bank_ = 0;
  std::vector<WorldCore> cores_, ethernet_;
  std::vector<WorldCore> prepared_;  // all that have a vector
  std::vector<uint32_t> resets_;
  std::vector<uint64_t> polls_at_reset_;  // by flat id: looks of observers at the vector so far
  std::vector<uint32_t> recycled_;        // by lane: times it began again without the host
  std::vector<uint32_t> pushed_;          // by lane
  std::map<std::pair<uint8_t, uint32_t>, uint32_t>
      not_visible_;  // by flat id and L1 address: stored, and not visible to readers yet
  uint64_t posts_ = 0, results_reads_ = 0;
  std::set<uint8_t> dispatch_;  // by flat id
  Unseen unseen_;
  IndexRace race_;
  std::multimap<uint64_t, Posted> posted_;  // by when they land
  uint64_t announced_ns_ = 0;               // an index moved then, and its words are not posted yet
  uint64_t announced_step_ = 0;
  uint32_t announced_strikes_ = 0;  // of the core, when it did
  uint64_t reported_due_ns_ = 0;
  std::vector<uint64_t> last_due_;  // by lane: writes of one lane keep their order
  std::mt19937_64 landing_dice_, reset_dice_;
  uint64_t reset_ns_ = 0;  // when a vector was last reset, by whatever
  uint64_t step_cycles_ = 1;
  uint64_t steps_ = 0, host_strikes_ = 0, overruns_ = 0, index_races_ = 0;
  uint64_t next_reset_step_ = ~uint64_t{0};
  static constexpr size_t kNotRewriting = ~size_t{0};
  size_t rewritten_ = kNotRewriting;  // words of all vectors that a slow rewrite has done
};

}  // namespace ttc::emulation

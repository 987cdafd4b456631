// The emulated card with a profiler on it: addresses, control vectors, DRAM logs, the host's habits. Firmware
// runs on it through CorePort (core.hpp), which is the device header's machine.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"
#include "ttemu/truth.hpp"

namespace ttc::emulation {

struct WorldOptions {
  const markers::Layout* layout = nullptr;
  const markers::Mailbox* mailbox = nullptr;  // null: the newest
  device::Mode mode = device::Mode::normal;
  uint32_t bytes_per_risc = 48000;
  unsigned ethernet = 0;       // so many Ethernet tiles run kernels as active ones,
  unsigned idle_ethernet = 0;  // and so many more as idle ones; the others are active and run nothing
  uint64_t landing_ns = 0;     // how long a posted write is under way
  bool pace = false;
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
  World(card::EmulatedCard& card, const WorldOptions& options, TruthLog& truth);

  card::EmulatedCard& card() { return card_; }
  const WorldOptions& options() const { return options_; }
  const device::Format& format() const { return options_.layout->format; }
  const std::vector<WorldCore>& cores() const { return cores_; }        // Tensix tiles by flat id
  const std::vector<WorldCore>& ethernet() const { return ethernet_; }  // those that run kernels
  TruthLog& truth() { return truth_; }

  uint32_t buffer_address(const WorldCore& core) const {
    return core.control_address + 4u * format().control_words;
  }
  uint32_t cores_per_bank() const { return cores_per_bank_; }

  // A core's posted write: lands landing_ns later, in order. `end_words`: of the lane's log when it has.
  void post(uint8_t flat_id, uint32_t risc, uint64_t in_bank, std::vector<uint32_t> words,
            uint32_t end_words);
  void land_due();  // called by every firmware step
  void land_all();
  bool writes_under_way() const { return !posted_.empty(); }
  // One firmware step: time passes, due writes land.
  void step();

  // The host reads results and rewrites the whole vector (format sheet 5.6), word by word.
  void host_reset(const WorldCore& core);
  uint32_t resets(const WorldCore& core) const { return resets_[core.flat_id]; }
  void write_initial_vector(const WorldCore& core);

  // Words of the lane that observers have fetched since the last reset.
  uint32_t words_read(uint8_t flat_id, uint32_t risc) const;

 private:
  struct Posted {
    uint64_t due_ns;
    uint8_t flat_id;
    uint32_t risc;
    uint64_t in_bank;
    std::vector<uint32_t> words;
    uint32_t end_words;
    uint32_t resets;
  };
  void land(const Posted& posted);
  void place(WorldCore& core);

  card::EmulatedCard& card_;
  WorldOptions options_;
  TruthLog& truth_;
  const markers::Placement& placement_;
  uint32_t cores_per_bank_ = 0;
  std::vector<WorldCore> cores_, ethernet_;
  std::vector<uint32_t> resets_;
  std::deque<Posted> posted_;
};

}  // namespace ttc::emulation

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
  uint32_t bytes_per_risc = 48000;
  uint32_t core_info_offset = 2800 - 16;  // of the magic word from the mailbox base (format sheet 1.4, M4)
  uint64_t landing_ns = 0;                // how long a posted write is under way
  bool pace = false;
};

struct WorldCore {
  card::Coord at;
  uint8_t flat_id;
};

class World {
 public:
  // `card` not announced yet. Writes magic words and control vectors as tt-metal's device init does.
  World(card::EmulatedCard& card, const WorldOptions& options, TruthLog& truth);

  card::EmulatedCard& card() { return card_; }
  const WorldOptions& options() const { return options_; }
  const device::Format& format() const { return options_.layout->format; }
  const std::vector<WorldCore>& cores() const { return cores_; }  // Tensix tiles by flat id
  TruthLog& truth() { return truth_; }

  uint32_t control_address() const { return control_address_; }
  uint32_t buffer_address() const { return control_address_ + 4u * format().control_words; }
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

  card::EmulatedCard& card_;
  WorldOptions options_;
  TruthLog& truth_;
  const markers::Placement& placement_;
  uint32_t control_address_ = 0;
  uint32_t cores_per_bank_ = 0;
  std::vector<WorldCore> cores_;
  std::vector<uint32_t> resets_;
  std::deque<Posted> posted_;
};

}  // namespace ttc::emulation

// Finding the profiler on an open card: which tiles carry a control vector, under which layout.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "firmware_markers/discovery.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {

// One sentence: what was looked for, where, what disagreed, what to try.
struct AttachError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct AttachedCore {
  card::Coord at;  // NOC0 physical
  markers::CoreKind kind = markers::CoreKind::tensix;
  uint8_t flat_id = 0;
  uint8_t riscs = device::kMaxRiscs;
  uint32_t bank = 0;             // DRAM view
  uint32_t control_address = 0;  // L1, the same on every core of a kind
  uint32_t buffer_address = 0;
};

struct Attachment {
  const markers::Layout* layout = nullptr;
  bool layout_given = false;  // by the user
  const markers::Placement* placement = nullptr;
  device::Mode mode = device::Mode::normal;
  bool mode_given = false;  // by the user: what L1 looks like does not change it
  uint32_t dram_base = 0;   // of the logs, in every bank
  uint32_t core_count_per_dram = 0;
  std::vector<AttachedCore> cores;   // by flat id, so that one pass reads each bank once
  std::vector<std::string> remarks;  // tiles left out and why
  int workload_pid = 0;              // process whose profiler it is; 0: not known
  HostClock clock = raw_now_ns;      // the drain uses it, too
  uint64_t begun_ns = 0;             // by that clock, before the first tile was read
  uint64_t begun_cycles = 0;         // device time then: what was recorded later is ours to account for
};

// Facts that a user may know better than discovery finds them.
struct AttachOptions {
  const markers::Layout* layout = nullptr;  // null: discover
  std::optional<device::Mode> mode;
  bool ethernet = true;  // also Ethernet cores
  // Waits, until tiles that are left alone may be read again; the default sleeps.
  std::function<void(std::chrono::milliseconds)> rest{};
};

// Reads every Tensix and Ethernet tile that is not harvested. Tiles that are slow or silent are examined
// again when all others were, twice at most and all together, so that attaching waits a third of a second
// however many they are; how many unanswered loads that may cost is the guard's to limit (guarded_card.hpp).
// Tensix tiles without a vector are examined again after 5 ms, and again while a pass finds a further one: the host may be writing
// them. Throws AttachError when no Tensix tile carries a profiler we read.
Attachment attach(card::Card& card, const AttachOptions& options, const HostClock& clock = raw_now_ns);

// Does this Tensix tile show a profiler that we read? Some 70 loads of one tile, where attach() reads all: for waiting.
bool shows_profiler(card::Card& card, card::Coord tile, const markers::Layout* only);

}  // namespace ttc::collect

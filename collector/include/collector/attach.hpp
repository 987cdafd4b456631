// Finding the profiler on an open card: which tiles carry a control vector, under which layout.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver_iface/card.hpp"
#include "firmware_markers/discovery.hpp"

namespace ttc::collect {

// One sentence: what was looked for, where, what disagreed, what to try.
struct AttachError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct AttachedCore {
  card::Coord at;  // NOC0 physical
  uint8_t flat_id;
  uint32_t bank;  // DRAM view
};

struct Attachment {
  const markers::Layout* layout = nullptr;
  const markers::Placement* placement = nullptr;
  uint32_t control_address = 0;  // L1, the same on every Tensix tile
  uint32_t buffer_address = 0;
  uint32_t core_count_per_dram = 0;
  std::vector<AttachedCore> cores;  // by flat id, so that one pass meets each bank once
  std::vector<std::string> notes;   // tiles left out and why
  uint64_t begun_ns = 0;            // CLOCK_MONOTONIC_RAW before the first tile was read
  uint64_t begun_cycles = 0;        // device time then: what was recorded later is ours to account for
};

// Reads every Tensix tile that is not harvested. Throws AttachError when no tile carries a profiler.
// `only`: the layout the user named; null to discover.
Attachment attach(card::Card& card, const markers::Layout* only);

}  // namespace ttc::collect

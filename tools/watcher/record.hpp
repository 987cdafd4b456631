// The debug delays' record in a core's mailbox, within the watcher's block: three masks of processors, one for each kind of
// transaction, and the feedback word. Four bytes until 2025, four words since (tt-metal dev_msgs.h, debug_insert_delays_msg_t).
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"
#include "tools/watcher/settings.hpp"

namespace ttc::watcher {

// Ethernet tiles by channel, NOC0 places; tt-metal's logical Ethernet core (0, n) is the n-th of them that is not fused off (tt-umd
// wormhole_implementation.hpp, blackhole_implementation.hpp). Empty: an architecture that is not known.
std::vector<card::Coord> ethernet_channels(std::string_view arch);

using Masks = std::array<uint32_t, kTransactions>;  // bit i: processor i waits before such a transaction

// The masks that the host writes for a chip: those of the cores that the settings list, of workers and of Ethernet cores. Others get zeros.
std::map<LogicalCore, Masks> worker_masks(const Settings& settings, int chip);
std::map<LogicalCore, Masks> ethernet_masks(const Settings& settings, int chip);

class DelayRecord {
 public:
  // Nothing where the record's place in that mailbox is not known (M1-early; M0's of Ethernet cores).
  static std::optional<DelayRecord> in(const markers::Mailbox& mailbox, std::string_view arch,
                                       markers::CoreKind kind = markers::CoreKind::tensix);

  uint32_t address() const { return address_; }
  uint32_t bytes() const { return words_ ? 16 : 4; }
  // Masks, and feedback 0, as at the opening of a device.
  void write(card::EmulatedCard& card, card::Coord at, const Masks& masks) const;
  Masks masks(const card::EmulatedCard& card, card::Coord at) const;
  uint32_t feedback(const card::EmulatedCard& card, card::Coord at) const;
  void add_feedback(card::EmulatedCard& card, card::Coord at, uint32_t bits) const;

 private:
  DelayRecord(uint32_t address, bool words) : address_(address), words_(words) {}
  uint32_t get(const card::EmulatedCard& card, card::Coord at, uint32_t field) const;
  void set(card::EmulatedCard& card, card::Coord at, uint32_t field, uint32_t value) const;

  uint32_t address_;  // in L1
  bool words_;
};

}  // namespace ttc::watcher

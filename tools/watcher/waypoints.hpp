// The beginning of the watcher's block in a core's mailbox: whether the watcher is on, and a waypoint of each processor, up to four letters
// for the place that it passed last (tt-metal dev_msgs.h, watcher_msg_t; waypoint.h). What follows them is not emulated, but for the delays' record
// (record.hpp).
#pragma once
#include <optional>
#include <string_view>

#include "driver_iface/emulated_card.hpp"
#include "firmware_markers/layout.hpp"

namespace ttc::watcher {

class Waypoints {
 public:
  // Nothing where the block's place in that mailbox is not known (before M2).
  static std::optional<Waypoints> in(const markers::Mailbox& mailbox, std::string_view arch,
                                     markers::CoreKind kind);

  // Writes the state at the opening of a device: no processor has passed a waypoint.
  void write(card::EmulatedCard& card, card::Coord at, bool watcher_is_on) const;
  void pass(card::EmulatedCard& card, card::Coord at, uint32_t risc, std::string_view waypoint) const;

 private:
  explicit Waypoints(uint32_t address) : address_(address) {}

  uint32_t address_;  // of the block, in L1
};

}  // namespace ttc::watcher

// Reads of a card's reference timer (driver_iface/allow_list.hpp: Blackhole's PCIe tile, 50 MHz, moved by the crystal alone), as the clock
// model takes them. Only the low half is loaded, and widened here: a load of the low half latches the high one, which two
// programs beside each other would disturb. Unverified on silicon.
#pragma once
#include <optional>

#include "collector/clock/clock_read.hpp"
#include "collector/sampling/host_ticks.hpp"
#include "driver_iface/card.hpp"

namespace ttc::collect {

class ReferenceTimer {
 public:
  // No value: the architecture has no such timer, or the way to this card does not lead to it. `card` must outlive the timer.
  static std::optional<ReferenceTimer> of(card::Card& card);

  // `read.cycles` continues from the last read, which is at most 80 s ago: the low half wraps in 86 s. Later reads, and those of a card that
  // was reset meanwhile, are of another line, which the model finds out (ReferenceRate).
  card::Access read(const HostTicks& host, ClockRead& read);

 private:
  ReferenceTimer(card::Card& card, card::Coord tile) : card_(&card), tile_(tile) {}

  card::Card* card_;
  card::Coord tile_;
  uint64_t last_ = 0;
};

}  // namespace ttc::collect

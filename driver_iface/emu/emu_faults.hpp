// Determines when an emulated card's faults strike. Each access layer has one; the descriptors, and the times
// they are measured from, are in the shared page, so that observers and card agree without messages.
#pragma once
#include <random>
#include <span>

#include "driver_iface/emu/emu_page.hpp"

namespace ttc::card::emu {

class Faults {
 public:
  explicit Faults(Page& page);

  bool any() const { return page_.faults != 0; }
  // The card was reset or pulled since this object was made: no part of it is reachable any more.
  bool card_lost() const;
  // Whether loads of the tile return all-ones at the moment.
  bool silent(Coord tile);
  // Waits when this load is one that hangs. True: it came back as all-ones.
  bool hang(Coord tile);
  uint64_t hung_ns() const { return hung_ns_; }
  // Mixes into `out` what `from` holds a moment later, when this copy is one that tears.
  void tear(Coord tile, const uint64_t* from, std::span<uint64_t> out);
  // Called after a load of the high half of the wall clock.
  void roll_over();

 private:
  uint64_t draw_gap(uint32_t index);
  bool strikes(uint32_t index, FaultKind kind, Coord tile);

  Page& page_;
  uint32_t resets_at_birth_;
  uint64_t hung_ns_ = 0;
  std::mt19937_64 dice_[kMaxFaults];
  uint64_t until_strike_[kMaxFaults];  // loads that it could hit, and does not
};

// Nanoseconds since the first observer was let in, on the card's time axis; 0 before.
uint64_t attended_ns(const Page& page);
bool begun(const Page& page, const CardFault& fault);
// A fault of this kind has begun, whether or not the card has acted on it yet. Null when none.
const CardFault* begun_fault(const Page& page, FaultKind kind);

}  // namespace ttc::card::emu

#include "tools/streaming/resident.hpp"

namespace ttc::streaming {
namespace {

constexpr uint32_t kBlockBytes = 64, kSocketBytes = 128;
constexpr uint64_t kTurnsASecond = 160'000, kSyncsASecond = 100;  // a busy sweep takes about 6 us

}  // namespace

Resident::Resident(card::EmulatedCard& card, card::Coord tile, uint64_t hz)
    : card_(card),
      tile_(tile),
      address_(card.arch().ethernet_l1_bytes - 2 * kSocketBytes - kBlockBytes),
      turn_cycles_(hz / kTurnsASecond),
      sync_cycles_(hz / kSyncsASecond),
      begun_(card.clock()),
      last_(begun_) {
  for (uint32_t offset = 0; offset < kBlockBytes; offset += 4) card_.store(tile_, address_ + offset, 0);
  set(go, 1);
}

void Resident::beat(uint64_t clock) {
  if (clock < last_) begun_ -= last_ - clock;
  last_ = clock;
  const uint64_t since = clock - begun_;
  set(heartbeat, static_cast<uint32_t>(since / turn_cycles_));
  set(sync_tail, static_cast<uint32_t>(since / sync_cycles_));
  set(sync_head, static_cast<uint32_t>(since / sync_cycles_));
}

void Resident::close() {
  set(stop, 1);
  set(done, kAwaitingAcks);
  set(done, kDone);
}

}  // namespace ttc::streaming

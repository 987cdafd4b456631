// Card time of a card that awaits polls. It is host time (CLOCK_MONOTONIC_RAW) without the time in which the card stood.
//
// The card stands until an observer polls, and then while an observer that said it polls has left a Tensix tile's control vector alone for
// kPollWithinNs of card time. Clock, cores and faults that go by time stand with it; writes under way land. A
// machine that gives observer or card no CPU therefore delays a run and changes nothing in it: an observer
// that stamps each look with card time finds less than 2 * kPollWithinNs between two looks at a tile.
//
// Who computes: every process for itself, from three figures in the page. `poll_by` of an observer is the card
// time at which the card stands for it; `stood_ns` is moved before a deadline that had passed is moved, so
// that card time goes on from where it stood. `reached_ns` keeps card time monotone when a deadline is set
// while others read the clock.
#pragma once
#include <array>
#include <cstdint>

#include "driver_iface/emu/emu_page.hpp"

namespace ttc::card::emu {

inline constexpr uint64_t kPollWithinNs = 1'200'000;

uint64_t card_now_ns(const Page& page);
// Without a store to the page, and so not monotone while an observer joins.
uint64_t peek_card_now_ns(const Page& page);
// Card time does not move until an observer polls, or leaves.
bool stands(const Page& page);
// Sets an observer's deadline; kNotAwaited: it has none any more.
void set_poll_deadline(Page& page, uint32_t observer, uint64_t card_ns);

// The polls of one observer. All calls do nothing on a card that does not await polls.
class PollWatch {
 public:
  // `observer`: its index in Page::poll_by; kMaxObservers: none was free, it is not awaited.
  PollWatch(Page& page, uint32_t observer) : page_(page), observer_(observer) {}
  // The card stands from here until begin().
  void announce();
  // Card time goes on, and stands for each tile that polled() has named since.
  void begin();
  // A tile that 64 rounds over the others have left out is not awaited any more.
  void polled(uint32_t tile);

 private:
  static constexpr uint64_t kRoundsPassedOver = 64;
  struct Poll {
    uint64_t card_ns = 0;
    uint64_t count = 0;  // of all polls, when it was made; 0: never polled
  };

  bool awaited() const { return page_.await_polls && observer_ < kMaxObservers; }

  Page& page_;
  uint32_t observer_;
  bool begun_ = false;
  uint64_t count_ = 0, tiles_ = 0;
  std::array<Poll, kMaxTiles> polls_{};
};

}  // namespace ttc::card::emu

// The machine of one core: what was read of it goes in, published chunks, recorded intervals and the next request for words come out. Its
// state is core_state.hpp, its parts are made for a visit. It has no card, no clock and no thread: card_port.hpp.
#pragma once
#include "collector/core/core_part.hpp"
#include "collector/core/quiet_check.hpp"

namespace ttc::collect {

class CoreMachine : CorePart {
 public:
  explicit CoreMachine(const CorePart& part) : CorePart(part) {}

  // One poll, and what follows from it. `news`: it is to be polled again soon.
  card::Access visit(uint64_t now_ns, bool& news);
  // Is the firmware on the card still the one that was attached to?
  card::Access check_firmware();
  // The check is made for one core at a time, if there is no other reason to check.
  static constexpr uint64_t kCheckFirmwareEveryNs = 50'000'000;

  // Must be called at the end of collecting: delivers what no log holds; then closes the account. Cores that were not polled
  // after `ended_ns` could not be read any more.
  card::Access take_rest();
  void end(bool card_vanished, uint64_t ended_ns, uint64_t now_ns);
  // Other firmware is on the card: takes what is in the logs behind what was delivered, and records an interval for every lane that
  // may lack more. Intervals end now.
  void end_with_workload(uint64_t now_ns);

 private:
  card::Access poll_and_take(uint64_t now_ns, bool& news);
  card::Access read(QuietCheck::Poll& poll);
  card::Access take(const QuietCheck::Poll& poll, uint64_t now_ns, bool stored_moved, bool& news);
  card::Access take_words(const QuietCheck::Poll& poll, uint64_t now_ns);
  bool rewound(const ControlSample& snap);
  void note_indices(const ControlSample& snap) const;
  bool has_canary() const;
  void count_resets(uint64_t before_ns, bool had_canary) const;
};

}  // namespace ttc::collect

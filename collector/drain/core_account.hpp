// The account of a core's lanes: until when each is complete, and the intervals of what may be missing. Pure but for the loss log.
//
// The invariant of a lane: every marker with a time up to complete_until was delivered, or lies in a recorded interval. It moves
// forward in two ways, and there is no third: extend() takes a Proof (continuity.hpp), extend_over_gap() records an interval.
//
// All intervals of the drain are recorded here: `open` until the next delivery of the lane, or closed at both ends.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "collector/drain/continuity.hpp"
#include "collector/loss/loss_log.hpp"
#include "firmware_markers/device/format.hpp"

namespace ttc::collect {

class CoreAccount {
 public:
  // `log` must outlive the account. `at`: of RISC 0 in the core's first epoch.
  CoreAccount(LossLog& log, const LossLog::Where& at) : log_(&log), at_(at) {}

  // Device time; 0: nothing of the lane is known.
  uint64_t complete_until(uint32_t risc) const { return lanes_[risc].complete_until; }
  uint32_t epoch() const { return at_.epoch; }

  // Markers up to `until` were delivered.
  void extend(uint32_t risc, const Proof& joined, uint64_t until);
  // Likewise, and markers between complete_until and `begins` may be missing.
  void extend_over_gap(uint32_t risc, uint64_t begins, uint64_t until);
  // Nothing proves that what comes next follows: markers behind complete_until may be missing, until the next delivery.
  void break_off(uint32_t risc);
  void break_off_all();
  bool broken(uint32_t risc) const;
  // The next delivery begins at `begins`: an interval that is open ends there.
  void join_at(uint32_t risc, uint64_t begins);

  // A host reset ended the epoch; each lane without a proof is broken off.
  void begin_epoch(const std::array<std::optional<Proof>, device::kMaxRiscs>& across);

  // Frames that were pushed on the card and are not in the log. `launches`: at most so many lack markers; 0: not known.
  void dropped_on_card(uint32_t risc, uint64_t from, uint64_t launches);
  void end_of_drops(uint32_t risc, uint64_t to);

  // An interval with both ends that needs no further delivery. `words` of the log are in it, 0: not known.
  struct Hole {
    shm::LossCause cause;
    shm::LossPrecision precision;
    uint64_t from, to, words;
  };
  void hole(uint32_t risc, const Hole& hole);
  // Collecting ends, and nothing can be said of what follows complete_until.
  void end_open(uint32_t risc, shm::LossCause why);
  // It ends at a known time: open intervals end with it.
  void end_at(uint64_t cycles);

 private:
  LossLog::Where where(uint32_t risc) const {
    return {at_.core_x, at_.core_y, static_cast<uint8_t>(risc), at_.epoch};
  }

  struct Lane {
    uint64_t complete_until = 0;
  };
  LossLog* log_;
  LossLog::Where at_;
  std::array<Lane, device::kMaxRiscs> lanes_{};
};

}  // namespace ttc::collect

// A host reset that falls between a core's reads of a lane's index and what it stores for them: the index then covers words that were
// pushed to another place, or not at all, and the log shows older words there. An observer cannot distinguish them from words
// of the new epoch.
// (timing.hpp names that as an assumption; tt-metal's host reads results when no launch is under way.)
#pragma once
#include <cstdint>
#include <optional>

namespace ttc::emulation {

class IndexRace {
 public:
  static constexpr uint64_t kStepsToPush = 8;  // of the firmware, from an index to its words, or back

  // The host writes words of a vector at this step.
  void reset(uint64_t step) { reset_step_ = step; }

  // The core moves a lane's index, or posts words of the lane. True: a reset has come in between, and the two do not agree.
  bool index_moves(uint32_t lane, uint32_t from, uint32_t to, uint64_t step) {
    return differs(pushed_, moved_, {lane, from, to, step});
  }
  bool words_pushed(uint32_t lane, uint32_t from, uint32_t to, uint64_t step) {
    return differs(moved_, pushed_, {lane, from, to, step});
  }

 private:
  struct Half {
    uint32_t lane, from, to;  // in words of the lane's log
    uint64_t step;
  };
  // `first`: where the other half of this one may be; else this one waits for its other half.
  bool differs(std::optional<Half>& first, std::optional<Half>& waits, const Half& now) const {
    if (!first || first->lane != now.lane || now.step - first->step > kStepsToPush) {
      waits = now;
      return false;
    }
    const Half before = *first;
    first.reset();
    const bool agree = before.from == now.from && before.to == now.to;
    return !agree && reset_step_ && now.step - *reset_step_ <= kStepsToPush;
  }

  std::optional<Half> moved_, pushed_;
  std::optional<uint64_t> reset_step_;
};

}  // namespace ttc::emulation

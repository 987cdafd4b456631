#include "collector/loss/loss_merge.hpp"

#include <algorithm>

namespace ttc::collect {

LossMerge::Key LossMerge::key_of(uint64_t session, const shm::LossRecord& r) {
  return {session, uint64_t{r.device} << 40 | uint64_t{r.core_x} << 32 | uint64_t{r.core_y} << 24 |
                       uint64_t{r.risc} << 16 | uint64_t{static_cast<uint8_t>(r.cause)} << 8 |
                       static_cast<uint8_t>(r.precision)};
}

std::optional<uint64_t> LossMerge::joins(uint64_t session, const shm::LossRecord& loss) {
  Latest& last = latest_[key_of(session, loss)];
  // An interval ends behind its beginning: where the clock of 44 bits has come round, another one begins, or,
  // when there are too many, the last one takes in all times between.
  const bool round = loss.to_cycles < last.from_cycles && intervals_ < most_;
  const bool apart = last.intervals == 0 || round;
  const uint64_t takes = uint64_t{1} << std::min<uint64_t>((last.intervals - 1) / kFine, 63);
  if (!apart && (last.losses < takes || intervals_ >= most_)) {
    if (last.losses != ~uint64_t{0}) ++last.losses;
    last.from_cycles = std::min(last.from_cycles, loss.from_cycles);
    return last.id;
  }
  last = {loss.id, loss.from_cycles, 1, last.intervals + 1};
  ++intervals_;
  return std::nullopt;
}

void LossMerge::had(uint64_t session, const shm::LossRecord& interval) {
  Latest& last = latest_[key_of(session, interval)];
  last = {interval.id, interval.from_cycles, ~uint64_t{0}, last.intervals + 1};
  ++intervals_;
}

void take_in(shm::LossRecord& to, const shm::LossRecord& loss) {
  to.from_cycles = std::min(to.from_cycles, loss.from_cycles);
  to.to_cycles = std::max(to.to_cycles, loss.to_cycles);
  to.words += loss.words;
  to.launches += loss.launches;
}

}  // namespace ttc::collect

#include "collector/continuity/core_account.hpp"

#include "firmware_markers/frame.hpp"

namespace ttc::collect {

using shm::LossCause;

// The five places that record an interval: here, in between(), in room(), in room_between() and in undelivered().
void CoreAccount::break_off(uint32_t risc, LossCause why) {
  if (risc < riscs_) log_->open(where(risc), why, lanes_[risc].complete_until, 0);
}

// The next delivery begins at `begins`: an interval that is open ends there.
void CoreAccount::join_at(uint32_t risc, uint64_t begins) {
  // What comes again from before leaves nothing out: the interval ends right behind what was complete, and not before it begins.
  const uint64_t complete = lanes_[risc].complete_until;
  const bool again = complete != 0 && markers::clock_difference(begins, complete) <= 0;
  log_->close(where(risc), LossCause::host_reset, again ? complete + 1 : begins);
}

void CoreAccount::advance(uint32_t risc, uint64_t until) {
  uint64_t& complete = lanes_[risc].complete_until;
  if (complete == 0 || markers::clock_difference(until, complete) > 0) complete = until;
}

void CoreAccount::deliver(uint32_t risc, const std::optional<Proof>& joined, uint64_t begins,
                          uint64_t until) {
  keep(risc, joined);
  join_at(risc, begins);
  advance(risc, until);
}

void CoreAccount::extend(uint32_t risc, const Proof&, uint64_t until) {
  advance(risc, until);
}

void CoreAccount::keep(uint32_t risc, const std::optional<Proof>& joined) {
  if (!joined) break_off(risc, LossCause::host_reset);
}

void CoreAccount::keep_all(const std::optional<Proof>& joined) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) keep(r, joined);
}

void CoreAccount::between(uint32_t risc, const std::optional<Proof>& joined, uint64_t from, uint64_t to) {
  if (!joined) log_->record(where(risc), LossCause::host_reset, shm::LossPrecision::unknown, from, to, 0, 0);
}

void CoreAccount::begin_epoch(const std::array<std::optional<Proof>, device::kMaxRiscs>& across) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) keep(r, across[r]);
  ++at_.epoch;
}

void CoreAccount::room(uint32_t risc, const std::optional<RoomProof>& had_room, uint64_t from,
                       uint64_t launches) {
  if (!had_room) log_->open(where(risc), LossCause::dropped_on_card, from, launches);
}

void CoreAccount::room_between(uint32_t risc, const std::optional<RoomProof>& had_room, uint64_t from,
                               uint64_t to) {
  if (!had_room)
    log_->record(where(risc), LossCause::dropped_on_card, shm::LossPrecision::unknown, from, to, 0, 0);
}

void CoreAccount::end_of_drops(uint32_t risc, uint64_t to) {
  log_->close(where(risc), LossCause::dropped_on_card, to);
}

void CoreAccount::undelivered(uint32_t risc, LossCause why, uint64_t from, uint64_t to, uint64_t words) {
  log_->record(where(risc), why, shm::LossPrecision::exact_words, from, to, words, 0);
}

void CoreAccount::end_open(uint32_t risc, LossCause why) {
  break_off(risc, why);
}

void CoreAccount::end_at(uint64_t cycles) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    join_at(r, cycles);
    end_of_drops(r, cycles);
  }
}

}  // namespace ttc::collect

#include "collector/drain/core_account.hpp"

#include "firmware_markers/frame.hpp"

namespace ttc::collect {

using shm::LossCause;

void CoreAccount::extend(uint32_t risc, const Proof&, uint64_t until) {
  uint64_t& complete = lanes_[risc].complete_until;
  if (complete == 0 || markers::clock_difference(until, complete) > 0) complete = until;
}

void CoreAccount::extend_over_gap(uint32_t risc, uint64_t begins, uint64_t until) {
  break_off(risc);
  join_at(risc, begins);
  uint64_t& complete = lanes_[risc].complete_until;
  if (complete == 0 || markers::clock_difference(until, complete) > 0) complete = until;
}

void CoreAccount::break_off(uint32_t risc) {
  log_->open(where(risc), LossCause::host_reset, lanes_[risc].complete_until, 0);
}

void CoreAccount::break_off_all() {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) break_off(r);
}

bool CoreAccount::broken(uint32_t risc) const {
  return log_->is_open(where(risc), LossCause::host_reset);
}

void CoreAccount::join_at(uint32_t risc, uint64_t begins) {
  // What comes again from before leaves nothing out: the interval ends right behind what was complete, and not before it begins.
  const uint64_t complete = lanes_[risc].complete_until;
  const bool again = complete != 0 && markers::clock_difference(begins, complete) <= 0;
  log_->close(where(risc), LossCause::host_reset, again ? complete + 1 : begins);
}

void CoreAccount::begin_epoch(const std::array<std::optional<Proof>, device::kMaxRiscs>& across) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r)
    if (!across[r]) break_off(r);
  ++at_.epoch;
}

void CoreAccount::dropped_on_card(uint32_t risc, uint64_t from, uint64_t launches) {
  log_->open(where(risc), LossCause::dropped_on_card, from, launches);
}

void CoreAccount::end_of_drops(uint32_t risc, uint64_t to) {
  log_->close(where(risc), LossCause::dropped_on_card, to);
}

void CoreAccount::hole(uint32_t risc, const Hole& h) {
  log_->record(where(risc), h.cause, h.precision, h.from, h.to, h.words, 0);
}

void CoreAccount::end_open(uint32_t risc, LossCause why) {
  log_->open(where(risc), why, lanes_[risc].complete_until, 0);
}

void CoreAccount::end_at(uint64_t cycles) {
  for (uint32_t r = 0; r < device::kMaxRiscs; ++r) {
    join_at(r, cycles);
    end_of_drops(r, cycles);
  }
}

}  // namespace ttc::collect

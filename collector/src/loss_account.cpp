#include "collector/loss_account.hpp"

#include <algorithm>
#include <bit>

namespace ttc::collect {

uint32_t LossAccount::key(const Where& w, shm::LossCause cause) {
  return uint32_t{w.core_x} << 24 | uint32_t{w.core_y} << 16 | uint32_t{w.risc} << 8 |
         static_cast<uint32_t>(cause);
}

uint64_t LossAccount::record(const Where& w, shm::LossCause cause, shm::LossPrecision precision,
                             uint64_t from_cycles, uint64_t to_cycles, uint64_t words, uint64_t runs) {
  shm::LossRecord r;
  r.id = intervals_.size();
  r.core_x = w.core_x;
  r.core_y = w.core_y;
  r.risc = w.risc;
  r.cause = cause;
  r.precision = precision;
  r.epoch = w.epoch;
  r.from_cycles = from_cycles;
  r.to_cycles = to_cycles;
  r.words = words;
  r.runs = runs;
  intervals_.push_back(r);
  publish_(r);
  return r.id;
}

void LossAccount::open(const Where& w, shm::LossCause cause, uint64_t from_cycles, uint64_t runs) {
  const auto it = open_.find(key(w, cause));
  if (it == open_.end()) {
    const auto precision = cause == shm::LossCause::dropped_on_card ? shm::LossPrecision::bounded_runs
                                                                    : shm::LossPrecision::unknown;
    open_[key(w, cause)] = record(w, cause, precision, from_cycles, shm::kOpenEnd, 0, runs);
  } else if (shm::LossRecord& r = intervals_[it->second]; runs > r.runs) {
    // Told again when it has doubled, and at the end: a long loss must not fill the ring with itself.
    const bool tell = std::bit_width(runs) > std::bit_width(r.runs);
    r.runs = runs;
    if (tell) publish_(r);
  }
}

void LossAccount::tell_open() {
  for (const auto& [lane, id] : open_) publish_(intervals_[id]);
}

void LossAccount::close(const Where& w, shm::LossCause cause, uint64_t to_cycles) {
  const auto it = open_.find(key(w, cause));
  if (it == open_.end()) return;
  shm::LossRecord& r = intervals_[it->second];
  r.to_cycles = to_cycles;
  publish_(r);
  open_.erase(it);
}

bool LossAccount::is_open(const Where& w, shm::LossCause cause) const {
  return open_.contains(key(w, cause));
}

uint64_t LossAccount::count(shm::LossCause cause) const {
  return static_cast<uint64_t>(
      std::count_if(intervals_.begin(), intervals_.end(), [&](const auto& r) { return r.cause == cause; }));
}

}  // namespace ttc::collect

#include "collector/loss/loss_log.hpp"

#include <algorithm>
#include <bit>

namespace ttc::collect {

LossLog::LossLog(Publish publish, std::vector<shm::LossRecord> earlier)
    : publish_(std::move(publish)), intervals_(std::move(earlier)) {
  for (const shm::LossRecord& r : intervals_) {
    ++counts_[static_cast<size_t>(r.cause)];
    merge_.had(0, r);
  }
}

uint32_t LossLog::key(const Where& w, shm::LossCause cause) {
  return uint32_t{w.core_x} << 24 | uint32_t{w.core_y} << 16 | uint32_t{w.risc} << 8 |
         static_cast<uint32_t>(cause);
}

// Adds to the lane's last interval, or begins a new one.
shm::LossRecord& LossLog::add(shm::LossRecord loss) {
  loss.id = intervals_.size();
  if (const auto into = merge_.joins(0, loss)) {
    take_in(intervals_[*into], loss);
    return intervals_[*into];
  }
  intervals_.push_back(loss);
  ++counts_[static_cast<size_t>(loss.cause)];
  return intervals_.back();
}

shm::LossRecord LossLog::loss_of(const Where& w, shm::LossCause cause, shm::LossPrecision precision,
                                 uint64_t from_cycles, uint64_t to_cycles) {
  shm::LossRecord r;
  r.core_x = w.core_x;
  r.core_y = w.core_y;
  r.risc = w.risc;
  r.cause = cause;
  r.precision = precision;
  r.epoch = w.epoch;
  r.from_cycles = from_cycles;
  r.to_cycles = to_cycles;
  return r;
}

uint64_t LossLog::record(const Where& w, shm::LossCause cause, shm::LossPrecision precision,
                         uint64_t from_cycles, uint64_t to_cycles, uint64_t words, uint64_t launches) {
  shm::LossRecord loss = loss_of(w, cause, precision, from_cycles, to_cycles);
  loss.words = words;
  loss.launches = launches;
  const shm::LossRecord& in = add(loss);
  if (const auto open = open_.find(key(w, cause)); open != open_.end() && open->second.id == in.id)
    open->second.ended = std::max(open->second.ended, to_cycles);
  publish_(in);
  return in.id;
}

void LossLog::open(const Where& w, shm::LossCause cause, uint64_t from_cycles, uint64_t launches) {
  const auto it = open_.find(key(w, cause));
  if (it == open_.end()) {
    const bool counted = cause == shm::LossCause::dropped_on_card && launches != 0;
    const auto precision = counted ? shm::LossPrecision::bounded_launches : shm::LossPrecision::unknown;
    shm::LossRecord loss = loss_of(w, cause, precision, from_cycles, from_cycles);
    loss.launches = launches;
    const size_t before = intervals_.size();
    shm::LossRecord& r = add(loss);
    open_[key(w, cause)] = {r.id, launches, intervals_.size() == before ? r.to_cycles : 0};
    r.to_cycles = shm::kOpenEnd;
    publish_(r);
  } else if (Open& open = it->second; launches > open.launches) {
    // Published again when it has doubled, and at the end: a long loss must not fill the ring with itself.
    const bool doubled = std::bit_width(launches) > std::bit_width(open.launches);
    shm::LossRecord& r = intervals_[open.id];
    r.launches += launches - open.launches;
    open.launches = launches;
    if (cause == shm::LossCause::dropped_on_card) r.precision = shm::LossPrecision::bounded_launches;
    if (doubled) publish_(r);
  }
}

void LossLog::report_open() {
  for (const auto& [lane, open] : open_) publish_(intervals_[open.id]);
}

void LossLog::close(const Where& w, shm::LossCause cause, uint64_t to_cycles) {
  const auto it = open_.find(key(w, cause));
  if (it == open_.end()) return;
  shm::LossRecord& r = intervals_[it->second.id];
  const uint64_t ended = it->second.ended;
  // One that holds earlier losses cannot end before it begins, as the clock's coming round would have it.
  r.to_cycles = ended && to_cycles < r.from_cycles ? shm::kOpenEnd : std::max(ended, to_cycles);
  publish_(r);
  open_.erase(it);
}

bool LossLog::is_open(const Where& w, shm::LossCause cause) const {
  return open_.contains(key(w, cause));
}

}  // namespace ttc::collect

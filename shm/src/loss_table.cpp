#include "shm/loss_table.hpp"

#include <array>
#include <cstring>

#include "test_point.hpp"

namespace ttc::shm {

static_assert(sizeof(LossRecord) % 8 == 0);
using Words = std::array<uint64_t, kLossRecordWords>;

bool LossTableWriter::publish(const LossRecord& record) {
  const uint64_t used = used_.load(std::memory_order_relaxed);  // only this writer stores to it
  const auto found = places_.find(record.id);
  const bool fresh = found == places_.end();
  if (fresh && (used + 1) * kLossRecordWords > words_.size()) return false;
  const uint64_t place = fresh ? used : found->second;
  Words from;
  std::memcpy(from.data(), &record, sizeof record);
  for (size_t i = 0; i < from.size(); ++i) {
    // Relaxed: `used` orders a new record, the ring's tail the new version of an old one (loss_table.hpp).
    __atomic_store_n(&words_[place * kLossRecordWords + i], from[i], __ATOMIC_RELAXED);
    if (i == from.size() / 2) test_point("loss_half_reported");
  }
  if (fresh) {
    places_[record.id] = place;
    used_.store(used + 1, std::memory_order_release);  // the record's words are visible before it
  }
  test_point("loss_reported");
  return true;
}

LossRecord loss_at(const uint64_t* words, uint64_t index) {
  Words from;
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = __atomic_load_n(words + index * kLossRecordWords + i, __ATOMIC_RELAXED);
  LossRecord record;
  std::memcpy(static_cast<void*>(&record), from.data(), sizeof record);
  return record;
}

}  // namespace ttc::shm

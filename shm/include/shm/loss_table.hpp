// The account of losses as it stands, for readers that come late or were lapped: a record an interval, in the
// order in which the intervals were first told, replaced in place when an interval is told again.
//
// How many there may be is bounded by whoever keeps the account (collector/loss_merge.hpp), so that the table
// is as large as the largest account and never full: 65,536 intervals, and one of each lane, cause and
// precision beyond that, which is at most 160 tiles of 5 RISCs, 6 causes and 3 precisions: 14,400.
//
// No lock, and no version: `used` is raised (release) behind the words of a new record, so that every record
// below it was told once as a whole. The words of a record are replaced one by one (relaxed). A telling goes
// into the table first and into the ring then; a reader loads the ring's tail, then the table, then reads the
// ring up to that tail and beyond. So what the table did not have yet, wholly or in part, follows in the
// ring. Only where the writer died between the two, words of two tellings of one interval may stay mixed;
// they only ever grow, but for an open end that closes, so that such a record still covers the first telling.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "shm/chunk.hpp"

namespace ttc::shm {

inline constexpr uint64_t kLossTableRecords = 80 << 10;
inline constexpr uint64_t kLossRecordWords = sizeof(LossRecord) / 8;

class LossTableWriter {
 public:
  LossTableWriter(std::atomic<uint64_t>& used, std::span<uint64_t> words) : used_(used), words_(words) {}
  // False: a new interval, and the table is full.
  bool tell(const LossRecord& record);

 private:
  std::atomic<uint64_t>& used_;
  std::span<uint64_t> words_;
  std::unordered_map<uint64_t, uint64_t> places_;  // by the interval's id
};

// Record `index` of a table of at least so many and one.
LossRecord loss_at(const uint64_t* words, uint64_t index);

}  // namespace ttc::shm

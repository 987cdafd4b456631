// The account of losses so far, for readers that attach late or were lapped: an array of LossRecord, one an
// interval, in the order in which the intervals were first published, replaced in place when an interval is
// published again.
//
//   0     record 0
//   56    record 1
//   112   ...
//
// SegmentHeader::losses of them are in use. The words behind those are zero, or a record that is being stored
// for the first time.
//
// The number of intervals is bounded by the account itself (collector/loss/loss_merge.hpp), so the table is
// as large as the largest account and never full: 65,536 intervals, and one of each lane, cause and precision
// beyond that, which is at most 160 tiles of 5 RISCs, 6 causes and 3 precisions: 14,400.
//
// Memory order. There is neither lock nor version. The writer stores the words of a record one by one
// (relaxed), and raises `used` (release) behind the words of a new record; a reader loads `used` (acquire),
// so every record below it was stored as a whole once. An interval goes into the table first and into the
// ring then; a reader loads the ring's tail, then the table, then reads the ring up to that tail and beyond.
// So an interval that the table lacked, or had in part, follows in the ring. Only when the writer exited
// between the two may the words of two versions of one interval stay mixed. The fields of an interval only
// grow, but for an open end that closes, so such a record still covers the interval's first version.
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
  // Stores an interval, by its id. False: it is a new one, and the table is full.
  bool publish(const LossRecord& record);

 private:
  std::atomic<uint64_t>& used_;
  std::span<uint64_t> words_;
  std::unordered_map<uint64_t, uint64_t> places_;  // by the interval's id
};

// Copies a record. Precondition: index < SegmentHeader::losses, loaded with acquire.
LossRecord loss_at(const uint64_t* words, uint64_t index);

}  // namespace ttc::shm

#include "tools/streaming/real_time.hpp"

#include <iterator>

namespace ttc::streaming {
namespace {

constexpr uint32_t kWriteIndex = 0, kReadIndex = 4, kTerminate = 8;

}  // namespace

RealTime::RealTime(card::EmulatedCard& card, card::Coord reserved, uint64_t hz)
    : card_(card), tile_(reserved), sync_cycles_(hz / 1000 * (kSyncNs / 1'000'000)) {
  for (uint32_t offset = 0; offset < kHeadBytes + kSlots * kSlotBytes; offset += 4) set(offset, 0);
}

// The record is there before the index covers it. The host takes it at once; slots stay readable until they are lapped.
void RealTime::record(uint32_t runtime_id, uint32_t header, uint64_t begin, uint64_t end) {
  const uint32_t slot = kHeadBytes + written_ % kSlots * kSlotBytes;
  const uint32_t words[] = {
      static_cast<uint32_t>(begin >> 32), static_cast<uint32_t>(begin), runtime_id, header,
      static_cast<uint32_t>(end >> 32),   static_cast<uint32_t>(end)};
  for (uint32_t w = 0; w < std::size(words); ++w) set(slot + 4 * w, words[w]);
  ++written_;
  set(kWriteIndex, written_);
  set(kReadIndex, written_);
}

void RealTime::program(uint32_t runtime_id, uint64_t begin, uint64_t end) {
  if (synced_ == 0 || begin - synced_ >= sync_cycles_) {
    synced_ = begin;
    record(0, kSyncHeader, begin, begin);
  }
  record(runtime_id, 0, begin, end);
}

void RealTime::close() {
  set(kTerminate, 1);
}

}  // namespace ttc::streaming

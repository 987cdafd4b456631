// The broadcast ring: one writer, any number of readers, which store nothing to it.
//
//   position   64-bit, monotone, in bytes; offset in the ring = position % capacity (a power of two)
//   tail       everything below is published
//   oldest     everything from here to tail is intact; the writer raises it BEFORE it overwrites
//   announced  the end for polling readers, at most tail; 0: the writer does not announce, and they use tail
//
// Records (chunks, chunk.hpp) are 64-byte aligned and never straddle the end: what is left there becomes a
// padding record. The largest record is capacity/8.
//
// The writer publishes a record in three steps. Positions grow to the right; the same bytes of memory are at
// `position` and at `position + capacity`:
//
//                oldest                       tail
//                  v                           v
//   at rest    ....[A][B][C]...[X][Y][Z]
//
//   claim            oldest                    tail           A is given up: `oldest` is raised past every
//                       v                      v              record whose memory the claim reaches into.
//              .... A  [B][C]...[X][Y][Z]~~~~~~~~~            From now on a reader drops what it copied of A
//
//   write               v                      v              the caller stores the bytes of the claim; they
//              .... # # [B][C]...[X][Y][Z]####~~~~            overwrite A
//
//   publish             v                             v       `tail` is raised: the record can be read
//              .... # # [B][C]...[X][Y][Z][ new  ]
//
// Words that readers poll are stored rarely: readers that keep loading a cache line make each store to it a cache miss, which costs the
// writer ten times what the store of a small record does. So:
//   - `tail` is stored with every record, and loaded only where a reader begins, and where no announcement will come: the
//     writer has exited, or is silent for longer than a sleep. A killed writer thus loses no published record;
//   - `announced` is stored at the end of a sweep, and within one at most once in a microsecond; a reader that polls takes what is below it;
//   - `oldest` is raised by at least give_up_bytes() at a time, so up to this much less than the capacity is intact. A larger step
//     would cost more: passing over records that are given up loads them one after another.
//
// A reader keeps a position of its own and, for each record: copies it out, then loads `oldest` and keeps the
// copy only when `oldest` is still at or below the record. When `oldest` is above the reader's position the
// reader was lapped: it continues at `oldest`, and the bytes between are its loss.
//
//   reader         reads                             result
//   position == tail                                 empty: no record is published there yet
//   oldest <= position < tail, before and after      the copy is whole: a record
//   oldest > position, before or after               lapped: position = oldest, the difference is lost
//   a length that cannot be, oldest still below      damaged: the memory is no sound ring
//
// A writer that exits between any two stores leaves all records in [oldest, tail) readable: a reader does not examine
// memory above tail, and what the writer had given up is below `oldest`.
//
// Memory order, without stand-alone fences. The writer raises `oldest` (relaxed store W1), then stores
// payload with release (W2). A reader copies payload with acquire loads (R2), then loads `oldest` (relaxed,
// R1). If R2 read any word of an overwriting W2, it synchronises with that store, so W1 happens before R1 and
// R1 reads the raised value: the reader is lapped. If R2 read none, the record is intact. Publication is the
// release store of `tail` (P) paired with the reader's acquire load of it (Q): what was stored before P is
// visible after Q. An announcement is a release store of the same position behind P, and its load an acquire: it publishes all that P did.
// On x86-64 all of these are plain moves.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "shm/chunk.hpp"

namespace ttc::shm {

inline constexpr size_t kRecordAlign = 64;
constexpr uint64_t align_record(uint64_t bytes) {
  return (bytes + kRecordAlign - 1) & ~uint64_t{kRecordAlign - 1};
}

// Shared words of a ring; only the writer stores to them. Two cache lines: the one that readers poll, and the tail's.
struct RingControl {
  alignas(64) std::atomic<uint64_t> oldest{0};
  std::atomic<uint64_t> announced{0};
  alignas(64) std::atomic<uint64_t> tail{0};
};
static_assert(offsetof(RingControl, oldest) == 0 && offsetof(RingControl, announced) == 8 &&
              offsetof(RingControl, tail) == 64 && sizeof(RingControl) == 128 &&
              std::is_standard_layout_v<RingControl> && std::atomic<uint64_t>::is_always_lock_free);

class RingWriter {
 public:
  // `ring`: capacity bytes, a power of two of at least 4096, 64-byte aligned. Continues at control.tail.
  RingWriter(RingControl& control, std::span<uint64_t> ring);

  uint64_t capacity() const { return mask_ + 1; }
  uint64_t max_record() const { return capacity() / 8; }

  // Contiguous room for `bytes`, at most max_record(); null when that is exceeded. What it held before is
  // given up. The caller must fill it with 64-bit release stores (W2: store_word, or Card::copy). One claim
  // at a time: claiming again without publishing drops the first.
  uint64_t* claim(uint64_t bytes);
  // Publishes the first `bytes` of the claim; their ChunkHeader must be in place.
  void publish(uint64_t bytes);
  // Shows published records to polling readers. To be called at a sweep's end, before they are woken, or rarely compared to publish().
  void announce();

  // The smallest step by which `oldest` is raised.
  static constexpr uint64_t kMostGivenUp = 4096;
  uint64_t give_up_bytes() const { return std::min(capacity() / 64, kMostGivenUp); }

 private:
  void make_room(uint64_t end);

  RingControl& control_;
  uint64_t* ring_;
  uint64_t mask_;
  uint64_t tail_;
  uint64_t oldest_;
};

// W2: release, so that a reader that reads the word also reads the `oldest` that was raised before it.
inline void store_word(uint64_t* at, uint64_t value) {
  __atomic_store_n(at, value, __ATOMIC_RELEASE);
}
void store_bytes(uint64_t* at, const void* from, size_t bytes);  // rounds up to whole words, zero padded

enum class Poll : uint8_t { record, empty, lapped, damaged };

// One reader's position in a ring. Reads through const memory only. Not thread-safe; readers share nothing.
class RingCursor {
 public:
  RingCursor(const RingControl& control, std::span<const uint64_t> ring);

  // Both positions are only where to begin: next() checks what is there, so any memory order is correct.
  void to_oldest() { position_ = control_->oldest.load(std::memory_order_acquire); }
  void to_newest() { position_ = control_->tail.load(std::memory_order_acquire); }

  // Copies the next announced record, validated against being overwritten meanwhile. `lapped`: what was lost is in
  // lost_bytes(), and the cursor is at the oldest intact record. `damaged`: the lengths are invalid; the
  // ring cannot be followed any further.
  Poll next(std::vector<uint64_t>& chunk) { return next_before(announced(), chunk); }
  // Likewise, but only records that were published when tail() returned `tail`: a caller can thus read other sources in
  // between and keep what it finds there ahead of later records.
  Poll next_before(uint64_t tail, std::vector<uint64_t>& chunk);
  // Q: acquire, so that the words of the records below it are visible as published, or as overwritten.
  uint64_t tail() const { return control_->tail.load(std::memory_order_acquire); }
  // The end for polling readers; likewise acquire. It may be below position(), where a reader began at the tail.
  uint64_t announced() const {
    const uint64_t position = control_->announced.load(std::memory_order_acquire);
    return position ? position : tail();
  }
  // Passes over records that end at or below `position` without copying them; stops where it cannot.
  void skip_to(uint64_t position);

  uint64_t lost_bytes() const { return lost_bytes_; }
  uint64_t laps() const { return laps_; }
  uint64_t position() const { return position_; }

 private:
  Poll lap(uint64_t oldest);

  const RingControl* control_;
  const uint64_t* ring_;
  uint64_t mask_;
  uint64_t position_ = 0;
  uint64_t lost_bytes_ = 0;
  uint64_t laps_ = 0;
};

}  // namespace ttc::shm

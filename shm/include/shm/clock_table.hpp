// A small table in a segment that is replaced as a whole, some ten times a second, and read without a lock:
// the clock model as it stands. Its words mean nothing here (collector/clock_segment.hpp gives them meaning).
//
// Two slots. Version v is in slot v % 2. The writer raises `intent` to v (relaxed store W1), then stores the
// words of version v with release (W2), then `version` (release). A reader takes v from `version`, copies
// slot v % 2 with acquire loads (R2), then loads `intent` (R1). Only version v + 2 writes into that slot. If
// R2 saw any word of it, it synchronises with that W2, so R1 sees intent >= v + 2 and the copy is thrown
// away; if it saw none the copy is whole. The same argument as the ring's (ring.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace ttc::shm {

struct ClockTableControl {
  alignas(64) std::atomic<uint64_t> intent{0};
  alignas(64) std::atomic<uint64_t> version{0};  // 0: nothing was published
};
static_assert(sizeof(ClockTableControl) == 128);

inline constexpr uint64_t kClockSlotWords = 12 * 1024;  // one for the length; 96 KiB
inline constexpr uint64_t kClockTableBytes = sizeof(ClockTableControl) + 2 * kClockSlotWords * 8;

class ClockTableWriter {
 public:
  // `slots`: 2 * kClockSlotWords words, behind the control.
  ClockTableWriter(ClockTableControl& control, uint64_t* slots) : control_(control), slots_(slots) {}
  static constexpr uint64_t capacity() { return kClockSlotWords - 1; }  // words
  void publish(std::span<const uint64_t> words);                        // at most capacity()

 private:
  ClockTableControl& control_;
  uint64_t* slots_;
  uint64_t version_ = 0;
};

// Copies the latest table. False when nothing was published yet, its length makes no sense, or the writer was
// faster than this reader a hundred times in a row.
bool read_clock_table(const ClockTableControl& control, const uint64_t* slots, std::vector<uint64_t>& words);

}  // namespace ttc::shm

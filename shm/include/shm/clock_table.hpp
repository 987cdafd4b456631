// A small table in a segment that is replaced as a whole, some ten times a second, and read without a lock:
// the clock models. Its words have no meaning here; ttcollect/live_clock.hpp defines them.
//
//   0              ClockTableControl
//   128            slot 0: kClockSlotWords words, the first one of them the length in words
//   128 + 96 KiB   slot 1: likewise
//
// Version v is in slot v % 2:
//
//            intent   version
//   rest       v        v       slot v % 2 is whole; slot (v + 1) % 2 holds version v - 1, also whole
//   writing   v + 1     v       slot (v + 1) % 2 is being replaced; readers take slot v % 2
//   rest      v + 1    v + 1
//
// Memory order. The writer raises `intent` to v (relaxed store W1), then stores the words of version v with
// release (W2), then `version` (release, P). A reader takes v from `version` (acquire, Q), copies slot v % 2
// with acquire loads (R2), then loads `intent` (relaxed, R1). Only version v + 2 writes into that slot. If R2
// read any word of it, it synchronises with that W2, so R1 reads intent >= v + 2 and the copy is dropped; if R2
// read none the copy is whole. It is the same argument as the ring's (ring.hpp).
//
// A writer that exits while it writes leaves `version` and its slot as they were.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace ttc::shm {

struct ClockTableControl {
  alignas(64) std::atomic<uint64_t> intent{0};
  alignas(64) std::atomic<uint64_t> version{0};  // 0: no table was published
};
static_assert(offsetof(ClockTableControl, intent) == 0 && offsetof(ClockTableControl, version) == 64 &&
              sizeof(ClockTableControl) == 128 && std::is_standard_layout_v<ClockTableControl>);

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

// Copies the latest table. Returns false if none was published, its length is invalid, or the writer
// replaced the slot a hundred times in a row while this reader copied.
bool read_clock_table(const ClockTableControl& control, const uint64_t* slots, std::vector<uint64_t>& words);

}  // namespace ttc::shm

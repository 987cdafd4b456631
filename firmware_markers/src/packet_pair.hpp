// Two packets of two words each, side by side in one vector: what decoder and verification take the ordinary
// markers with. Vectors of the compiler, so that one text serves every processor; 16 bytes is what the
// baseline of each has.
//
// These functions do not interpret words. They return "all ordinary", and the caller takes its
// general path for anything else; both paths must thus agree on the ordinary.
#pragma once
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "firmware_markers/frame.hpp"

namespace ttc::markers {

using PairOf64 = uint64_t __attribute__((vector_size(16)));
using PairOf32 = uint32_t __attribute__((vector_size(16)));  // low and high half of each

// Each packet as one number, its first word on top: the time in the low 44 bits, id and type above, valid at
// the very top.
inline PairOf64 load_pair(const uint32_t* words) {
  PairOf32 as_stored;
  std::memcpy(&as_stored, words, sizeof as_stored);
  return reinterpret_cast<PairOf64>(__builtin_shufflevector(as_stored, as_stored, 1, 0, 3, 2));
}
inline PairOf64 times_of(PairOf64 packets) {
  return packets & kClockMask;
}

// Oddities are collected in the top bit of each number, and examined once.
inline bool any_odd(PairOf64 odd) {
#ifdef __SSE2__
  return _mm_movemask_pd(reinterpret_cast<__m128d>(odd)) != 0;
#else
  return (odd[0] | odd[1]) >> 63;
#endif
}
// Odd: anything but the start or end of a zone. A blank packet is odd too: it ends no frame, and is not counted.
inline PairOf64 odd_types(PairOf64 packets) {
  // The ordinary values are those from one above the blank to the last of type kZoneEnd. Of the two differences, the
  // first has its top bit clear there and at 0 only, the second there and below as far as kUnsetWord at most.
  constexpr uint64_t kFirst = uint64_t{device::kUnsetWord + 1} << 32;
  constexpr uint64_t kBehind = uint64_t{device::marker_high(device::kZoneEnd + 1, 0, 0)} << 32;
  constexpr uint64_t kTop = uint64_t{1} << 63;
  return (packets - kFirst) | (packets - (kBehind - kTop));
}
// Odd: times_of() one later than the other's, or of clock_difference(late, early) < 0. Differences may be
// or-ed before.
inline PairOf64 odd_if_negative(PairOf64 differences) {
  return differences << (64 - kClockBits);
}

// The four guaranteed markers of a frame.
struct Slots {
  PairOf64 fw, kernel;  // start and end of each

  explicit Slots(const uint32_t* words) : fw(load_pair(words)), kernel(load_pair(words + 4)) {}
  uint64_t fw_start() const { return fw[0] & kClockMask; }
  uint64_t fw_end() const { return fw[1] & kClockMask; }

  // All set, none of them before `last`, and the kernel within its firmware, which took less than a
  // roll-over: nothing to skip or to repair, and the FW end is the latest.
  bool in_order(uint64_t last) const {
    const PairOf64 own = times_of(fw), inner = times_of(kernel);
    const PairOf64 before = {last, own[0]};
    const PairOf64 steps =
        (own - before) | (inner - PairOf64{own[0], own[0]}) | (PairOf64{own[1], own[1]} - inner);
    const bool short_enough = (own[1] - own[0]) >> 32 == 0;
    return own[1] != 0 && short_enough &&
           !any_odd(odd_types(fw) | odd_types(kernel) | odd_if_negative(steps));
  }
};

}  // namespace ttc::markers

// A segment of foreign bytes, 64 KiB: the input spread over its parts, with a sound header over it up to the length in its
// first byte, so that a fuzzer passes the header checks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "shm/segment.hpp"

namespace ttc::shm {

inline constexpr size_t kForeignBytes = 64 << 10;

class ForeignSegment {
 public:
  ForeignSegment(const uint8_t* data, size_t size) : how_(data[0]) {
    ++data, --size;
    void* at = nullptr;
    if (posix_memalign(&at, 64, kForeignBytes) != 0) std::abort();
    owner_.reset(at);
    std::memset(at, 0, kForeignBytes);
    auto* bytes = static_cast<uint8_t*>(at);
    // Spread, so that short inputs reach header, standing area, losses and ring alike.
    const size_t part = size / 4;
    std::memcpy(bytes, data, std::min<size_t>(part, sizeof(SegmentHeader)));
    std::memcpy(bytes + kStandingAt, data + part, std::min(part, kStandingBytes));
    std::memcpy(bytes + kLossAt, data + 2 * part, std::min(part, kLossBytes));
    std::memcpy(bytes + kRingAt, data + 3 * part, std::min(size - 3 * part, kRingBytes));
    if (how_ & 1) make_sound(*reinterpret_cast<SegmentHeader*>(bytes));
  }
  const std::byte* bytes() const { return static_cast<const std::byte*>(owner_.get()); }
  unsigned how() const { return how_; }

 private:
  static constexpr size_t kStandingAt = 8192, kStandingBytes = 8192, kLossAt = 16384, kLossBytes = 4096,
                          kRingAt = 32768, kRingBytes = 32768;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  void make_sound(SegmentHeader& h) const {
    h.magic = kMagic;
    h.abi_major = kAbiMajor;
    h.total_bytes = kForeignBytes;
    h.counters_offset = 4096;
    h.counters_count = kCounters;
    h.standing_offset = kStandingAt;
    h.standing_capacity = kStandingBytes;
    h.loss_offset = kLossAt;
    h.loss_bytes = kLossBytes;
    h.ring_offset = kRingAt;
    h.ring_capacity = kRingBytes;
    if (how_ & 2) {
      h.standing_tail = h.standing_tail.load() % (kStandingBytes + 64);
      h.losses = h.losses.load() % (kLossBytes / sizeof(LossRecord) + 2);
    }
    if (how_ & 4) {  // positions a writer could have left
      h.ring.oldest = h.ring.oldest.load() & ~uint64_t{63};
      h.ring.tail = h.ring.oldest.load() + (h.ring.tail.load() % (kRingBytes + 64) & ~uint64_t{63});
    }
  }

  unsigned how_;
  std::unique_ptr<void, Free> owner_;
};

}  // namespace ttc::shm

// A whole foreign segment of 64 KiB. The first byte chooses how much of a sound header is put over the bytes,
// so that the fuzzer gets behind the header checks.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "shm/reader.hpp"

using namespace ttc::shm;

namespace {
constexpr size_t kBytes = 64 << 10;
constexpr size_t kStandingAt = 8192, kStandingBytes = 8192, kLossAt = 16384, kLossBytes = 4096,
                 kRingAt = 32768, kRingBytes = 32768;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

void make_sound(SegmentHeader& h, unsigned how) {
  h.magic = kMagic;
  h.abi_major = kAbiMajor;
  h.total_bytes = kBytes;
  h.counters_offset = 4096;
  h.counters_count = kCounters;
  h.standing_offset = kStandingAt;
  h.standing_capacity = kStandingBytes;
  h.loss_offset = kLossAt;
  h.loss_bytes = kLossBytes;
  h.ring_offset = kRingAt;
  h.ring_capacity = kRingBytes;
  if (how & 2) {
    h.standing_tail = h.standing_tail.load() % (kStandingBytes + 64);
    h.losses = h.losses.load() % (kLossBytes / sizeof(LossRecord) + 2);
  }
  if (how & 4) {  // positions a writer could have left
    h.ring.oldest = h.ring.oldest.load() & ~uint64_t{63};
    h.ring.tail = h.ring.oldest.load() + (h.ring.tail.load() % (kRingBytes + 64) & ~uint64_t{63});
  }
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const unsigned how = data[0];
  ++data, --size;
  void* at = nullptr;
  if (posix_memalign(&at, 64, kBytes) != 0) std::abort();
  const std::unique_ptr<void, Free> owner(at);
  std::memset(at, 0, kBytes);
  auto* bytes = static_cast<uint8_t*>(at);
  // Spread, so that short inputs reach header, standing area, losses and ring alike.
  const size_t part = size / 4;
  std::memcpy(bytes, data, std::min<size_t>(part, sizeof(SegmentHeader)));
  std::memcpy(bytes + kStandingAt, data + part, std::min(part, kStandingBytes));
  std::memcpy(bytes + kLossAt, data + 2 * part, std::min(part, kLossBytes));
  std::memcpy(bytes + kRingAt, data + 3 * part, std::min(size - 3 * part, kRingBytes));
  auto& header = *reinterpret_cast<SegmentHeader*>(bytes);
  if (how & 1) make_sound(header, how);

  try {
    Reader reader({reinterpret_cast<const std::byte*>(bytes), kBytes},
                  how & 8 ? StartAt::newest : StartAt::oldest);
    std::vector<uint64_t> chunk;
    uint64_t sum = 0;
    for (int i = 0; i < 3000; ++i) {
      const auto next = reader.next(chunk, 0);
      if (next == Reader::Next::damaged && reader.damage().empty()) std::abort();
      if (next != Reader::Next::chunk && next != Reader::Next::lapped) break;
      if (next == Reader::Next::lapped) continue;
      if (!check_chunk(chunk).empty()) std::abort();
      if (header_of(chunk).kind == ChunkKind::device_words)
        for (const SpanEntry& s : spans_of(chunk))
          for (const uint32_t w : words_of(chunk, s)) sum += w;
      for (const char c : body_of(chunk)) sum += static_cast<unsigned char>(c);
    }
    for (unsigned c = 0; c <= kCounters; ++c) sum += reader.counter(static_cast<Counter>(c));
    asm volatile("" : : "r"(sum));
  } catch (const SegmentError&) {
  }
  return 0;
}

// A whole foreign segment of 64 KiB (foreign_segment.hpp).
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "shm/reader.hpp"
#include "tests/fuzz/foreign_segment.hpp"

using namespace ttc::shm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ForeignSegment segment(data, size);
  try {
    Reader reader({segment.bytes(), kForeignBytes}, segment.how() & 8 ? StartAt::newest : StartAt::oldest);
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

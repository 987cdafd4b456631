#include "shm/ring.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "test_point.hpp"

namespace ttc::shm {
namespace {

// The first header word of a record: length and kind.
constexpr uint64_t padding_word(uint64_t bytes) {
  return bytes;
}
uint32_t length_in(uint64_t word) {
  return static_cast<uint32_t>(word);
}
ChunkKind kind_in(uint64_t word) {
  return static_cast<ChunkKind>(word >> 32 & 0xffff);
}
static_assert(offsetof(ChunkHeader, bytes) == 0 && offsetof(ChunkHeader, kind) == 4);

}  // namespace

RingWriter::RingWriter(RingControl& control, std::span<uint64_t> ring)
    : control_(control),
      ring_(ring.data()),
      mask_(ring.size_bytes() - 1),
      // Relaxed: the only one that stores to these is this writer, or one that has ended.
      tail_(control.tail.load(std::memory_order_relaxed)),
      oldest_(control.oldest.load(std::memory_order_relaxed)) {}

// Raises `oldest` past every record that [.., end) will overwrite, and on for a while, but never as far as `tail`: a claim is at most
// an eighth of the ring, so that seven eighths lie between them. A padding length is rounded like any other.
void RingWriter::make_room(uint64_t end) {
  if (end - oldest_ <= capacity()) return;
  const uint64_t enough = oldest_ + give_up_bytes();
  do {
    const uint64_t length = align_record(length_in(ring_[(oldest_ & mask_) / 8]));
    if (length == 0) std::abort();  // our own record: broken invariant, not an input
    oldest_ += length;
  } while (end - oldest_ > capacity() || oldest_ < enough);
  // W1. Relaxed: the payload stores that follow are releases and carry it to every reader that reads one.
  control_.oldest.store(oldest_, std::memory_order_relaxed);
}

uint64_t* RingWriter::claim(uint64_t bytes) {
  if (bytes > max_record()) return nullptr;
  const uint64_t length = align_record(bytes);
  const uint64_t left = capacity() - (tail_ & mask_);
  if (left < length) {
    make_room(tail_ + left);
    store_word(ring_ + (tail_ & mask_) / 8, padding_word(left));
    tail_ += left;
    control_.tail.store(tail_, std::memory_order_release);  // P, of the padding record
    test_point("ring_padded");
  }
  make_room(tail_ + length);
  test_point("ring_claimed");
  return ring_ + (tail_ & mask_) / 8;
}

void RingWriter::publish(uint64_t bytes) {
  test_point("ring_written");
  tail_ += align_record(bytes);
  control_.tail.store(tail_, std::memory_order_release);  // P: the record's words are visible before it
  test_point("ring_published");
}

void RingWriter::announce() {
  control_.announced.store(tail_, std::memory_order_release);
  test_point("ring_announced");
}

void store_bytes(uint64_t* at, const void* from, size_t bytes) {
  const auto* source = static_cast<const unsigned char*>(from);
  for (; bytes >= 8; bytes -= 8, source += 8) {
    uint64_t word;
    std::memcpy(&word, source, 8);
    store_word(at++, word);
  }
  if (bytes) {
    uint64_t word = 0;
    std::memcpy(&word, source, bytes);
    store_word(at, word);
  }
}

RingCursor::RingCursor(const RingControl& control, std::span<const uint64_t> ring)
    : control_(&control), ring_(ring.data()), mask_(ring.size_bytes() - 1) {}

Poll RingCursor::lap(uint64_t oldest) {
  lost_bytes_ += oldest - position_;
  ++laps_;
  position_ = oldest;
  return Poll::lapped;
}

void RingCursor::skip_to(uint64_t position) {
  const uint64_t end = std::min(position, tail());
  while (position_ < end) {
    const uint64_t first = __atomic_load_n(ring_ + (position_ & mask_) / 8, __ATOMIC_ACQUIRE);  // R2
    const uint64_t length_untrusted = align_record(length_in(first));
    if (position_ < control_->oldest.load(std::memory_order_relaxed)) return;  // R1; next() reports the lap
    if (length_untrusted == 0 || length_untrusted > end - position_ ||
        length_untrusted > mask_ + 1 - (position_ & mask_))
      return;
    position_ += length_untrusted;
  }
}

Poll RingCursor::next_before(uint64_t tail, std::vector<uint64_t>& chunk) {
  for (;;) {
    if (position_ >= tail) return Poll::empty;
    // Avoids copying a record that is already lost. Its order is irrelevant: R1 below is the check.
    const uint64_t oldest = control_->oldest.load(std::memory_order_acquire);
    if (position_ < oldest) return lap(oldest);
    if (tail - position_ > mask_ + 1) return Poll::damaged;  // more than a ring can hold

    const uint64_t* record = ring_ + (position_ & mask_) / 8;
    const uint64_t first = __atomic_load_n(record, __ATOMIC_ACQUIRE);  // R2: so R1 covers the length, too
    const uint64_t bytes_untrusted = length_in(first);
    const uint64_t length_untrusted = align_record(bytes_untrusted);
    const bool fits = length_untrusted != 0 && length_untrusted <= mask_ + 1 - (position_ & mask_) &&
                      position_ + length_untrusted <= tail;
    if (!fits) {
      // Either the writer overwrote it meanwhile, which R1 shows, or it never was sound.
      const uint64_t now_oldest = control_->oldest.load(std::memory_order_relaxed);
      return position_ < now_oldest ? lap(now_oldest) : Poll::damaged;
    }
    if (kind_in(first) == ChunkKind::padding) {
      const uint64_t now_oldest = control_->oldest.load(std::memory_order_relaxed);
      if (position_ < now_oldest) return lap(now_oldest);
      position_ += length_untrusted;
      continue;
    }
    chunk.resize((bytes_untrusted + 7) / 8);
    for (size_t i = 0; i < chunk.size(); ++i) chunk[i] = __atomic_load_n(record + i, __ATOMIC_ACQUIRE);  // R2
    // R1. Relaxed: an acquire load that read an overwriting store has ordered this load behind W1.
    const uint64_t now_oldest = control_->oldest.load(std::memory_order_relaxed);
    if (position_ < now_oldest) return lap(now_oldest);
    position_ += length_untrusted;
    return Poll::record;
  }
}

const char* to_string(LossCause cause) {
  switch (cause) {
    case LossCause::dropped_on_card:
      return "dropped on card";
    case LossCause::host_reset:
      return "host reset before read";
    case LossCause::unparsable:
      return "unparsable";
    case LossCause::card_gone:
      return "card gone";
    case LossCause::not_read:
      return "not read before the end";
    case LossCause::unreadable:
      return "tile unreadable";
    case LossCause::reader_lapped:
      return "ring lapped";
    case LossCause::disk_too_slow:
      return "disk too slow";
    case LossCause::not_kept:
      return "not kept";
    case LossCause::file_damaged:
      return "file damaged";
    default:
      return "unknown cause";
  }
}

const char* to_string(LossPrecision precision) {
  switch (precision) {
    case LossPrecision::exact_words:
      return "exact";
    case LossPrecision::bounded_launches:
      return "bounded";
    default:
      return "unknown";
  }
}

std::string check_chunk(std::span<const uint64_t> chunk) {
  if (chunk.size_bytes() < sizeof(ChunkHeader)) return "shorter than a chunk header";
  const ChunkHeader& h = header_of(chunk);
  if (h.bytes < sizeof(ChunkHeader) || (h.bytes + 7) / 8 != chunk.size()) return "length field disagrees";
  const uint64_t body = h.bytes - sizeof(ChunkHeader);
  if (h.kind == ChunkKind::loss && body < sizeof(LossRecord)) return "loss record cut short";
  if (h.kind == ChunkKind::loss_totals && body % sizeof(LossTotal)) return "loss totals cut short";
  if (h.kind == ChunkKind::telemetry && body < sizeof(TelemetryRecord)) return "telemetry cut short";
  if (h.kind != ChunkKind::device_words) return {};
  const uint64_t table_end = sizeof(ChunkHeader) + uint64_t{h.span_count} * sizeof(SpanEntry);
  if (table_end > h.bytes) return "span table is longer than the chunk";
  const auto* spans = reinterpret_cast<const SpanEntry*>(chunk.data() + sizeof(ChunkHeader) / 8);
  for (unsigned i = 0; i < h.span_count; ++i) {
    const SpanEntry& s = spans[i];
    if (s.data_offset % 8 || s.data_offset < table_end || s.data_offset > h.bytes ||
        uint64_t{s.word_count} * 4 > h.bytes - s.data_offset)
      return "span " + std::to_string(i) + " points outside the chunk";
  }
  return {};
}

std::span<const SpanEntry> spans_of(std::span<const uint64_t> chunk) {
  return {reinterpret_cast<const SpanEntry*>(chunk.data() + sizeof(ChunkHeader) / 8),
          header_of(chunk).span_count};
}
std::span<const uint32_t> words_of(std::span<const uint64_t> chunk, const SpanEntry& span) {
  return {reinterpret_cast<const uint32_t*>(chunk.data()) + span.data_offset / 4, span.word_count};
}
std::span<const char> body_of(std::span<const uint64_t> chunk) {
  return {reinterpret_cast<const char*>(chunk.data()) + sizeof(ChunkHeader),
          header_of(chunk).bytes - sizeof(ChunkHeader)};
}

}  // namespace ttc::shm

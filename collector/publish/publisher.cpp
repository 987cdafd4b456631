#include "collector/publish/publisher.hpp"

#include <cstring>

#include "collector/loss/loss_merge.hpp"

namespace ttc::collect {

using shm::ChunkHeader;
using shm::ChunkKind;
using shm::Counter;

// The table takes the largest account there can be; shm/loss_table.hpp has the arithmetic.
static_assert(shm::kLossTableRecords >= LossMerge::kMost + 160 * 5 * 6 * 3);

ChunkHeader Publisher::header(ChunkKind kind, uint64_t bytes) {
  ChunkHeader h;
  h.bytes = static_cast<uint32_t>(bytes);
  h.kind = kind;
  h.sequence = sequence_++;
  h.session = segment_.session();
  h.device = device_;
  h.generation = generation_;
  return h;
}

void Publisher::count(uint64_t bytes) {
  segment_.add(Counter::chunks, 1);
  segment_.add(Counter::chunk_bytes, bytes);
  unannounced_ = true;
}

void Publisher::publish_words(uint64_t* claim, uint64_t bytes, const Core& core,
                              std::span<const Span> spans) {
  ChunkHeader h = header(ChunkKind::device_words, bytes);
  h.core_x = core.x;
  h.core_y = core.y;
  h.core_kind = static_cast<uint8_t>(core.kind);
  h.firmware_mode = static_cast<uint8_t>(core.mode);
  h.flat_id = core.flat_id;
  h.epoch = core.epoch;
  h.run_counter = core.run_counter;
  h.read_time_ns = core.read_time_ns;
  h.flags = core.flags;
  h.span_count = static_cast<uint8_t>(spans.size());
  uint64_t* at = claim + sizeof h / 8;
  for (const Span& span : spans) {
    fullest_log_words_ = std::max(fullest_log_words_, span.log_end);
    shm::SpanEntry entry;
    entry.risc = span.risc;
    entry.source = span.source;
    entry.word_offset = span.word_offset;
    entry.word_count = span.word_count;
    entry.data_offset = span.data_offset;
    static_assert(sizeof entry.digest == sizeof span.before);
    std::memcpy(entry.digest, &span.before, sizeof entry.digest);
    shm::store_bytes(at, &entry, sizeof entry);
    at += sizeof entry / 8;
  }
  shm::store_bytes(claim, &h, sizeof h);
  segment_.ring().publish(bytes);
  count(bytes);
  announce_now_and_then(core.read_time_ns);
}

void Publisher::announce_now_and_then(uint64_t now_ns) {
  if (now_ns < announce_from_ns_) return;
  segment_.ring().announce();
  announce_from_ns_ = now_ns + kAnnounceNs;
}

void Publisher::publish_loss(shm::LossRecord record) {
  record.device = device_;
  segment_.report_loss(record);  // before the ring has it
  const uint64_t bytes = sizeof(ChunkHeader) + sizeof record;
  uint64_t* at = claim(bytes);
  ChunkHeader h = header(ChunkKind::loss, bytes);
  h.core_x = record.core_x;
  h.core_y = record.core_y;
  h.epoch = record.epoch;
  shm::store_bytes(at, &h, sizeof h);
  shm::store_bytes(at + sizeof h / 8, &record, sizeof record);
  segment_.ring().publish(bytes);
  count(bytes);
}

void Publisher::publish_end(std::string_view why) {
  publish_body(ChunkKind::end, std::as_bytes(std::span(why)));
}

std::optional<ChunkHeader> Publisher::publish_body(ChunkKind kind, std::span<const std::byte> body) {
  const uint64_t bytes = sizeof(ChunkHeader) + body.size();
  uint64_t* at = claim(bytes);
  if (!at) return std::nullopt;
  const ChunkHeader h = header(kind, bytes);
  shm::store_bytes(at, &h, sizeof h);
  shm::store_bytes(at + sizeof h / 8, body.data(), body.size());
  segment_.ring().publish(bytes);
  count(bytes);
  return h;
}

void Publisher::end_sweep() {
  if (!unannounced_) return;
  unannounced_ = false;
  segment_.wake_readers();
  segment_.add(Counter::wakes, 1);
}

}  // namespace ttc::collect

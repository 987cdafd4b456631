// Puts chunks of one device into its segment: header, sequence number, counters. The drain thread's.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "firmware_markers/frame.hpp"
#include "shm/segment.hpp"

namespace ttc::collect {

class Publisher {
 public:
  Publisher(shm::SegmentWriter& segment, uint32_t device, uint8_t generation)
      : segment_(segment), device_(device), generation_(generation) {}

  struct Core {
    uint8_t x, y;
    markers::CoreKind kind;
    device::Mode mode;
    uint16_t flat_id;
    uint32_t epoch;
    uint32_t run_counter;
    uint64_t read_time_ns;
    uint32_t flags;
  };
  struct Span {
    uint8_t risc;
    uint32_t word_offset;
    uint32_t word_count;
    uint32_t data_offset;  // from the chunk's start
    markers::FrameDigest before;
    shm::SpanSource source = shm::SpanSource::dram_log;
    uint32_t log_end = 0;  // behind its last word in the log as it is now; 0: not in the log
  };

  // Applies to the chunks that follow.
  void set_generation(uint8_t generation) { generation_ = generation; }

  // Bytes in front of the first span's words, for up to 5 spans.
  static constexpr uint32_t kHeadBytes = sizeof(shm::ChunkHeader) + 5 * sizeof(shm::SpanEntry);
  static_assert(kHeadBytes % 8 == 0);
  uint64_t max_chunk_bytes() const { return segment_.ring().max_record(); }

  // Room for a chunk; words are written at kHeadBytes and up. publish_words() publishes it; without that call it is dropped.
  uint64_t* claim(uint64_t bytes) { return segment_.ring().claim(bytes); }
  void publish_words(uint64_t* claim, uint64_t bytes, const Core& core, std::span<const Span> spans);
  // How far the fullest log was filled by the words that were published since the last call.
  uint32_t take_fullest_log_words() { return std::exchange(fullest_log_words_, 0); }
  void publish_loss(shm::LossRecord record);
  void publish_end(std::string_view why);
  // Publishes a chunk of one body and returns its header; no value if it is larger than the ring takes.
  std::optional<shm::ChunkHeader> publish_body(shm::ChunkKind kind, std::span<const std::byte> body);

  // Readers that poll load the line of an announcement all the time, so that each store to it costs up to 0.1 us: one is made for a
  // chunk at most so long after the chunk of the one before. A visit that reads words over a link takes longer: each is announced at once.
  static constexpr uint64_t kAnnounceNs = 1'000;
  // Announces what is not announced yet, and wakes readers.
  void end_sweep();

 private:
  shm::ChunkHeader header(shm::ChunkKind kind, uint64_t bytes);
  void count(uint64_t bytes);
  void announce_now_and_then(uint64_t now_ns);

  shm::SegmentWriter& segment_;
  uint32_t device_;
  uint8_t generation_;
  uint64_t sequence_ = 0;
  uint32_t fullest_log_words_ = 0;
  bool unannounced_ = false;
  uint64_t announce_from_ns_ = 0;  // by chunks' read times
};

}  // namespace ttc::collect

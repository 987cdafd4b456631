// Chunks: what flows through the ring, is in the standing area and is kept in capture files. A chunk is a
// header of 64 bytes and a body. All integers are little-endian; all offsets count from the chunk's start.
//
//   kind               n  body                                               where          written by
//   padding            0  unused: fills the rest of the ring in front of its end      ring           RingWriter
//   device_words       1  span table (span_count SpanEntry), then the words  ring, file     Publisher
//                         of the spans, copied verbatim from the card
//   session            2  JSON text: what was collected, where and how       standing, file SegmentWriter
//                         (keys: shm/README.md)
//   names              3  text: one hashed zone string, NAME,FILE,LINE,      standing, file SegmentWriter
//                         KERNEL_PROFILER, a line
//   loss               4  one LossRecord; a later one of the same id         ring, file     Publisher
//                         replaces it (open intervals grow)
//   end                5  text, one sentence: the collector ended in order   ring, file     Publisher
//   clock              6  ClockHead and ClockSegments of one clock domain    ring, file     Publisher
//                         (ttcollect/clock_segment.hpp)
//   telemetry          7  one TelemetryRecord                                ring, file     Publisher
//   clock_domains      8  JSON text: which tiles share a cycle counter       standing, file SegmentWriter
//   loss_totals        9  LossTotals: the account of losses when one file    file           capture writer
//                         of a row (--rotate) was begun
//   host_events       10  what a process of the workload reported            ring, file     HostPublisher
//                         (ttcollect/host_events.hpp)
//   host_names        11  definitions of the names in those reports (likewise)   standing, file HostPublisher
//
// A reader must skip unknown kinds by their length, and must ignore bytes behind the part of a body that
// it supports, unknown flag bits and reserved fields; docs/format-versions.md has all rules.
//
// Trust: a chunk is untrusted until check_chunk() returned an empty string. It must be copied first: a writer may
// change shared memory at any time, so a check of the shared bytes themselves proves nothing.
//
// Order: the writer numbers the chunks of the ring from 0 by `sequence`, without gaps, and those of the
// standing area apart from them (flag kStanding). A jump of `sequence` shows how many chunks a reader missed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace ttc::shm {

enum class ChunkKind : uint16_t {
  padding = 0,
  device_words = 1,
  session = 2,
  names = 3,
  loss = 4,
  end = 5,
  clock = 6,
  telemetry = 7,
  clock_domains = 8,
  loss_totals = 9,
  host_events = 10,
  host_names = 11,
};

// What the collector detected while it read these words, or the origin of the chunk.
enum ChunkFlags : uint32_t {
  kRetried = 1,    // a frame had not landed at first and was read again
  kRecovered = 2,  // read after a host reset, from behind the new end of the log
  kNewEpoch = 4,   // first chunk of this core after a host reset was noticed
  kStanding = 8,   // from the standing area, which counts its sequence apart
};

struct ChunkHeader {
  uint32_t bytes = 0;  // header and body, before alignment in the ring
  ChunkKind kind = ChunkKind::padding;
  uint8_t core_kind = 0;      // firmware_markers CoreKind: 0 Tensix, 1 active Ethernet, 2 idle Ethernet
  uint8_t firmware_mode = 0;  // firmware_markers device::Mode: 0 normal, 1 trace-only, 2 accumulate
  uint64_t sequence = 0;      // counts the chunks of a session, without gaps
  uint64_t session = 0;       // random, one per collector run and device
  uint32_t device = 0;        // tt-metal's chip id: column 1 of the device CSV; 0 in standing chunks
  uint8_t core_x = 0;         // NOC0 physical
  uint8_t core_y = 0;
  uint8_t generation = 0;  // layout of the words: 1 to 4 = G1 to G4, 16 = G1-16
  uint8_t span_count = 0;
  uint32_t epoch = 0;  // host resets of this core detected so far
  uint16_t flat_id = 0;
  uint16_t reserved1 = 0;
  uint64_t read_time_ns = 0;  // CLOCK_MONOTONIC_RAW when the control words were read
  uint32_t run_counter = 0;   // of the core at that time
  uint32_t flags = 0;
  uint64_t reserved2 = 0;
};
static_assert(offsetof(ChunkHeader, bytes) == 0 && offsetof(ChunkHeader, kind) == 4 &&
              offsetof(ChunkHeader, core_kind) == 6 && offsetof(ChunkHeader, firmware_mode) == 7 &&
              offsetof(ChunkHeader, sequence) == 8 && offsetof(ChunkHeader, session) == 16 &&
              offsetof(ChunkHeader, device) == 24 && offsetof(ChunkHeader, core_x) == 28 &&
              offsetof(ChunkHeader, core_y) == 29 && offsetof(ChunkHeader, generation) == 30 &&
              offsetof(ChunkHeader, span_count) == 31 && offsetof(ChunkHeader, epoch) == 32 &&
              offsetof(ChunkHeader, flat_id) == 36 && offsetof(ChunkHeader, reserved1) == 38 &&
              offsetof(ChunkHeader, read_time_ns) == 40 && offsetof(ChunkHeader, run_counter) == 48 &&
              offsetof(ChunkHeader, flags) == 52 && offsetof(ChunkHeader, reserved2) == 56 &&
              sizeof(ChunkHeader) == 64 && std::is_trivially_copyable_v<ChunkHeader> &&
              std::is_standard_layout_v<ChunkHeader>);

// The memory from which the words were read. A reader must skip spans of an unknown source.
enum class SpanSource : uint8_t {
  dram_log = 0,   // the lane's log in the card's DRAM
  l1_buffer = 1,  // the RISC's buffer in L1: not pushed yet, a later push may bring the same words again
};

// Whole frames of one lane. Entries are 80 bytes each, in the order of their words.
struct SpanEntry {
  uint8_t risc = 0;
  SpanSource source = SpanSource::dram_log;
  uint16_t reserved = 0;
  uint32_t word_offset = 0;  // of the first word in the lane's log
  uint32_t word_count = 0;
  uint32_t data_offset = 0;  // from the chunk's start, a multiple of 8
  uint8_t digest[64] = {};   // firmware_markers FrameDigest of the frame before word_offset
};
static_assert(offsetof(SpanEntry, risc) == 0 && offsetof(SpanEntry, source) == 1 &&
              offsetof(SpanEntry, reserved) == 2 && offsetof(SpanEntry, word_offset) == 4 &&
              offsetof(SpanEntry, word_count) == 8 && offsetof(SpanEntry, data_offset) == 12 &&
              offsetof(SpanEntry, digest) == 16 && sizeof(SpanEntry) == 80 &&
              std::is_trivially_copyable_v<SpanEntry> && std::is_standard_layout_v<SpanEntry>);

enum class LossCause : uint8_t {
  dropped_on_card = 0,  // the log was full
  host_reset = 1,       // the host reset the indices over unread words
  unparsable = 2,       // words that are no frame, skipped
  card_gone = 3,        // the card vanished unannounced
  not_read = 4,         // visible on the card when collecting ended, not read any more
  unreadable = 5,       // the core's tile or its DRAM gave no true answers when collecting ended
  reader_lapped = 6,    // the ring was overwritten before this reader had read it
  disk_too_slow = 7,    // whole blocks were dropped, by the rule of --keep
  not_kept = 8,         // outside of the bounds that were set for the capture, or the disk took no more
  file_damaged = 9,     // a part of the capture file is unreadable
  kinds
};
enum class LossPrecision : uint8_t {
  exact_words = 0,       // LossRecord::words is how many words are missing
  bounded_launches = 1,  // markers of at most LossRecord::launches launches are missing
  unknown = 2,           // neither is known
};
const char* to_string(LossCause cause);
const char* to_string(LossPrecision precision);

inline constexpr uint64_t kOpenEnd = ~uint64_t{0};

// Markers of the lane whose time is in (from_cycles, to_cycles) may be missing; no others. The size is
// fixed: the loss table is an array of these.
struct LossRecord {
  uint64_t id = 0;  // of the interval
  uint8_t core_x = 0;
  uint8_t core_y = 0;
  uint8_t risc = 0;
  LossCause cause = LossCause::dropped_on_card;
  LossPrecision precision = LossPrecision::unknown;
  uint8_t reserved[3] = {};
  uint32_t epoch = 0;
  uint32_t device = 0;
  uint64_t from_cycles = 0;  // 44-bit device time of the last marker known good before
  uint64_t to_cycles = kOpenEnd;
  uint64_t words = 0;     // exact: how many
  uint64_t launches = 0;  // bounded: at most this many launches
};
static_assert(offsetof(LossRecord, id) == 0 && offsetof(LossRecord, core_x) == 8 &&
              offsetof(LossRecord, core_y) == 9 && offsetof(LossRecord, risc) == 10 &&
              offsetof(LossRecord, cause) == 11 && offsetof(LossRecord, precision) == 12 &&
              offsetof(LossRecord, reserved) == 13 && offsetof(LossRecord, epoch) == 16 &&
              offsetof(LossRecord, device) == 20 && offsetof(LossRecord, from_cycles) == 24 &&
              offsetof(LossRecord, to_cycles) == 32 && offsetof(LossRecord, words) == 40 &&
              offsetof(LossRecord, launches) == 48 && sizeof(LossRecord) == 56 &&
              std::is_trivially_copyable_v<LossRecord> && std::is_standard_layout_v<LossRecord>);

// The sum of all intervals of one cause and precision that were published before. The size is fixed: a
// loss_totals chunk is an array of these.
struct LossTotal {
  LossCause cause = LossCause::dropped_on_card;
  LossPrecision precision = LossPrecision::unknown;
  uint8_t reserved[6] = {};
  uint64_t intervals = 0, words = 0, launches = 0;
};
static_assert(offsetof(LossTotal, cause) == 0 && offsetof(LossTotal, precision) == 1 &&
              offsetof(LossTotal, reserved) == 2 && offsetof(LossTotal, intervals) == 8 &&
              offsetof(LossTotal, words) == 16 && offsetof(LossTotal, launches) == 24 &&
              sizeof(LossTotal) == 32 && std::is_trivially_copyable_v<LossTotal> &&
              std::is_standard_layout_v<LossTotal>);

// What a card reported of itself at one time, and the load of collecting from it. A later version may be longer: a reader
// must ignore the bytes that it does not support.
struct TelemetryRecord {
  uint64_t host_ns = 0;  // CLOCK_MONOTONIC_RAW
  uint32_t known = 0;    // bit 0 AICLK, 1 power, 2 temperature, 3 link share, 4 log fill
  uint32_t aiclk_mhz = 0;
  uint32_t power_mw = 0;
  int32_t temperature_mc = 0;   // thousandths of a degree Celsius, of the ASIC
  uint32_t link_share_ppm = 0;  // of what the way to the card can carry, since the record before
  uint32_t log_fill_ppm = 0;    // of the fullest log on the card, since the record before
};
static_assert(offsetof(TelemetryRecord, host_ns) == 0 && offsetof(TelemetryRecord, known) == 8 &&
              offsetof(TelemetryRecord, aiclk_mhz) == 12 && offsetof(TelemetryRecord, power_mw) == 16 &&
              offsetof(TelemetryRecord, temperature_mc) == 20 &&
              offsetof(TelemetryRecord, link_share_ppm) == 24 &&
              offsetof(TelemetryRecord, log_fill_ppm) == 28 && sizeof(TelemetryRecord) == 32 &&
              std::is_trivially_copyable_v<TelemetryRecord> && std::is_standard_layout_v<TelemetryRecord>);

// Checks everything a reader later relies on against `chunk.size_bytes()`: lengths, span table, span bounds,
// alignment. Returns the first contradiction; empty when the chunk is sound. It does not check that values of
// enumerations are known: a reader must handle unknown values itself.
std::string check_chunk(std::span<const uint64_t> chunk);

// A chunk as its source hands it over, checked.
struct KeptChunk {
  std::span<const uint64_t> words;
  std::shared_ptr<const void>
      memory;                 // keeps the words, beside those of other chunks; null: they are in `own`
  std::vector<uint64_t> own;  // else memory for the next chunk
};

inline const ChunkHeader& header_of(std::span<const uint64_t> chunk) {
  return *reinterpret_cast<const ChunkHeader*>(chunk.data());
}
// Precondition: check_chunk() returned an empty string.
std::span<const SpanEntry> spans_of(std::span<const uint64_t> chunk);
std::span<const uint32_t> words_of(std::span<const uint64_t> chunk, const SpanEntry& span);
std::span<const char> body_of(std::span<const uint64_t> chunk);

}  // namespace ttc::shm

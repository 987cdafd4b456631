// Chunks: what flows through the ring and into files. A chunk is a 64-byte header and a body whose meaning
// its kind tells; unknown kinds are skipped by length. All integers little-endian, all offsets from the
// chunk's start.
//
//   kDeviceWords   span table (span_count entries), then the words of the spans, copied verbatim from the
//   card kSession       JSON text: session, device, arch, board, clock, layout, lanes kNames         text:
//   one hashed zone string (NAME,FILE,LINE,KERNEL_PROFILER) a line kLoss          one LossRecord; the same id
//   again replaces it (open intervals grow) kEnd           the collector ended in order; body: one sentence
//   of text why kPadding       nothing, fills the ring's end
//
// A reader must not trust any field before it has checked it against `bytes`; check_chunk() does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
  clock_domains = 8,  // JSON text, in the standing area: which tiles count together
  loss_totals = 9,    // LossTotals: the account of losses when a file of a row was begun
};

// What was noticed on the way to these words.
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
  uint32_t epoch = 0;  // host resets of this core seen so far
  uint16_t flat_id = 0;
  uint16_t reserved1 = 0;
  uint64_t read_time_ns = 0;  // CLOCK_MONOTONIC_RAW when the control words were read
  uint32_t run_counter = 0;   // of the core at that time
  uint32_t flags = 0;
  uint64_t reserved2 = 0;
};
static_assert(sizeof(ChunkHeader) == 64);
static_assert(offsetof(ChunkHeader, sequence) == 8 && offsetof(ChunkHeader, device) == 24 &&
              offsetof(ChunkHeader, epoch) == 32 && offsetof(ChunkHeader, read_time_ns) == 40 &&
              offsetof(ChunkHeader, reserved2) == 56);

enum class SpanSource : uint8_t { dram_log = 0, l1_buffer = 1 };

// Whole frames of one lane.
struct SpanEntry {
  uint8_t risc = 0;
  SpanSource source = SpanSource::dram_log;
  uint16_t reserved = 0;
  uint32_t word_offset = 0;  // of the first word in the lane's log
  uint32_t word_count = 0;
  uint32_t data_offset = 0;  // from the chunk's start, a multiple of 8
  uint8_t digest[64] = {};   // firmware_markers FrameDigest of the frame before word_offset
};
static_assert(sizeof(SpanEntry) == 80);

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
enum class LossPrecision : uint8_t { exact_words = 0, bounded_launches = 1, unknown = 2 };
const char* to_string(LossCause cause);
const char* to_string(LossPrecision precision);

inline constexpr uint64_t kOpenEnd = ~uint64_t{0};

// Markers of the lane whose time lies in (from_cycles, to_cycles) may be missing; no others.
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
static_assert(sizeof(LossRecord) == 56);

// Of all intervals of one cause and precision that were told before.
struct LossTotal {
  LossCause cause = LossCause::dropped_on_card;
  LossPrecision precision = LossPrecision::unknown;
  uint8_t reserved[6] = {};
  uint64_t intervals = 0, words = 0, launches = 0;
};
static_assert(sizeof(LossTotal) == 32);

// What a card said of itself at one time.
struct TelemetryRecord {
  uint64_t host_ns = 0;  // CLOCK_MONOTONIC_RAW
  uint32_t known = 0;    // bit 0 AICLK, 1 power, 2 temperature
  uint32_t aiclk_mhz = 0;
  uint32_t power_mw = 0;
  int32_t temperature_mc = 0;  // thousandths of a degree Celsius, of the ASIC
  uint64_t reserved = 0;
};
static_assert(sizeof(TelemetryRecord) == 32);

// Nothing a reader later relies on may contradict `chunk.size_bytes()`: lengths, span table, span bounds,
// alignment. Returns the first contradiction, empty when sound.
std::string check_chunk(std::span<const uint64_t> chunk);

inline const ChunkHeader& header_of(std::span<const uint64_t> chunk) {
  return *reinterpret_cast<const ChunkHeader*>(chunk.data());
}
// Only after check_chunk() found nothing.
std::span<const SpanEntry> spans_of(std::span<const uint64_t> chunk);
std::span<const uint32_t> words_of(std::span<const uint64_t> chunk, const SpanEntry& span);
std::span<const char> body_of(std::span<const uint64_t> chunk);

}  // namespace ttc::shm

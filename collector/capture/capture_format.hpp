// A .ttc file as bytes. collector/capture/FORMAT.md is the page about it; this header is the same in C++.
// docs/format-versions.md defines what a version is, and what a reader must ignore or refuse.
//
//   version 3   written. A file header of 4096 bytes, then blocks, each a multiple of 4096 bytes that can be
//               read without any other; the last one is an index of them all
//   version 2   still read: the same without SectionCodec::keys
//   version 1   still read: a header of 64 bytes, then chunks as they went through the ring, padded to 8
//               bytes
//
// Little-endian throughout; every struct below is in the file as it is in memory. Writer: one thread of a
// collector (collector/record/capture_output.hpp). Readers: any process, also while the file is written.
// Every byte is foreign until a checksum over it held and its values were checked.
//
// States of a file, each with how it is recognised:
//
//        file header written
//                 |
//                 v
//         +---------------+  index block and trailer written   +--------+
//    +--> | being written | ---------------------------------> | closed |
//    |    +---------------+                                    +--------+
//    +------------+ |
//   block appended  |
//                   | the writer exits early, or the disk is full
//                   v
//                +-----+
//                | cut |
//                +-----+
//
//   being written   there is no Trailer at the end. Blocks are appended and never changed. A reader finds
//                   them by their headers, one behind the other.
//   closed          the last 32 bytes are a Trailer whose checksum holds. No byte changes any more.
//   cut             as being written, but no block is appended any more. An incomplete block at the end is where
//                   writing stopped, and is no damage. Elsewhere it is damage: the reader continues at the next
//                   multiple of 4096 at which a block header holds.
//
// A file of a row (--rotate) is named run.NNNN.ttc.part while it is written, and run.NNNN.ttc once it is
// closed. Where a bound of the disk space requires it, the oldest file of a row is removed as a whole; no
// block is taken out of a file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ttc::collect {

inline constexpr uint64_t kCaptureMagic = 0x3130'7061'6363'7474;  // text "ttccap01"
inline constexpr uint32_t kCaptureVersion = 3;
inline constexpr uint64_t kCaptureAlign = 4096;  // of everything in a file of versions 2 and 3

struct CaptureHeader {  // of version 1
  uint64_t magic = kCaptureMagic;
  uint32_t version = 1;
  uint32_t header_bytes = 64;
  uint64_t session = 0;
  uint8_t reserved[40] = {};
};
static_assert(offsetof(CaptureHeader, magic) == 0 && offsetof(CaptureHeader, version) == 8 &&
              offsetof(CaptureHeader, header_bytes) == 12 && offsetof(CaptureHeader, session) == 16 &&
              offsetof(CaptureHeader, reserved) == 24 && sizeof(CaptureHeader) == 64 &&
              std::is_trivially_copyable_v<CaptureHeader> && std::is_standard_layout_v<CaptureHeader>);

struct FileHeader {  // of versions 2 and 3; zeros behind it up to header_bytes
  uint64_t magic = kCaptureMagic;
  uint32_t version = kCaptureVersion;
  uint32_t header_bytes = kCaptureAlign;
  uint64_t session = 0;              // of the first device
  uint64_t created_realtime_ns = 0;  // CLOCK_REALTIME
  uint64_t created_raw_ns = 0;       // CLOCK_MONOTONIC_RAW at the same time, what chunks are dated in
  uint32_t part = 0;                 // of a run that was cut into several files; counts from 0
  uint32_t reserved = 0;
  uint64_t checksum = 0;  // XXH3-64 of the bytes before it
};
static_assert(offsetof(FileHeader, magic) == 0 && offsetof(FileHeader, version) == 8 &&
              offsetof(FileHeader, header_bytes) == 12 && offsetof(FileHeader, session) == 16 &&
              offsetof(FileHeader, created_realtime_ns) == 24 && offsetof(FileHeader, created_raw_ns) == 32 &&
              offsetof(FileHeader, part) == 40 && offsetof(FileHeader, reserved) == 44 &&
              offsetof(FileHeader, checksum) == 48 && sizeof(FileHeader) == 56 &&
              std::is_trivially_copyable_v<FileHeader> && std::is_standard_layout_v<FileHeader>);

inline constexpr uint32_t kBlockMagic = 0x6b6c'6274;  // text "tblk"
enum class BlockKind : uint16_t { chunks = 1, index = 2 };

// A reader takes a block whose header and contents have checksums that hold. A later version may add fields
// behind these, up to header_bytes.
struct BlockHeader {
  uint32_t magic = kBlockMagic;
  uint16_t header_bytes = 128;  // the section table follows
  BlockKind kind = BlockKind::chunks;
  uint64_t bytes = 0;          // of the block with this header and padding, a multiple of kCaptureAlign
  uint64_t number = 0;         // counts all blocks that were made, including those that were not kept
  uint64_t content_bytes = 0;  // without padding; what `content_checksum` covers, and this header
  uint64_t raw_bytes = 0;      // size of its chunks unpacked, each padded to 8 bytes
  uint32_t chunks = 0;
  uint32_t sections = 0;
  uint32_t markers = 0;       // as far as words could be parsed
  uint32_t facts_end = 0;     // header, table and the sections of facts are before it
  uint64_t read_from_ns = 0;  // when its words were read, CLOCK_MONOTONIC_RAW; 0, 0: it has none
  uint64_t read_to_ns = 0;
  uint64_t cycles_from = 0;  // its markers' times; from > to: it has none
  uint64_t cycles_to = 0;
  uint32_t lane_from = 0;  // lane_number() (ttcollect/capture_reader.hpp) of the smallest and the largest
  uint32_t lane_to = 0;
  uint32_t kinds = 0;           // bit k: chunks of kind k are inside; bit 31: of a kind from 31 on
  uint32_t facts_checksum = 0;  // lower half of XXH3-64 of the bytes from header_bytes to facts_end
  uint64_t reserved = 0;
  uint64_t content_checksum = 0;  // XXH3-64 of the bytes from header_bytes to content_bytes
  uint64_t header_checksum = 0;   // XXH3-64 of the bytes before it
};
static_assert(offsetof(BlockHeader, magic) == 0 && offsetof(BlockHeader, header_bytes) == 4 &&
              offsetof(BlockHeader, kind) == 6 && offsetof(BlockHeader, bytes) == 8 &&
              offsetof(BlockHeader, number) == 16 && offsetof(BlockHeader, content_bytes) == 24 &&
              offsetof(BlockHeader, raw_bytes) == 32 && offsetof(BlockHeader, chunks) == 40 &&
              offsetof(BlockHeader, sections) == 44 && offsetof(BlockHeader, markers) == 48 &&
              offsetof(BlockHeader, facts_end) == 52 && offsetof(BlockHeader, read_from_ns) == 56 &&
              offsetof(BlockHeader, read_to_ns) == 64 && offsetof(BlockHeader, cycles_from) == 72 &&
              offsetof(BlockHeader, cycles_to) == 80 && offsetof(BlockHeader, lane_from) == 88 &&
              offsetof(BlockHeader, lane_to) == 92 && offsetof(BlockHeader, kinds) == 96 &&
              offsetof(BlockHeader, facts_checksum) == 100 && offsetof(BlockHeader, reserved) == 104 &&
              offsetof(BlockHeader, content_checksum) == 112 &&
              offsetof(BlockHeader, header_checksum) == 120 && sizeof(BlockHeader) == 128 &&
              std::is_trivially_copyable_v<BlockHeader> && std::is_standard_layout_v<BlockHeader>);

// Sections of a block of chunks. Unknown ones are skipped by length.
enum class Section : uint16_t {
  order = 1,         // a byte a chunk: 0 of `facts`, 1 of words
  facts = 2,         // chunks without device words as they were, each padded to 8 bytes
  cores = 3,         // u16 a chunk of words: which core, in order of appearance
  heads = 4,         // chunk headers against predictions, by byte
  spans = 5,         // span entries without digest against predictions, by byte
  digests = 6,       // a byte a span: 1 where the digest is not as predicted
  digest_bytes = 7,  // those digests
  // The following are in order of lanes' appearance, and within a lane in order of its words:
  items = 8,        // varints: frame by shape, or a run of raw words
  shape_sizes = 9,  // varint: packets behind the four guaranteed ones, of each new shape
  shape_keys = 10,  // u32 a packet of each new shape, by byte
  identities = 11,  // u32 a frame against the frame before, by byte
  host_ids = 12,    // likewise
  starts = 13,      // u32 a frame: time from the frame before to the first marker, by byte
  times_low = 14,   // low byte of the time from the marker before
  times_high = 15,  // its next byte
  times_long = 16,  // varints, where 16 bits (32 for starts) do not do
  sums = 17,        // u32 a zone total, by byte
  payload = 18,     // u32, by byte
  raw = 19,         // u32, words that are no frame
  count
};

enum class SectionCodec : uint16_t {
  stored = 0,
  zstd = 1,
  keys = 2,  // of shape_keys: one zstd frame of what collector/capture/key_codec.hpp makes of them
};

struct SectionEntry {
  Section section{};
  SectionCodec codec = SectionCodec::stored;
  uint32_t raw_bytes = 0;
  uint32_t stored_bytes = 0;
  uint32_t reserved = 0;
};
static_assert(offsetof(SectionEntry, section) == 0 && offsetof(SectionEntry, codec) == 2 &&
              offsetof(SectionEntry, raw_bytes) == 4 && offsetof(SectionEntry, stored_bytes) == 8 &&
              offsetof(SectionEntry, reserved) == 12 && sizeof(SectionEntry) == 16 &&
              std::is_trivially_copyable_v<SectionEntry> && std::is_standard_layout_v<SectionEntry>);

// The index block holds one section, `stored` or `zstd`: an entry for each block of chunks before it.
inline constexpr Section kIndexSection{100};
struct IndexEntry {
  uint64_t offset = 0;
  BlockHeader header;
};
static_assert(offsetof(IndexEntry, offset) == 0 && offsetof(IndexEntry, header) == 8 &&
              sizeof(IndexEntry) == 136 && std::is_trivially_copyable_v<IndexEntry> &&
              std::is_standard_layout_v<IndexEntry>);

inline constexpr uint64_t kTrailerMagic = 0x646e'6563'7474'7474;  // text "ttttcend"
// The last bytes of a file that was ended in order, in the padding of its index block.
struct Trailer {
  uint64_t index_offset = 0;
  uint64_t blocks = 0;
  uint64_t checksum = 0;  // XXH3-64 of the bytes before it
  uint64_t magic = kTrailerMagic;
};
static_assert(offsetof(Trailer, index_offset) == 0 && offsetof(Trailer, blocks) == 8 &&
              offsetof(Trailer, checksum) == 16 && offsetof(Trailer, magic) == 24 && sizeof(Trailer) == 32 &&
              std::is_trivially_copyable_v<Trailer> && std::is_standard_layout_v<Trailer>);

}  // namespace ttc::collect

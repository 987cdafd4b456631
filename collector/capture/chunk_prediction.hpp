// What a chunk of words is expected to look like after the one before it of its core: what is stored of heads
// and spans is how they differ from that (FORMAT.md, sections 3 to 5).
#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "collector/capture/lane_columns.hpp"

namespace ttc::collect {

using shm::ChunkHeader;
using shm::ChunkKind;
using shm::SpanEntry;

constexpr size_t kRiscs = 8;  // largest number in columns; chunks with other RISCs are kept as they are
constexpr size_t kCores = 0x10000;
constexpr uint32_t kFirstData = sizeof(ChunkHeader) + 5 * sizeof(SpanEntry);  // where a collector puts it
constexpr size_t kSpanRow = 16;  // a span entry without its digest

constexpr uint32_t align8(uint32_t bytes) {
  return (bytes + 7) & ~7u;
}

// What is known of a core and of its lanes when their next chunk is predicted.
struct CorePast {
  ChunkHeader header;
  uint32_t next_word[kRiscs] = {};
  uint32_t lane[kRiscs];
};

struct HeadPast {
  uint64_t sequence = ~uint64_t{0};
  uint64_t read_time_ns = 0;
};

using Row = std::array<uint8_t, sizeof(ChunkHeader)>;

inline void xor_with(Row& row, const ChunkHeader& header) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&header);
  for (size_t i = 0; i < row.size(); ++i) row[i] ^= bytes[i];
}
// Fields that count are differences, all others are or-ed exclusively with the core's last header.
inline Row row_of(const ChunkHeader& h, const CorePast& core, const HeadPast& past, uint32_t expected_bytes) {
  Row row;
  std::memcpy(row.data(), &h, sizeof h);
  xor_with(row, core.header);
  ChunkHeader d;
  d.bytes = h.bytes - expected_bytes;
  d.sequence = h.sequence - past.sequence - 1;
  d.read_time_ns = h.read_time_ns - past.read_time_ns;
  d.run_counter = h.run_counter - core.header.run_counter;
  const auto put = [&](auto member, size_t offset) {
    std::memcpy(row.data() + offset, &member, sizeof member);
  };
  put(d.bytes, offsetof(ChunkHeader, bytes));
  put(d.sequence, offsetof(ChunkHeader, sequence));
  put(d.read_time_ns, offsetof(ChunkHeader, read_time_ns));
  put(d.run_counter, offsetof(ChunkHeader, run_counter));
  return row;
}
// `bytes` stays a difference: what is expected depends on spans.
inline ChunkHeader header_from(Row row, const CorePast& core, const HeadPast& past) {
  ChunkHeader d;
  std::memcpy(static_cast<void*>(&d), row.data(), sizeof d);
  xor_with(row, core.header);
  ChunkHeader h;
  std::memcpy(static_cast<void*>(&h), row.data(), sizeof h);
  h.bytes = d.bytes;
  h.sequence = d.sequence + past.sequence + 1;
  h.read_time_ns = d.read_time_ns + past.read_time_ns;
  h.run_counter = d.run_counter + core.header.run_counter;
  return h;
}

// Rows of equal length by column: all first bytes, then all second ones. Most columns are all zeros then.
inline void transpose(std::span<const uint8_t> rows, size_t width, SectionBytes& to) {
  const size_t n = rows.size() / width;
  to.resize(rows.size());
  for (size_t i = 0; i < n; ++i)
    for (size_t b = 0; b < width; ++b) to[b * n + i] = rows[i * width + b];
}
inline SectionBytes transposed_back(std::span<const uint8_t> columns, size_t width) {
  const size_t n = columns.size() / width;
  SectionBytes rows(n * width);
  for (size_t b = 0; b < width; ++b)
    for (size_t i = 0; i < n; ++i) rows[i * width + b] = columns[b * n + i];
  return rows;
}

// Words of one span on their way between a chunk and the columns of its lane.
struct SpanPlace {
  uint32_t lane;
  uint32_t words;
  const uint32_t* at;
  const uint8_t* digest;
};

// Sorts the places by lane; those of a lane keep their order.
inline std::vector<SpanPlace> by_lane(const std::vector<SpanPlace>& places, size_t lanes) {
  std::vector<size_t> begin(lanes + 1, 0);
  for (const SpanPlace& p : places) ++begin[p.lane + 1];
  for (size_t i = 0; i < lanes; ++i) begin[i + 1] += begin[i];
  std::vector<SpanPlace> sorted(places.size());
  for (const SpanPlace& p : places) sorted[begin[p.lane]++] = p;
  return sorted;
}

}  // namespace ttc::collect

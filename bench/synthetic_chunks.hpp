// What a collector would have published of lanes that synthetic_log.hpp wrote: session, names, words.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/synthetic_log.hpp"
#include "firmware_markers/decoder.hpp"
#include "shm/chunk.hpp"
#include "ttcollect/clock_segment.hpp"

namespace ttc::bench {

using Chunk = std::vector<uint64_t>;
inline constexpr size_t kSpanBytes = 4 << 10;  // some dozen frames of a lane: what a busy visit brings

inline Chunk text_chunk(shm::ChunkKind kind, const std::string& text) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  h.kind = kind;
  Chunk chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, text.data(), text.size());
  return chunk;
}

// A clock of 1 GHz that covers all that synthetic lanes show.
inline Chunk clock_chunk() {
  collect::ClockHead head;
  head.largest_hz = 1'200'000'000;
  collect::ClockSegment s = collect::clock_segment_between(
      1'000'000'000, uint64_t{1} << 40, 1'000'000'000'000, (uint64_t{1} << 40) + 999'000'000'000 * 16);
  s.flags = collect::kFinalSegment;
  s.kind = collect::BoundKind::conditional;
  s.bound = s.hard_bound = 100 * collect::kHostTicksPerNs;
  collect::set_pace_error(s, 1e-8);
  std::string body(sizeof head + sizeof s, '\0');
  std::memcpy(body.data(), &head, sizeof head);
  std::memcpy(body.data() + sizeof head, &s, sizeof s);
  if (const std::string why = collect::check_clock_body(std::span<const char>(body)); !why.empty())
    std::puts(why.c_str()), std::exit(1);
  return text_chunk(shm::ChunkKind::clock, body);
}

inline std::string remarks_of(const emulation::ZoneCatalog& zones) {
  std::string remarks;
  for (const auto* z : zones.firmware_zones()) remarks += z->zone_string + '\n';
  for (uint32_t i = 0; i < zones.kernel_zones(); ++i)
    for (const auto* z : zones.kernel_zones_of(i)) remarks += z->zone_string + '\n';
  return remarks;
}

// One lane, cut into spans, and the place of the next one.
struct LaneFeed {
  LaneLog log;
  std::vector<std::span<const uint32_t>> pieces;
  markers::LaneDecoder past;  // for the digests
  uint32_t offset = 0;
};

inline Chunk words_chunk(std::vector<LaneFeed>& lanes, size_t piece, uint8_t x, uint8_t y,
                         markers::Batch& scratch) {
  shm::ChunkHeader h;
  h.kind = shm::ChunkKind::device_words;
  h.core_x = x;
  h.core_y = y;
  h.generation = 4;
  h.flat_id = lanes[0].log.lane.flat_id;
  h.span_count = static_cast<uint8_t>(lanes.size());
  h.read_time_ns = (uint64_t{1} << 40) / collect::kHostTicksPerNs + 200'000'000'000;  // behind all markers
  size_t bytes = sizeof h + lanes.size() * sizeof(shm::SpanEntry);
  std::vector<shm::SpanEntry> spans;
  for (LaneFeed& lane : lanes) {
    shm::SpanEntry s;
    s.risc = lane.log.lane.risc;
    s.word_offset = lane.offset;
    s.word_count = static_cast<uint32_t>(lane.pieces[piece].size());
    s.data_offset = static_cast<uint32_t>(bytes);
    std::memcpy(s.digest, &lane.past.digest(), sizeof s.digest);
    spans.push_back(s);
    bytes += (s.word_count * 4 + 7) & ~size_t{7};
    lane.offset += s.word_count;
    scratch.clear();
    lane.past.decode(lane.pieces[piece], scratch);
  }
  h.bytes = static_cast<uint32_t>(bytes);
  Chunk chunk((bytes + 7) / 8);
  auto* to = reinterpret_cast<char*>(chunk.data());
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, spans.data(), spans.size() * sizeof(shm::SpanEntry));
  for (size_t i = 0; i < lanes.size(); ++i)
    std::memcpy(to + spans[i].data_offset, lanes[i].pieces[piece].data(),
                lanes[i].pieces[piece].size_bytes());
  if (const std::string why = shm::check_chunk(chunk); !why.empty()) std::puts(why.c_str()), std::exit(1);
  return chunk;
}

// About `bytes` of words on so many cores, as visits that go round the cores and bring `span_bytes` of each lane, or one launch.
inline std::vector<Chunk> make_chunks(const LogShape& shape, size_t bytes, uint8_t cores,
                                      size_t span_bytes = kSpanBytes) {
  const emulation::ZoneCatalog zones(shape.most_zones);
  std::vector<Chunk> chunks{
      text_chunk(
          shm::ChunkKind::session,
          R"({"device":"emu:bench","chip":0,"arch":"wormhole_b0","aiclk_mhz":1000,"max_compute_cores":64})"),
      text_chunk(shm::ChunkKind::names, remarks_of(zones))};
  markers::Batch scratch;
  std::vector<std::vector<LaneFeed>> feeds(cores);
  size_t least = ~size_t{0};
  for (uint8_t core = 0; core < cores; ++core)
    for (uint8_t r = 0; r < device::kMaxRiscs; ++r) {
      LaneLog log = make_lane_log(bytes / cores / device::kMaxRiscs, r, core, shape, zones, core * 5u + r);
      const markers::Lane lane = log.lane;
      feeds[core].push_back({std::move(log), {}, markers::LaneDecoder(lane)});
      feeds[core].back().pieces = pieces_of(feeds[core].back().log, span_bytes);
      least = std::min(least, feeds[core].back().pieces.size());
    }
  for (size_t piece = 0; piece < least; ++piece)
    for (uint8_t core = 0; core < cores; ++core)
      chunks.push_back(words_chunk(feeds[core], piece, static_cast<uint8_t>(1 + core % 8),
                                   static_cast<uint8_t>(2 + core / 8), scratch));
  for (size_t i = 0; i < chunks.size(); ++i)
    reinterpret_cast<shm::ChunkHeader*>(chunks[i].data())->sequence = i;
  return chunks;
}

// What the benchmarks share: eight cores, as much as the machine's caches do not hold.
inline std::vector<Chunk> make_chunks(const LogShape& shape) {
  return make_chunks(shape, working_set(), 8);
}

}  // namespace ttc::bench

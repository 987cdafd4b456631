// Blocks give back what went in, whatever went in: frames of every shape, words that are no frames, chunks
// that no collector would write. Random cases print their seed.
#include "collector/capture/block_codec.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/capture_blocks.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

void expect_same(const std::vector<Chunk>& chunks, const std::string& what) {
  static BlockDecoder decoder;  // of all cases: what an earlier block left in its memory must not show
  ChunkBatch in, out;
  for (const Chunk& c : chunks) in.add(c);
  AlignedBytes block;
  const BlockHeader h = BlockEncoder().encode(in, 9, block);
  ASSERT_EQ(h.bytes, block.size()) << what;
  ASSERT_EQ(h.bytes % kCaptureAlign, 0u) << what;
  ASSERT_EQ(check_block_header(block.bytes()), "") << what;
  decoder.decode(block.bytes(), false, out);
  ASSERT_EQ(out.size(), chunks.size()) << what;
  for (size_t i = 0; i < chunks.size(); ++i)
    ASSERT_TRUE(std::equal(out[i].begin(), out[i].end(), chunks[i].begin(), chunks[i].end()))
        << what << ", chunk " << i;
}

std::vector<uint32_t> frames(unsigned count, unsigned zones, uint64_t seed, uint64_t from = 5'000'000'000) {
  std::mt19937_64 dice(seed);
  std::vector<uint32_t> words;
  for (unsigned i = 0; i < count; ++i) append_frame(words, 0x63, 10 + i, from, zones, dice);
  return words;
}

TEST(BlockCodec, frames_come_back_and_take_little_room) {
  std::vector<Chunk> chunks;
  uint32_t at = 0;
  for (unsigned i = 0; i < 20; ++i) {
    const auto words = frames(30, 5, i, 5'000'000'000 + i * 1'000'000);
    chunks.push_back(words_chunk(1, 2, i, {{0, at, words}, {1, at, words}, {4, at, words}}));
    at += static_cast<uint32_t>(words.size());
  }
  expect_same(chunks, "frames");
  ChunkBatch in;
  for (const Chunk& c : chunks) in.add(c);
  AlignedBytes block;
  const BlockHeader h = BlockEncoder().encode(in, 0, block);
  EXPECT_EQ(h.markers, 20u * 3 * 30 * 14);
  EXPECT_LT(static_cast<double>(h.content_bytes) / h.markers, 2.5);
  EXPECT_EQ(h.cycles_from / 1000, 5'000'000u);
  EXPECT_GT(h.cycles_to, 5'019'000'000u);
  EXPECT_EQ(h.lane_from, lane_number(0, 1, 2, 0));
  EXPECT_EQ(h.lane_to, lane_number(0, 1, 2, 4));
}

TEST(BlockCodec, nothing_and_next_to_nothing) {
  expect_same({}, "no chunk");
  expect_same({fact_chunk(shm::ChunkKind::names, 0, "")}, "an empty body");
  expect_same({words_chunk(1, 1, 0, {})}, "no span");
  expect_same({words_chunk(1, 1, 0, {{0, 0, {}}})}, "no word");
  for (uint64_t n = 1; n < 14; ++n)
    expect_same({words_chunk(1, 1, 0, {{0, 7, std::vector<uint32_t>(n, 0)}})}, std::to_string(n) + " zeros");
}

TEST(BlockCodec, every_prefix_of_a_log_comes_back) {
  const auto words = frames(3, 3, 1);
  for (size_t n = 0; n <= words.size(); ++n)
    expect_same({words_chunk(1, 1, 0, {{0, 0, {words.begin(), words.begin() + static_cast<long>(n)}}})},
                std::to_string(n) + " words");
}

TEST(BlockCodec, every_bit_of_a_log_counts) {
  auto words = frames(2, 2, 1);
  for (size_t bit = 0; bit < words.size() * 32; ++bit) {
    words[bit / 32] ^= 1u << bit % 32;
    expect_same({words_chunk(1, 1, 0, {{0, 0, words}})}, "bit " + std::to_string(bit));
    words[bit / 32] ^= 1u << bit % 32;
  }
}

TEST(BlockCodec, times_at_every_edge) {
  for (const uint64_t from :
       {uint64_t{0}, (uint64_t{1} << 32) - 100, (uint64_t{1} << 44) - 300, uint64_t{1} << 43})
    expect_same({words_chunk(1, 1, 0, {{0, 0, frames(4, 4, 2, from)}})}, "from " + std::to_string(from));
}

TEST(BlockCodec, kinds_that_are_not_known_are_kept) {
  expect_same({fact_chunk(static_cast<shm::ChunkKind>(31), 4, "later"),
               fact_chunk(static_cast<shm::ChunkKind>(60000), 5, "x")},
              "unknown kinds");
}

TEST(BlockCodec, a_time_range_never_leaves_a_marker_out) {
  // A block whose counter wraps claims all times.
  ChunkBatch in;
  in.add(words_chunk(1, 1, 0, {{0, 0, frames(4, 4, 2, (uint64_t{1} << 44) - 300)}}));
  AlignedBytes block;
  const BlockHeader h = BlockEncoder().encode(in, 0, block);
  EXPECT_EQ(h.cycles_from, 0u);
  EXPECT_EQ(h.cycles_to, (uint64_t{1} << 44) - 1);
}

// Chunks as they might be: frames, damaged frames, noise, empty spans, odd RISCs, spans in any order.
std::vector<Chunk> random_chunks(uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::vector<Chunk> chunks;
  uint64_t time = dice() % 4 ? 5'000'000'000 : dice();
  for (uint64_t i = 0, n = 1 + dice() % 30; i < n; ++i) {
    if (dice() % 5 == 0) {
      std::string body(dice() % 200, '\0');
      for (char& c : body) c = static_cast<char>(dice());
      chunks.push_back(fact_chunk(dice() % 2 ? shm::ChunkKind::names : shm::ChunkKind::clock, dice(), body));
      continue;
    }
    std::vector<LaneWords> lanes;
    for (uint64_t l = 0, m = dice() % 6; l < m; ++l) {
      LaneWords lane;
      lane.risc = static_cast<uint8_t>(dice() % 10 ? dice() % 5 : dice());
      lane.word_offset = static_cast<uint32_t>(dice() % 3 ? dice() % 1000 : dice());
      lane.source = dice() % 8 ? shm::SpanSource::dram_log : shm::SpanSource::l1_buffer;
      for (uint64_t f = 0, k = dice() % 5; f < k; ++f) {
        append_frame(lane.words, static_cast<uint32_t>(0x60 + lane.risc), static_cast<uint32_t>(i + f), time,
                     static_cast<unsigned>(dice() % 4), dice);
        if (dice() % 3 == 0) {  // packets with payload, totals, unset slots, padding
          const uint32_t type = static_cast<uint32_t>(dice() % 8);
          lane.words.push_back(device::marker_high(type, static_cast<uint32_t>(dice()), 1));
          for (uint64_t w = 0, size = dice() % 6; w < size; ++w)
            lane.words.push_back(static_cast<uint32_t>(dice()));
        }
        if (dice() % 3 == 0) lane.words.push_back(device::kUnsetWord), lane.words.push_back(0);
        if (dice() % 4 == 0 && lane.words.size() > 12)
          lane.words[lane.words.size() - 1 - dice() % 12] =
              dice() % 2 ? device::kUnsetWord : static_cast<uint32_t>(dice());
      }
      for (uint64_t w = 0, k = dice() % 4 ? 0 : dice() % 40; w < k; ++w)
        lane.words.push_back(static_cast<uint32_t>(dice() % 3 ? dice() : 0));
      lanes.push_back(std::move(lane));
    }
    chunks.push_back(words_chunk(static_cast<uint8_t>(dice() % 3), static_cast<uint8_t>(dice() % 3),
                                 dice() % 4 ? i : dice(), lanes, dice() % 4 ? 1000 + i : dice()));
  }
  return chunks;
}

TEST(BlockCodec, random_chunks_come_back) {
  const char* given = std::getenv("TTC_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  for (uint64_t seed = first; seed < first + (given ? 1 : 1500); ++seed) {
    expect_same(random_chunks(seed), "TTC_SEED=" + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

// Spans that overlap or lie in any order are no collector's, and still come back.
TEST(BlockCodec, spans_may_overlap) {
  Chunk chunk = words_chunk(1, 1, 0, {{0, 0, frames(1, 1, 1)}, {1, 0, frames(1, 1, 2)}});
  auto* spans = reinterpret_cast<shm::SpanEntry*>(chunk.data() + sizeof(shm::ChunkHeader) / 8);
  spans[1].data_offset = spans[0].data_offset + 8;
  spans[1].word_count = spans[0].word_count - 2;
  Chunk seen = chunk;  // the rest of the second span's words belongs to no span now
  const size_t end = spans[0].data_offset + spans[0].word_count * 4;
  std::memset(reinterpret_cast<char*>(seen.data()) + end, 0, seen.size() * 8 - end);
  ChunkBatch in, out;
  in.add(chunk);
  AlignedBytes block;
  BlockEncoder().encode(in, 0, block);
  BlockDecoder().decode(block.bytes(), false, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(std::equal(out[0].begin(), out[0].end(), seen.begin(), seen.end()));
}

TEST(BlockCodec, a_block_comes_behind_what_was_there_and_a_bad_one_leaves_that_alone) {
  ChunkBatch first, second, out;
  first.add(words_chunk(1, 1, 0, {{0, 0, frames(40, 2, 1)}}));
  second.add(words_chunk(1, 1, 1, {{0, 0, frames(3, 5, 2)}}));
  second.add(fact_chunk(shm::ChunkKind::names, 2, "A,B,1,KERNEL_PROFILER\n"));
  AlignedBytes one, two;
  BlockEncoder encoder;
  encoder.encode(first, 0, one);
  BlockHeader h = encoder.encode(second, 1, two);
  BlockDecoder decoder;
  decoder.decode(one.bytes(), false, out);
  // The same contents with a header of one chunk more: detected only when all others were put together.
  ++h.chunks;
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  AlignedBytes bad;
  bad.resize(two.size());
  std::memcpy(bad.data(), two.data(), two.size());
  std::memcpy(bad.data(), &h, sizeof h);
  EXPECT_THROW(decoder.decode(bad.bytes(), false, out), BlockError);
  // A length above the real one: detected after them.
  --h.chunks, h.raw_bytes += 8;
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  std::memcpy(bad.data(), &h, sizeof h);
  EXPECT_THROW(decoder.decode(bad.bytes(), false, out), BlockError);
  ASSERT_EQ(out.size(), 1u);
  decoder.decode(two.bytes(), false, out);
  ASSERT_EQ(out.size(), 3u);
  const auto same = [](std::span<const uint64_t> a, std::span<const uint64_t> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  EXPECT_TRUE(same(out[0], first[0]) && same(out[1], second[0]) && same(out[2], second[1]));
  EXPECT_EQ(out.bytes(), first.bytes() + second.bytes());
}

TEST(BlockCodec, facts_alone_can_be_had) {
  ChunkBatch in, out;
  in.add(fact_chunk(shm::ChunkKind::session, 0, "{}"));
  in.add(words_chunk(1, 1, 0, {{0, 0, frames(3, 2, 1)}}));
  in.add(fact_chunk(shm::ChunkKind::names, 1, "A,B,1,KERNEL_PROFILER\n"));
  AlignedBytes block;
  const BlockHeader h = BlockEncoder().encode(in, 0, block);
  BlockDecoder().decode(block.bytes().first(h.facts_end), true, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_TRUE(std::equal(out[1].begin(), out[1].end(), in[2].begin(), in[2].end()));
}

// Checksums protect the decoder; without them it must hold by itself.
TEST(BlockCodec, a_section_of_any_other_length_or_content_gives_an_answer) {
  ChunkBatch in;
  in.add(fact_chunk(shm::ChunkKind::session, 0, "{}"));
  in.add(words_chunk(1, 1, 0, {{0, 0, frames(3, 2, 1)}, {1, 0, frames(1, 2, 1)}}));
  AlignedBytes block;
  const BlockHeader h = BlockEncoder().encode(in, 0, block);
  std::mt19937_64 dice(4);
  unsigned refused = 0;
  for (unsigned round = 0; round < 20000; ++round) {
    AlignedBytes other;
    other.resize(block.size());
    std::memcpy(other.data(), block.data(), block.size());
    for (uint64_t n = 1 + dice() % 3; n; --n) {
      const size_t at = sizeof h + dice() % (h.content_bytes - sizeof h);
      other.data()[at] ^= static_cast<std::byte>(1u << dice() % 8);
    }
    BlockHeader sealed = h;
    sealed.content_checksum = checksum_of(other.data() + sizeof h, h.content_bytes - sizeof h);
    sealed.header_checksum = checksum_of(&sealed, offsetof(BlockHeader, header_checksum));
    std::memcpy(other.data(), &sealed, sizeof sealed);
    ChunkBatch out;
    try {
      BlockDecoder().decode(other.bytes(), false, out);
      for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(shm::check_chunk(out[i]), "") << "round " << round;
    } catch (const BlockError& e) {
      ++refused;
      EXPECT_NE(std::string(e.what()), "");
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace ttc::collect

// check_chunk(): what passes is safe to take apart; what is not safe does not pass.
#include "shm/chunk.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ttc::shm {
namespace {

constexpr uint32_t kTableEnd = sizeof(ChunkHeader) + 2 * sizeof(SpanEntry);

// Two spans: 10 words at the table's end, 6 words behind them.
std::vector<uint64_t> sound() {
  std::vector<uint64_t> chunk((kTableEnd + 64) / 8);
  auto& h = *new (chunk.data()) ChunkHeader;
  h.bytes = kTableEnd + 64;
  h.kind = ChunkKind::device_words;
  h.span_count = 2;
  auto* spans = new (chunk.data() + 8) SpanEntry[2];
  spans[0].word_count = 10;
  spans[0].data_offset = kTableEnd;
  spans[1].word_count = 6;
  spans[1].data_offset = kTableEnd + 40;
  auto* words = reinterpret_cast<uint32_t*>(chunk.data()) + kTableEnd / 4;
  for (uint32_t i = 0; i < 16; ++i) words[i] = 100 + i;
  return chunk;
}
ChunkHeader& header(std::vector<uint64_t>& chunk) {
  return *reinterpret_cast<ChunkHeader*>(chunk.data());
}
SpanEntry& span(std::vector<uint64_t>& chunk, size_t i) {
  return reinterpret_cast<SpanEntry*>(chunk.data() + 8)[i];
}

// Takes everything apart that check_chunk() accepted; asan detects a step outside.
uint64_t take_apart(const std::vector<uint64_t>& chunk) {
  uint64_t sum = 0;
  for (const char c : body_of(chunk)) sum += static_cast<unsigned char>(c);
  if (header_of(chunk).kind == ChunkKind::device_words)
    for (const SpanEntry& s : spans_of(chunk))
      for (const uint32_t w : words_of(chunk, s)) sum += w;
  if (header_of(chunk).kind == ChunkKind::loss) {
    LossRecord record;
    std::memcpy(&record, body_of(chunk).data(), sizeof record);
    sum += record.id;
  }
  return sum;
}

TEST(Chunk, a_sound_one_passes_and_comes_apart) {
  const auto chunk = sound();
  ASSERT_EQ(check_chunk(chunk), "");
  const auto spans = spans_of(chunk);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(words_of(chunk, spans[0]).size(), 10u);
  EXPECT_EQ(words_of(chunk, spans[0])[9], 109u);
  EXPECT_EQ(words_of(chunk, spans[1])[0], 110u);
  EXPECT_EQ(body_of(chunk).size(), header_of(chunk).bytes - 64);
}

TEST(Chunk, fewer_bytes_than_a_header_are_no_chunk) {
  for (size_t words = 0; words < 8; ++words)
    EXPECT_NE(check_chunk(std::vector<uint64_t>(words, 64)), "") << words;
}

TEST(Chunk, the_length_field_must_agree_with_the_length) {
  for (const uint32_t length : {0u, 1u, 63u, 64u, kTableEnd, kTableEnd + 56, kTableEnd + 65, kTableEnd + 72,
                                0x80000000u, 0xfffffff8u, 0xfffffff9u, 0xffffffffu}) {
    auto chunk = sound();
    header(chunk).bytes = length;
    EXPECT_NE(check_chunk(chunk), "") << length;
  }
  auto chunk = sound();
  span(chunk, 1).word_count = 4;
  for (uint32_t less = 1; less < 8; ++less) {  // the last word need not be full
    header(chunk).bytes = kTableEnd + 64 - less;
    EXPECT_EQ(check_chunk(chunk), "") << less;
  }
}

TEST(Chunk, the_span_table_must_lie_inside) {
  for (unsigned count = 0; count < 256; ++count) {
    auto chunk = sound();
    header(chunk).span_count = static_cast<uint8_t>(count);
    const bool fits = count <= 2;
    EXPECT_EQ(check_chunk(chunk).empty(), fits) << count;
  }
}

TEST(Chunk, span_data_must_lie_behind_the_table_inside_the_chunk_and_aligned) {
  for (const uint32_t offset : {0u, 8u, 64u, kTableEnd - 8, kTableEnd + 1, kTableEnd + 4, kTableEnd + 48,
                                kTableEnd + 64, kTableEnd + 72, 0x7ffffff8u, 0xfffffff8u, 0xffffffffu})
    for (const size_t which : {0, 1}) {
      auto chunk = sound();
      span(chunk, which).data_offset = offset;
      EXPECT_NE(check_chunk(chunk), "") << "span " << which << " at " << offset;
    }
  for (const uint32_t words :
       {7u, 8u, 17u, 0x3fffffffu, 0x40000000u, 0x40000001u, 0x80000000u, 0xffffffffu}) {
    auto chunk = sound();
    span(chunk, 1).word_count = words;
    EXPECT_NE(check_chunk(chunk), "") << words << " words";
  }
  auto chunk = sound();
  span(chunk, 1).data_offset = kTableEnd + 64;  // nothing, at the very end
  span(chunk, 1).word_count = 0;
  EXPECT_EQ(check_chunk(chunk), "");
  EXPECT_EQ(words_of(chunk, span(chunk, 1)).size(), 0u);
}

TEST(Chunk, the_sentence_names_the_span) {
  auto chunk = sound();
  span(chunk, 1).word_count = 100;
  EXPECT_NE(check_chunk(chunk).find("span 1"), std::string::npos);
}

TEST(Chunk, a_loss_record_must_be_whole) {
  for (uint32_t body = 0; body < 80; ++body) {
    std::vector<uint64_t> chunk((64 + body + 7) / 8);
    auto& h = *new (chunk.data()) ChunkHeader;
    h.bytes = 64 + body;
    h.kind = ChunkKind::loss;
    EXPECT_EQ(check_chunk(chunk).empty(), body >= sizeof(LossRecord)) << body;
  }
}

TEST(Chunk, kinds_not_known_yet_pass_by_length_alone) {
  std::vector<uint64_t> chunk(20);
  auto& h = *new (chunk.data()) ChunkHeader;
  h.bytes = 157;
  h.kind = static_cast<ChunkKind>(999);
  h.span_count = 255;
  EXPECT_EQ(check_chunk(chunk), "");
  EXPECT_EQ(body_of(chunk).size(), 93u);
}

TEST(Chunk, whatever_bit_is_flipped_what_passes_comes_apart) {
  const auto whole = sound();
  int passed = 0;
  for (size_t bit = 0; bit < whole.size() * 64; ++bit) {
    auto chunk = whole;
    chunk[bit / 64] ^= uint64_t{1} << bit % 64;
    if (!check_chunk(chunk).empty()) continue;
    ++passed;
    take_apart(chunk);
  }
  EXPECT_GT(passed, 1000);  // the words themselves and the digests are not checked here
}

TEST(Chunk, random_bytes_that_pass_come_apart) {
  uint64_t seed = 4242;
  RecordProperty("seed", std::to_string(seed));
  const auto random = [&] {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
  };
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint64_t> chunk(8 + random() % 60);
    for (uint64_t& w : chunk) w = random() & random() & random();
    auto& h = header(chunk);
    h.bytes = static_cast<uint32_t>(chunk.size() * 8 - random() % 8);
    h.kind = static_cast<ChunkKind>(random() % 7);
    h.span_count = static_cast<uint8_t>(random() % 5);
    for (unsigned s = 0; s < h.span_count && 64 + (s + 1) * sizeof(SpanEntry) <= chunk.size() * 8; ++s) {
      span(chunk, s).data_offset = static_cast<uint32_t>(random() % (chunk.size() + 4) * 8);
      span(chunk, s).word_count = static_cast<uint32_t>(random() % 100);
    }
    if (check_chunk(chunk).empty()) take_apart(chunk);
  }
}

TEST(Chunk, every_loss_cause_and_precision_has_a_text_also_those_from_foreign_bytes) {
  for (int i = 0; i < 256; ++i) {
    EXPECT_GT(std::strlen(to_string(static_cast<LossCause>(i))), 0u);
    EXPECT_GT(std::strlen(to_string(static_cast<LossPrecision>(i))), 0u);
  }
}

}  // namespace
}  // namespace ttc::shm

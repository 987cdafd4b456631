// Files of version 3: whole, without their index, cut at any length, with any bit flipped; what a filter
// reads; and the file of version 1 that is kept.
#include "collector/capture/capture_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/support/capture_blocks.hpp"
#include "tests/support/sanitized.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/workers.hpp"

namespace ttc::collect {
namespace {

Chunk launch_chunk(uint64_t n) {
  std::mt19937_64 dice(n);
  std::vector<uint32_t> words;
  uint64_t time = 1'000'000 * (n + 1);
  append_frame(words, 0x63, static_cast<uint32_t>(n), time, 2, dice);
  return words_chunk(static_cast<uint8_t>(1 + n % 2), 2, n, {{0, static_cast<uint32_t>(20 * n), words}},
                     1000 * (n + 1));
}

std::vector<std::vector<Chunk>> small_run() {
  return {
      {fact_chunk(shm::ChunkKind::session, 0, "{\"device\":\"emu:a\"}"), launch_chunk(0), launch_chunk(1)},
      {launch_chunk(2)},
      {launch_chunk(3), fact_chunk(shm::ChunkKind::names, 1, "A,B,1,KERNEL_PROFILER\n")}};
}

// The contents of tests/data/capture/version_1.ttc.
constexpr size_t kOldChunks = 8, kOldWords = 6676;
constexpr uint64_t kOldSum = 5369300964270305920u;
// The contents of tests/data/capture/version_2.ttc.
constexpr size_t kSecondChunks = 96, kSecondWords = 22824;
constexpr uint64_t kSecondSum = 6134738814181385858u;

// The contents of tests/data/capture/version_3.ttc.
constexpr size_t kThirdChunks = 96, kThirdWords = 13476, kThirdLosses = 48;
constexpr uint64_t kThirdSum = 2346456404013443373u;

struct Got {
  std::string refused;
  size_t chunks = 0, words = 0;
  bool cut = false, indexed = false;
  size_t damaged = 0;
  uint64_t blocks_read = 0, blocks_of_facts = 0;
};
Got read_all(const std::string& path, const Wanted& wanted = {}, unsigned threads = 1) {
  Got got;
  try {
    std::optional<jobs::Workers> workers;
    if (threads > 1) workers.emplace(threads);
    CaptureReader reader(path, wanted, workers ? &*workers : nullptr);
    got.indexed = reader.file().indexed();
    for (Chunk c; reader.next(c);) {
      EXPECT_EQ(shm::check_chunk(c), "");
      ++got.chunks;
      got.words += shm::header_of(c).kind == shm::ChunkKind::device_words;
    }
    Chunk behind;
    EXPECT_FALSE(reader.next(behind)) << "a chunk behind the end";
    got.cut = reader.cut();
    got.damaged = reader.damaged_parts();
    got.blocks_read = reader.blocks_read();
    got.blocks_of_facts = reader.blocks_of_facts();
    EXPECT_EQ(got.damaged != 0, !reader.damage().empty());
  } catch (const CaptureError& e) {
    got.refused = e.what();
    EXPECT_NE(got.refused.find(path), std::string::npos) << got.refused;
  }
  return got;
}

TEST(CaptureFile, a_whole_file_is_read_by_its_index_and_by_any_number_of_threads) {
  const MemoryFile file(file_of(small_run()));
  for (const unsigned threads : {1u, 2u, 4u}) {
    const Got got = read_all(file.path(), {}, threads);
    EXPECT_EQ(got.refused, "");
    EXPECT_EQ(got.chunks, 6u);
    EXPECT_TRUE(got.indexed);
    EXPECT_FALSE(got.cut);
    EXPECT_EQ(got.damaged, 0u);
  }
}

TEST(CaptureFile, chunks_that_are_kept_stay_when_the_reader_is_at_others) {
  std::vector<std::vector<Chunk>> run = small_run();
  for (uint64_t n = 4; n < 60; ++n) run.push_back({launch_chunk(n), launch_chunk(n + 100)});
  const MemoryFile file(file_of(run));
  std::vector<Chunk> copies;
  CaptureReader copied(file.path());
  for (Chunk c; copied.next(c);) copies.push_back(c);
  ASSERT_EQ(copies.size(), 6u + 2 * 56);
  for (const unsigned threads : {1u, 2u, 4u}) {
    std::optional<jobs::Workers> workers;
    if (threads > 1) workers.emplace(threads);
    std::vector<shm::KeptChunk> kept;  // every third: the memory of some blocks is used again
    {
      CaptureReader reader(file.path(), {}, workers ? &*workers : nullptr);
      size_t number = 0;
      for (shm::KeptChunk chunk; reader.next(chunk); ++number)
        if (number % 3 == 0) kept.push_back(chunk);
      EXPECT_EQ(number, copies.size());
    }
    for (size_t i = 0; i < kept.size(); ++i)
      EXPECT_TRUE(
          std::equal(kept[i].words.begin(), kept[i].words.end(), copies[3 * i].begin(), copies[3 * i].end()))
          << threads << " threads, chunk " << 3 * i;
  }
}

TEST(CaptureFile, without_an_index_the_blocks_are_found) {
  const MemoryFile file(file_of(small_run(), false));
  const Got got = read_all(file.path());
  EXPECT_EQ(got.chunks, 6u);
  EXPECT_FALSE(got.indexed);
  EXPECT_FALSE(got.cut);
}

TEST(CaptureFile, cut_at_any_length_it_gives_its_whole_blocks) {
  const auto run = small_run();
  const std::string whole = file_of(run);
  std::vector<size_t> ends{kCaptureAlign}, chunks{0};
  for (size_t n = 1; n <= run.size(); ++n) {
    ends.push_back(file_of({run.begin(), run.begin() + static_cast<long>(n)}, false).size());
    chunks.push_back(chunks.back() + run[n - 1].size());
  }
  const MemoryFile file(whole);
  for (size_t length = whole.size(); length-- > 0;) {
    if (kThreadSanitized && length % 61 != 0) continue;
    if (kSanitized && length % 7 != 0 && length % kCaptureAlign > 256) continue;
    file.cut(length);
    const Got got = read_all(file.path());
    if (length < kCaptureAlign) {
      if (length < sizeof(FileHeader)) {
        ASSERT_NE(got.refused, "") << length;
      }
      ASSERT_EQ(got.chunks, 0u) << length;
      continue;
    }
    size_t blocks = 0;
    while (blocks + 1 < ends.size() && ends[blocks + 1] <= length) ++blocks;
    ASSERT_EQ(got.refused, "") << length;
    ASSERT_EQ(got.chunks, chunks[blocks]) << length;
    ASSERT_EQ(got.cut, length != ends[blocks]) << length;
    ASSERT_EQ(got.damaged, 0u) << length;
  }
}

// Never a crash, never a chunk that was not there; and other blocks stay readable.
TEST(CaptureFile, any_flipped_bit_gives_an_answer) {
  const std::string whole = file_of(small_run());
  const MemoryFile file(whole);
  size_t silent = 0;
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    if (whole[bit / 8] == 0 && bit / 8 % 64 != 0) continue;  // of long runs of padding a sample
    if (kThreadSanitized && bit % 61 != 0) continue;
    file.flip(bit);
    const Got got = read_all(file.path());
    file.flip(bit);
    if (!got.refused.empty()) continue;
    ASSERT_LE(got.chunks, 6u) << "bit " << bit;
    ASSERT_GE(got.chunks, 3u) << "bit " << bit;  // at most one block is gone
    if (got.chunks == 6 && got.damaged == 0 && !got.cut)
      ++silent;  // padding, or the index: rebuilt
    else
      ASSERT_TRUE(got.damaged || got.cut) << "bit " << bit;
  }
  EXPECT_GT(silent, 0u);
}

TEST(CaptureFile, a_hole_between_blocks_is_leapt_over_and_reported) {
  auto run = small_run();
  std::string text = file_of({run[0], run[1]}, false);
  const std::string head = file_of({run[0]}, false);
  text.insert(head.size(), std::string(64 * kCaptureAlign, '\0'));
  const MemoryFile file(text);
  const Got got = read_all(file.path());
  EXPECT_EQ(got.chunks, 4u);
  EXPECT_EQ(got.damaged, 1u);
}

TEST(CaptureFile, a_filter_reads_only_the_blocks_it_needs) {
  std::vector<std::vector<Chunk>> run = small_run();
  for (uint64_t n = 4; n < 40; ++n) run.push_back({launch_chunk(n)});
  const MemoryFile file(file_of(run));
  Wanted wanted;
  wanted.read_from_ns = 1000 * 10, wanted.read_to_ns = 1000 * 12;
  Got got = read_all(file.path(), wanted, 2);
  EXPECT_EQ(got.words, 3u);
  EXPECT_EQ(got.blocks_read, 3u);
  EXPECT_EQ(got.blocks_of_facts, 2u);  // session and names are always read
  EXPECT_EQ(got.chunks, 5u);
  wanted = {};
  wanted.cycles_from = 20'000'000, wanted.cycles_to = 20'000'500;
  got = read_all(file.path(), wanted);
  EXPECT_EQ(got.blocks_read, 1u);
  wanted = {};
  wanted.lane_from = wanted.lane_to = lane_number(0, 9, 9, 0);
  EXPECT_EQ(read_all(file.path(), wanted).blocks_read, 0u);
}

TEST(CaptureFile, later_versions_and_other_files_are_refused) {
  std::string text = file_of(small_run());
  const uint32_t version = 4;
  FileHeader h;
  std::memcpy(static_cast<void*>(&h), text.data(), sizeof h);
  h.version = version;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  std::memcpy(text.data(), &h, sizeof h);
  const MemoryFile later(text), other(std::string(10000, 'x')), empty("");
  EXPECT_NE(read_all(later.path()).refused.find("version 4"), std::string::npos);
  EXPECT_NE(read_all(other.path()).refused, "");
  EXPECT_NE(read_all(empty.path()).refused, "");
}

// What a later minor writer may add: sections and unknown block kinds, longer headers.
TEST(CaptureFile, unknown_blocks_and_sections_are_skipped) {
  const auto run = small_run();
  ChunkBatch in;
  for (const Chunk& c : run[0]) in.add(c);
  AlignedBytes block;
  BlockHeader h = BlockEncoder().encode(in, 0, block);
  std::string text = text_of(block).substr(0, h.content_bytes);
  // One section more, behind all others, and a header that is 16 bytes longer.
  SectionEntry more;
  more.section = static_cast<Section>(77);
  more.raw_bytes = more.stored_bytes = 8;
  const size_t table_end = sizeof h + h.sections * sizeof(SectionEntry);
  text.insert(table_end, reinterpret_cast<const char*>(&more), sizeof more);
  text += "ABCDEFGH";
  text.insert(sizeof h, 16, 'h');
  h.header_bytes = sizeof h + 16;
  h.sections += 1;
  h.facts_end += sizeof more + 16;
  h.content_bytes = text.size();
  text.resize((text.size() + kCaptureAlign - 1) / kCaptureAlign * kCaptureAlign);
  h.bytes = text.size();
  h.content_checksum = checksum_of(text.data() + h.header_bytes, h.content_bytes - h.header_bytes);
  h.facts_checksum =
      static_cast<uint32_t>(checksum_of(text.data() + h.header_bytes, h.facts_end - h.header_bytes));
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  std::memcpy(text.data(), &h, sizeof h);
  std::string unknown = text;  // the same as a block of another kind
  h.kind = static_cast<BlockKind>(9);
  h.header_checksum = checksum_of(&h, offsetof(BlockHeader, header_checksum));
  std::memcpy(unknown.data(), &h, sizeof h);
  const MemoryFile file(file_header_text() + unknown + text);
  const Got got = read_all(file.path());
  EXPECT_EQ(got.chunks, 3u);
  EXPECT_EQ(got.damaged, 0u);
}

struct Old {
  uint32_t version = 0;
  size_t chunks = 0, words = 0, losses = 0;
  uint64_t sum = 0;
};
Old read_old(const char* name) {
  CaptureReader reader(std::string(TTC_TEST_DATA) + "/capture/" + name);
  Old old{reader.file().version()};
  for (Chunk c; reader.next(c); ++old.chunks) {
    old.losses += shm::header_of(c).kind == shm::ChunkKind::loss;
    if (shm::header_of(c).kind == shm::ChunkKind::device_words)
      for (const auto& span : shm::spans_of(c))
        for (const uint32_t w : shm::words_of(c, span)) ++old.words, old.sum = old.sum * 31 + w;
  }
  EXPECT_FALSE(reader.cut());
  EXPECT_EQ(reader.damage(), "");
  return old;
}

TEST(CaptureFile, the_old_file_of_version_1_is_read) {
  const Old old = read_old("version_1.ttc");
  EXPECT_EQ(old.version, 1u);
  EXPECT_EQ(old.chunks, kOldChunks);
  EXPECT_EQ(old.words, kOldWords);
  EXPECT_EQ(old.sum, kOldSum);
}

TEST(CaptureFile, the_old_file_of_version_2_is_read) {
  const Old old = read_old("version_2.ttc");
  EXPECT_EQ(old.version, 2u);
  EXPECT_EQ(old.chunks, kSecondChunks);
  EXPECT_EQ(old.words, kSecondWords);
  EXPECT_EQ(old.sum, kSecondSum);
}

// Written before loss records counted launches under that name: the layout is the same.
TEST(CaptureFile, the_old_file_of_version_3_is_read) {
  const Old old = read_old("version_3.ttc");
  EXPECT_EQ(old.version, 3u);
  EXPECT_EQ(old.chunks, kThirdChunks);
  EXPECT_EQ(old.words, kThirdWords);
  EXPECT_EQ(old.losses, kThirdLosses);
  EXPECT_EQ(old.sum, kThirdSum);
}

}  // namespace
}  // namespace ttc::collect

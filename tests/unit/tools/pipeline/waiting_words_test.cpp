// Chunks that wait come back whole and in order, and their memory is used again.
#include "tools/pipeline/waiting_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/kept_chunks.hpp"

namespace ttc::tools {
namespace {

TEST(WaitingWords, come_back_in_the_order_in_which_they_came) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::mt19937_64 dice(seed);
    WaitingWords waiting;
    std::deque<std::vector<uint64_t>> expected;
    uint64_t bytes = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (dice() % 100 < 52 && i < 15'000) {
        const bool large = dice() % 500 == 0;  // larger than a block, too
        std::vector<uint64_t> chunk(1 + dice() % (large ? 3 * WaitingWords::kBlockWords : 200));
        std::generate(chunk.begin(), chunk.end(), dice);
        if (dice() % 2)
          waiting.push(chunk);
        else if (const shm::KeptChunk kept = test::shared_chunk(chunk); true)
          waiting.push(kept.words, kept.memory);
        bytes += chunk.size() * 8;
        expected.push_back(std::move(chunk));
      } else if (!expected.empty()) {
        ASSERT_FALSE(waiting.empty());
        EXPECT_TRUE(std::equal(expected.front().begin(), expected.front().end(), waiting.front().begin(),
                               waiting.front().end()))
            << "seed " << seed;
        const WaitingWords::Chunk chunk = waiting.pop();
        EXPECT_TRUE(std::equal(expected.front().begin(), expected.front().end(), chunk.words.begin(),
                               chunk.words.end()))
            << "seed " << seed;
        bytes -= chunk.words.size_bytes();
        expected.pop_front();
      }
      ASSERT_EQ(waiting.bytes(), bytes);
      ASSERT_EQ(waiting.empty(), expected.empty());
    }
  }
}

TEST(WaitingWords, blocks_are_used_again) {
  WaitingWords waiting;
  const std::vector<uint64_t> chunk(100);
  std::set<uintptr_t> blocks;
  for (int round = 0; round < 50; ++round) {
    for (size_t words = 0; words < 3 * WaitingWords::kBlockWords; words += chunk.size()) waiting.push(chunk);
    while (!waiting.empty())
      blocks.insert(reinterpret_cast<uintptr_t>(waiting.pop().words.data()) /
                    (8 * WaitingWords::kBlockWords));
  }
  EXPECT_LE(blocks.size(), 2u * 4);  // a block lies in two places of that size
}

}  // namespace
}  // namespace ttc::tools

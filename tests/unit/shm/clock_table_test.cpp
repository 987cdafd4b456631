// The live clock table: whole or not at all, while the writer never waits.
#include "shm/clock_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace ttc::shm {
namespace {

struct Table {
  ClockTableControl control;
  std::unique_ptr<uint64_t[]> slots{new uint64_t[2 * kClockSlotWords]()};
  ClockTableWriter writer{control, slots.get()};
};

TEST(ClockTable, nothing_before_the_first_then_the_latest) {
  Table t;
  std::vector<uint64_t> words{1, 2};
  EXPECT_FALSE(read_clock_table(t.control, t.slots.get(), words));
  for (uint64_t n : {3, 1, 7}) {
    t.writer.publish(std::vector<uint64_t>(n, n));
    ASSERT_TRUE(read_clock_table(t.control, t.slots.get(), words));
    EXPECT_EQ(words, std::vector<uint64_t>(n, n));
  }
  t.writer.publish({});
  ASSERT_TRUE(read_clock_table(t.control, t.slots.get(), words));
  EXPECT_TRUE(words.empty());
}

TEST(ClockTable, a_length_that_cannot_be_is_refused) {
  Table t;
  t.writer.publish(std::vector<uint64_t>(3, 3));
  t.slots[kClockSlotWords] = kClockSlotWords;  // version 1
  std::vector<uint64_t> words;
  EXPECT_FALSE(read_clock_table(t.control, t.slots.get(), words));
}

// Every version holds its own number throughout, in a length that depends on it: a mixture would show.
TEST(ClockTable, readers_see_whole_versions_that_never_go_back) {
  Table t;
  constexpr uint64_t kVersions = 20000;
  std::atomic<bool> torn{false};
  const auto reader = [&] {
    std::vector<uint64_t> words;
    uint64_t last = 0;
    while (last < kVersions && !torn) {
      if (!read_clock_table(t.control, t.slots.get(), words)) continue;
      const uint64_t version = words.front();
      bool whole = words.size() == 1 + version % 61 && version >= last;
      for (const uint64_t word : words) whole = whole && word == version;
      if (!whole) torn = true;
      last = version;
    }
  };
  std::thread a(reader), b(reader);
  for (uint64_t v = 1; v <= kVersions; ++v) t.writer.publish(std::vector<uint64_t>(1 + v % 61, v));
  a.join();
  b.join();
  EXPECT_FALSE(torn);
}

}  // namespace
}  // namespace ttc::shm

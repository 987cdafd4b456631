// Records in a spill: read back from anywhere, sorted in runs, and merged over as many levels as it takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tools/report/text/record_sort.hpp"

namespace ttc::report {
namespace {

struct Pair {
  uint32_t key, number;
  bool operator==(const Pair&) const = default;
};
struct PairOrder {
  bool operator()(const Pair& a, const Pair& b) const {
    return std::pair(a.key, a.number) < std::pair(b.key, b.number);
  }
};

TEST(RecordSort, gives_what_sorting_in_memory_gives) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  // Runs of 1, 3 and 64 records: none, one and several levels of merging.
  for (const size_t run_records : {1, 3, 64})
    for (const uint32_t count : {0u, 1u, 63u, 64u, 65u, 3000u}) {
      RecordSort<Pair, PairOrder> sort(run_records * sizeof(Pair));
      std::vector<Pair> want, got;
      for (uint32_t i = 0; i < count; ++i) {
        const Pair p{static_cast<uint32_t>(random() % 50), i};
        want.push_back(p);
        sort.add(p);
      }
      std::sort(want.begin(), want.end(), PairOrder());
      sort.drain([&](const Pair& p) { got.push_back(p); });
      EXPECT_EQ(got, want) << run_records << " records a run, " << count << " in all";
      sort.drain([&](const Pair&) { FAIL() << "what was drained came again"; });
    }
}

TEST(Records, are_read_back_from_anywhere) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const size_t in_memory : {0, 100, 1 << 20}) {
    Records<Pair> records(in_memory);
    constexpr uint32_t kCount = 100'000;  // 800 kB: some windows of the spill
    for (uint32_t i = 0; i < kCount; ++i) records.push_back({i * 7, i});
    ASSERT_EQ(records.size(), kCount);
    for (int i = 0; i < 2000; ++i) {
      const auto at = static_cast<uint32_t>(random() % kCount);
      ASSERT_EQ(records[at], (Pair{at * 7, at}));
      if (at + 1 < kCount && i % 3 == 0) {
        ASSERT_EQ(records[at + 1], (Pair{(at + 1) * 7, at + 1}));
      }
    }
    uint32_t next = 0;
    for (const Pair& p : records) {
      ASSERT_EQ(p, (Pair{next * 7, next}));
      ++next;
    }
    std::vector<Pair> some(5000);
    records.read(kCount - some.size(), some.size(), some.data());
    EXPECT_EQ(some.front().number, kCount - some.size());
    EXPECT_EQ(some.back().number, kCount - 1);
  }
}

}  // namespace
}  // namespace ttc::report

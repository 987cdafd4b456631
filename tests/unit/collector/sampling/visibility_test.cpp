// How long markers take to readers, by plain clock segments.
#include "collector/sampling/visibility.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ttc::collect {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kBoundNs = 25;

// A card of 1 GHz whose counter was 0 at 0 ns, known up to `until_ns`.
ClockSegment known_until(uint64_t until_ns) {
  ClockSegment s;
  s.to_cycles = until_ns;  // from 0, which is host time 0
  s.shift = 0;
  s.scale = kHostTicksPerNs;  // ticks a cycle
  s.host_to = until_ns * kHostTicksPerNs;
  s.bound = s.hard_bound = kBoundNs * kHostTicksPerNs;
  s.kind = BoundKind::hard;
  s.flags = kFinalSegment;
  return s;
}

struct Measured {
  std::vector<uint64_t> after, bounds;
  Visibility visibility{[this](uint64_t after_ns, uint64_t bound_ns) {
    after.push_back(after_ns);
    bounds.push_back(bound_ns);
  }};
  void settle(uint64_t until_ns, uint64_t spread_ns = 7, size_t domain = 0) {
    ClockHead head;
    head.tile_spread = spread_ns * kHostTicksPerNs;
    const ClockSegment segment = known_until(until_ns);
    visibility.settle(domain, head, {&segment, 1}, until_ns);
  }
};

constexpr ClockSampler::Place kReference{0, true}, kOther{0, false}, kOfNoDomain{};

TEST(Visibility, from_the_markers_time_to_its_publication) {
  Measured m;
  m.visibility.published(kReference, kSecond - 60'000, kSecond);
  m.visibility.published(kOther, kSecond - 500, kSecond);
  m.settle(2 * kSecond);
  EXPECT_EQ(m.after, (std::vector<uint64_t>{60'000, 500}));
  EXPECT_EQ(m.bounds, (std::vector<uint64_t>{kBoundNs, kBoundNs + 7}))
      << "other tiles may be off by the spread, too";
}

TEST(Visibility, a_marker_that_seems_later_than_its_publication_took_no_time) {
  Measured m;
  m.visibility.published(kReference, kSecond + 10, kSecond);
  m.settle(2 * kSecond);
  EXPECT_EQ(m.after, std::vector<uint64_t>{0});
}

TEST(Visibility, chunks_wait_for_final_segments_and_not_for_ever) {
  Measured m;
  m.visibility.published(kReference, 3 * kSecond - 1000, 3 * kSecond);
  m.settle(2 * kSecond);
  EXPECT_TRUE(m.after.empty());
  m.visibility.published(kOfNoDomain, 0, kSecond);
  m.settle(4 * kSecond);
  EXPECT_EQ(m.after, std::vector<uint64_t>{1000});
  EXPECT_EQ(m.visibility.without_clock(), 0u);
  m.settle(20 * kSecond);
  EXPECT_EQ(m.visibility.without_clock(), 1u) << "a tile of no domain";
}

TEST(Visibility, a_tile_whose_spread_is_not_known_has_no_bound) {
  Measured m;
  const ClockSegment segment = known_until(2 * kSecond);
  ClockHead head;
  head.tile_spread = kNoBound;
  m.visibility.published(kOther, kSecond - 10, kSecond);
  m.visibility.settle(0, head, {&segment, 1}, 2 * kSecond);
  EXPECT_EQ(m.visibility.without_clock(), 1u);
}

TEST(Visibility, where_chunks_come_faster_than_the_clock_every_second_one_is_left_out_evenly) {
  Measured m;
  constexpr uint64_t kChunks = 3 * Visibility::kMostWaiting;
  for (uint64_t i = 0; i < kChunks; ++i) m.visibility.published(kReference, kSecond, kSecond + i);
  m.settle(2 * kSecond);
  ASSERT_GT(m.after.size(), Visibility::kMostWaiting / 2);
  ASSERT_LE(m.after.size(), Visibility::kMostWaiting);
  const uint64_t apart = m.after[1] - m.after[0];
  EXPECT_GE(apart, 2u);
  for (size_t i = 1; i < m.after.size(); ++i) ASSERT_LE(m.after[i] - m.after[i - 1], 2 * apart) << i;
  EXPECT_GT(m.after.back() + 2 * apart, kChunks) << "also the latest";
}

}  // namespace
}  // namespace ttc::collect

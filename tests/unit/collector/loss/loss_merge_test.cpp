// Accounts of losses that never stop: bounded in number, exact in their sums, and nothing missing outside.
#include "collector/loss/loss_merge.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "collector/loss/loss_log.hpp"
#include "collector/record/dropped_blocks.hpp"

namespace ttc::collect {
namespace {

using shm::LossCause;
using shm::LossPrecision;
using shm::LossRecord;

constexpr LossLog::Where kCoreHere{1, 2, 3, 4};

bool inside(const LossRecord& loss, const std::vector<LossRecord>& intervals) {
  for (const LossRecord& r : intervals)
    if (r.risc == loss.risc && r.cause == loss.cause && r.from_cycles <= loss.from_cycles &&
        r.to_cycles >= loss.to_cycles)
      return true;
  return false;
}

TEST(LossMerge, the_first_losses_of_a_lane_are_told_one_by_one_and_then_ever_more_coarsely) {
  LossLog account([](const LossRecord&) {});
  std::vector<uint64_t> intervals_after;
  for (uint64_t i = 0; i < 32 * (1 + 2 + 4 + 8); ++i) {
    account.record(kCoreHere, LossCause::unparsable, LossPrecision::exact_words, 100 * i, 100 * i + 50, 3, 0);
    intervals_after.push_back(account.intervals().size());
  }
  EXPECT_EQ(intervals_after[31], 32u);
  EXPECT_EQ(intervals_after[33], 33u);
  EXPECT_EQ(intervals_after[32 + 63], 64u);
  EXPECT_EQ(intervals_after[32 + 64 + 127], 96u);
  EXPECT_EQ(intervals_after.back(), 128u);
}

TEST(LossMerge, a_card_that_never_stops_losing_costs_bounded_memory_and_nothing_falls_out) {
  constexpr uint64_t kLosses = 300'000;
  std::vector<LossRecord> all;
  uint64_t published = 0;
  LossLog account([&](const LossRecord&) { ++published; });
  std::mt19937_64 dice(3);
  uint64_t words = 0, now = 1000;
  for (uint64_t i = 0; i < kLosses; ++i) {
    LossLog::Where where = kCoreHere;
    where.risc = static_cast<uint8_t>(dice() % 5);
    const uint64_t from = now, n = 1 + dice() % 9;
    now += 10 + dice() % 90;
    words += n;
    account.record(where, LossCause::unparsable, LossPrecision::exact_words, from, now, n, 0);
    if (i % 101 == 0) {
      all.emplace_back();
      all.back().risc = where.risc, all.back().cause = LossCause::unparsable;
      all.back().from_cycles = from, all.back().to_cycles = now;
    }
  }
  EXPECT_LE(account.intervals().size(), 5 * 32 * 12u);
  EXPECT_EQ(account.count(LossCause::unparsable), account.intervals().size());
  EXPECT_EQ(published, kLosses) << "each is published as soon as it is known";
  uint64_t sum = 0;
  for (const LossRecord& r : account.intervals()) sum += r.words;
  EXPECT_EQ(sum, words);
  for (const LossRecord& loss : all) ASSERT_TRUE(inside(loss, account.intervals()));
}

TEST(LossMerge, in_all_there_are_no_more_than_the_most) {
  LossMerge grain(100);
  uint64_t own = 0;
  LossRecord r;
  for (unsigned lane = 0; lane < 10; ++lane)
    for (unsigned i = 0; i < 1000; ++i) {
      r.risc = static_cast<uint8_t>(lane);
      r.id = own;
      r.from_cycles = 10 * i, r.to_cycles = 10 * i + 5;
      own += !grain.joins(1, r);
    }
  EXPECT_LE(own, 100u + 10) << "and one a lane";
  EXPECT_GE(own, 100u);
}

TEST(LossMerge, lanes_causes_precisions_and_sessions_are_apart) {
  LossMerge grain(0);  // all of one kind are one
  LossRecord r;
  r.to_cycles = 5;
  EXPECT_FALSE(grain.joins(1, r));
  EXPECT_EQ(grain.joins(1, r), 0u);
  EXPECT_FALSE(grain.joins(2, r));
  for (const auto change : {+[](LossRecord& x) { x.core_x = 9; }, +[](LossRecord& x) { x.core_y = 9; },
                            +[](LossRecord& x) { x.risc = 9; }, +[](LossRecord& x) { x.device = 9; },
                            +[](LossRecord& x) { x.cause = LossCause::not_read; },
                            +[](LossRecord& x) { x.precision = LossPrecision::exact_words; }}) {
    LossRecord other = r;
    change(other);
    EXPECT_FALSE(grain.joins(1, other));
    EXPECT_TRUE(grain.joins(1, other));
  }
}

TEST(LossMerge, where_the_clock_comes_round_another_interval_begins) {
  LossMerge grain;
  LossRecord r;
  r.from_cycles = (uint64_t{1} << 44) - 100, r.to_cycles = (uint64_t{1} << 44) - 50;
  EXPECT_FALSE(grain.joins(1, r));
  r.from_cycles = 10, r.to_cycles = 20;
  EXPECT_FALSE(grain.joins(1, r));
}

TEST(LossMerge, when_there_are_too_many_a_clock_that_comes_round_makes_no_more) {
  LossMerge grain(1);
  LossRecord r;
  r.from_cycles = 1000, r.to_cycles = 2000;
  EXPECT_FALSE(grain.joins(1, r));
  LossRecord later = r;
  later.id = 1;
  later.from_cycles = 10, later.to_cycles = 20;
  EXPECT_EQ(grain.joins(1, later), 0u);
  take_in(r, later);
  EXPECT_EQ(r.from_cycles, 10u);
  EXPECT_EQ(r.to_cycles, 2000u) << "and all between";
}

// A card that is reset over and over is collected from by one account after the other.
TEST(LossMerge, what_was_lost_before_a_reset_counts) {
  std::vector<LossRecord> intervals;
  constexpr unsigned kLanes = 100 * 8 * 5;
  constexpr unsigned kResets = 25;
  static_assert(kResets * kLanes > LossMerge::kMost + kLanes);
  for (unsigned reset = 0; reset < kResets; ++reset) {
    LossLog account([](const LossRecord&) {}, std::move(intervals));
    for (uint8_t x = 0; x < 100; ++x)
      for (uint8_t y = 0; y < 8; ++y)
        for (uint8_t risc = 0; risc < 5; ++risc)
          account.record({x, y, risc, reset}, LossCause::card_gone, LossPrecision::unknown, 100,
                         shm::kOpenEnd, 0, 0);
    intervals = account.intervals();
  }
  EXPECT_LE(intervals.size(), LossMerge::kMost + kLanes);
  EXPECT_GE(intervals.size(), LossMerge::kMost);
}

// Intervals that stay open for a while, as when the log is full, with launches counted meanwhile.
TEST(LossMerge, launches_of_open_intervals_add_up_and_every_one_is_inside) {
  std::map<uint64_t, LossRecord> reported;
  LossLog account([&](const LossRecord& r) { reported[r.id] = r; });
  uint64_t launches = 0;
  std::vector<LossRecord> all;
  for (uint64_t i = 0; i < 2000; ++i) {
    const uint64_t from = 1000 * i + 1;
    account.open(kCoreHere, LossCause::dropped_on_card, from, 2);
    EXPECT_EQ(reported.rbegin()->second.to_cycles, shm::kOpenEnd) << "while it lasts its end is not known";
    account.open(kCoreHere, LossCause::dropped_on_card, from + 10, 5);
    account.close(kCoreHere, LossCause::dropped_on_card, from + 500);
    launches += 5;
    all.emplace_back();
    all.back().risc = kCoreHere.risc, all.back().from_cycles = from, all.back().to_cycles = from + 500;
  }
  EXPECT_LE(reported.size(), 32 * 8u);
  std::vector<LossRecord> intervals;
  uint64_t sum = 0;
  for (const auto& [id, r] : reported) intervals.push_back(r), sum += r.launches;
  EXPECT_EQ(sum, launches);
  EXPECT_NE(intervals.back().to_cycles, shm::kOpenEnd);
  for (const LossRecord& loss : all) ASSERT_TRUE(inside(loss, intervals));
}

TEST(LossMerge, what_a_disk_did_not_take_is_bounded_likewise) {
  DroppedBlocks drops;
  LossRecord r;
  for (uint64_t i = 0; i < 1000; ++i) {
    r.id = 1 + i % 3;  // of another's account: three that grow
    r.words = i;
    drops.add(7, r);
  }
  EXPECT_EQ(drops.records(7).size(), 3u);
  EXPECT_EQ(drops.take().size(), 3u);
  EXPECT_EQ(drops.take().size(), 0u);
}

}  // namespace
}  // namespace ttc::collect

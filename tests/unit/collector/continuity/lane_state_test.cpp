// The rules of the drain's state of a lane: lane_state.hpp.
#include "collector/continuity/lane_state.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "collector/continuity/timing.hpp"

namespace ttc::collect {
namespace {

std::vector<uint32_t> counting(uint32_t from, size_t words) {
  std::vector<uint32_t> v(words);
  std::iota(v.begin(), v.end(), from);
  return v;
}

TEST(Canary, holds_the_last_words_of_what_was_delivered_in_pieces) {
  Canary canary;
  EXPECT_TRUE(canary.none());
  canary.append(counting(0, 6));
  canary.append(counting(6, 12));
  EXPECT_EQ(canary.words(), Canary::kWords);
  EXPECT_TRUE(canary.stands(counting(2, 16)));
  EXPECT_TRUE(canary.stands(counting(10, 8)));
  EXPECT_FALSE(canary.stands(counting(11, 8)));
}

TEST(Canary, of_a_long_piece_is_its_end) {
  Canary canary;
  canary.append(counting(0, 4));
  canary.append(counting(100, 40));
  EXPECT_TRUE(canary.stands(counting(124, 16)));
}

TEST(Canary, is_read_in_units_of_two_words) {
  Canary canary;
  canary.append(counting(0, 1));
  EXPECT_FALSE(canary.none());
  EXPECT_EQ(canary.words(), 0u);
  canary.append(counting(1, 2));
  EXPECT_EQ(canary.words(), 2u);
  EXPECT_TRUE(canary.stands(counting(1, 2)));
}

TEST(FirstWords, must_look_the_same_when_they_have_landed) {
  FirstWords first;
  const auto words = counting(7, 12);
  EXPECT_FALSE(first.same(words));
  first.see(words, 55, 1000);
  EXPECT_TRUE(first.same(counting(7, 20)));  // more may follow them
  EXPECT_FALSE(first.same(counting(7, 10)));
  EXPECT_FALSE(first.same(counting(8, 12)));
  EXPECT_FALSE(first.landed(1000 + timing::kLandedNs - 1));
  EXPECT_TRUE(first.landed(1000 + timing::kLandedNs));
  EXPECT_EQ(first.start(), 55u);
  first.forget();
  EXPECT_FALSE(first.same(words));
}

TEST(FirstWords, that_were_none_are_never_the_same) {
  FirstWords first;
  first.see({}, 0, 1000);
  EXPECT_TRUE(first.none());
  EXPECT_FALSE(first.same(counting(0, 2)));
}

TEST(Stuck, is_for_good_after_many_polls_and_a_long_time) {
  Stuck stuck;
  for (int poll = 0; poll < 15; ++poll) stuck.note(1000);
  EXPECT_FALSE(stuck.for_good(1'000'000'000));  // a starved collector has polled too rarely
  stuck.note(1000);
  EXPECT_FALSE(stuck.for_good(1000 + 100'000'000));
  EXPECT_TRUE(stuck.for_good(1000 + 100'000'001));
  stuck.clear();
  EXPECT_FALSE(stuck.any());
  EXPECT_FALSE(stuck.for_good(~uint64_t{0}));
}

TEST(L1Buffer, behind_the_push_that_was_delivered_last_follows) {
  L1Buffer l1;
  l1.rest = counting(0, 20);
  l1.canary = 10;
  l1.next_canary = 50;
  l1.take_push(40);
  EXPECT_EQ(l1.canary, 50u);
  EXPECT_TRUE(l1.joins);
  EXPECT_EQ(l1.next_canary, 0u);
  EXPECT_TRUE(l1.rest.empty());
}

TEST(L1Buffer, that_a_later_push_took_too_is_not_known) {
  L1Buffer l1;
  l1.next_canary = 30;
  l1.take_push(40);
  EXPECT_EQ(l1.canary, 0u);
  EXPECT_FALSE(l1.joins);
}

TEST(L1Buffer, a_frame_behind_the_first_one_takes_the_buffer_too) {
  L1Buffer l1;
  l1.begin(30, std::nullopt);
  l1.pushed_until(20);
  EXPECT_EQ(l1.canary, 30u);
  l1.pushed_until(40);
  EXPECT_EQ(l1.canary, 0u);
}

TEST(L1Buffer, that_was_seen_is_examined) {
  L1Buffer l1;
  l1.unchecked = true;
  l1.begin(7, std::nullopt);
  EXPECT_EQ(l1.canary, 7u);
  EXPECT_FALSE(l1.joins);
  EXPECT_FALSE(l1.unchecked);
}

TEST(LaneState, reads_at_once_only_what_it_can_tell_from_older_words) {
  Caution caution;
  EXPECT_TRUE(caution.only_landed());
  caution.old_host = 3;
  EXPECT_FALSE(caution.only_landed());
  caution.waits = true;
  EXPECT_TRUE(caution.only_landed());
}

TEST(LaneState, an_epoch_keeps_what_was_delivered_and_forgets_the_place) {
  LaneState lane;
  lane.digest.last_time = 99;
  lane.advance(counting(0, 12), lane.digest);
  lane.stuck.note(5);
  lane.entered_until = 7;
  lane.lap.base = 4;
  lane.begin_epoch();
  EXPECT_EQ(lane.cursor, 0u);
  EXPECT_TRUE(lane.canary.none());
  EXPECT_TRUE(lane.first_of_epoch());
  EXPECT_FALSE(lane.stuck.any());
  EXPECT_EQ(lane.lap.base, 0u);
  EXPECT_TRUE(lane.delivered);
  EXPECT_EQ(lane.digest.last_time, 99u);
}

TEST(LaneState, the_end_of_its_first_launch_is_taken_once_and_of_a_lane_that_entered_alone) {
  LaneState lane;
  EXPECT_EQ(lane.take_entered_until(), 0u);
  EXPECT_TRUE(lane.first_of_epoch());  // nothing came
  lane.entered_until = 7;
  EXPECT_FALSE(lane.first_of_epoch());
  EXPECT_EQ(lane.take_entered_until(), 7u);
  EXPECT_EQ(lane.take_entered_until(), 0u);
  EXPECT_FALSE(lane.first_of_epoch());
}

TEST(LaneState, an_epoch_ends_a_recovery) {
  LaneState lane;
  lane.recovery = {12, Recovered{}};
  lane.begin_epoch();
  EXPECT_EQ(lane.recovery.chain_end, 0u);
  EXPECT_FALSE(lane.recovery.taken);
}

TEST(LaneState, behind_skipped_words_no_canary_shows_the_epoch) {
  LaneState lane;
  lane.advance(counting(0, 12), {});
  lane.skip(6);
  EXPECT_EQ(lane.cursor, 18u);
  EXPECT_TRUE(lane.canary.none());
}

}  // namespace
}  // namespace ttc::collect

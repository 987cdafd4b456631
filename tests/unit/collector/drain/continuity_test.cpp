// Each rule of continuity.hpp: all that it names is needed, and without any evidence there is no proof. rules_off.py takes each
// condition out of the shipped source and runs these and the exhaustion tests.
#include "collector/drain/continuity.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

TEST(Continuity, no_evidence_is_no_proof) {
  EXPECT_FALSE(prove_same_epoch({}));
  EXPECT_FALSE(prove_behind_reset({}));
  EXPECT_FALSE(prove_across_one_reset({}));
  EXPECT_FALSE(prove_first_frame({}));
  EXPECT_FALSE(prove_recycled({}));
  EXPECT_FALSE(prove_l1_tail({}));
}

TEST(Continuity, same_epoch_needs_counters_canaries_and_time) {
  const SameEpoch all{.counters_not_back = true, .canaries_intact = true, .in_time = true};
  EXPECT_TRUE(prove_same_epoch(all));
  SameEpoch e = all;
  e.counters_not_back = false;
  EXPECT_FALSE(prove_same_epoch(e));
  e = all;
  e.canaries_intact = false;
  EXPECT_FALSE(prove_same_epoch(e));
  e = all;
  e.in_time = false;
  EXPECT_FALSE(prove_same_epoch(e));
}

TEST(Continuity, behind_a_reset_the_words_must_stand_where_no_index_came) {
  EXPECT_TRUE(prove_behind_reset({.index_not_there = true, .words_stand = true}));
  EXPECT_FALSE(prove_behind_reset({.index_not_there = true}));
  EXPECT_FALSE(prove_behind_reset({.words_stand = true}));
}

AcrossReset whole_log() {
  return {.cursor_stands = true, .read_through = true, .older_behind = true, .in_time_or_idle = true};
}

TEST(Continuity, a_log_read_to_its_end_joins_the_next_epoch) {
  EXPECT_TRUE(prove_across_one_reset(whole_log()));
}

TEST(Continuity, a_log_overwritten_to_the_cursor_does_not) {
  AcrossReset e = whole_log();
  e.cursor_stands = false;
  EXPECT_FALSE(prove_across_one_reset(e));
}

TEST(Continuity, a_log_with_words_announced_behind_what_was_read_does_not) {
  AcrossReset e = whole_log();
  e.read_through = false;
  EXPECT_FALSE(prove_across_one_reset(e));
}

TEST(Continuity, what_stands_behind_must_be_older_or_the_lane_as_far_as_the_others) {
  AcrossReset e = whole_log();
  e.older_behind = false;
  EXPECT_FALSE(prove_across_one_reset(e));
  e.with_the_others = true;
  EXPECT_TRUE(prove_across_one_reset(e));
}

TEST(Continuity, a_late_poll_may_have_missed_more_than_one_reset) {
  AcrossReset e = whole_log();
  e.in_time_or_idle = false;
  EXPECT_FALSE(prove_across_one_reset(e));
}

TEST(Continuity, a_lane_that_announced_nothing_has_nothing_to_lose_in_time) {
  EXPECT_TRUE(prove_across_one_reset({.nothing_announced = true, .in_time_or_idle = true}));
  EXPECT_FALSE(prove_across_one_reset({.nothing_announced = true}));
}

TEST(Continuity, accumulated_markers_in_l1_show_the_end) {
  EXPECT_TRUE(prove_across_one_reset({.l1_shows_end = true}));
}

TEST(Continuity, a_first_frame_follows_what_another_lane_joined_or_no_reset_at_all) {
  EXPECT_TRUE(prove_first_frame({.another_lane_joined = true}));
  EXPECT_TRUE(prove_first_frame({.host_never_read = true}));
}

TEST(Continuity, a_first_frame_in_sight_needs_a_core_that_shows_its_resets) {
  EXPECT_TRUE(prove_first_frame({.in_sight = true, .counts_launches = true}));
  EXPECT_TRUE(prove_first_frame({.in_sight = true, .pushes_often = true}));
  EXPECT_FALSE(prove_first_frame({.in_sight = true}));
  EXPECT_FALSE(prove_first_frame({.pushes_often = true, .counts_launches = true}));
}

TEST(Continuity, a_recycled_lap_needs_its_only_answer) {
  EXPECT_TRUE(prove_recycled({.resolved = true}));
}

TEST(Continuity, a_buffer_in_l1_begins_with_its_canary_or_nothing_was_before_it) {
  EXPECT_TRUE(prove_l1_tail({.begins_with_canary = true}));
  EXPECT_TRUE(prove_l1_tail({.nothing_before = true}));
}

}  // namespace
}  // namespace ttc::collect

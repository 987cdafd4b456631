// Each rule of continuity.hpp: all that it names is needed, and without any evidence there is no proof. rules_off.py takes each
// condition out of the shipped source and runs these and the exhaustion tests.
#include "collector/continuity/continuity.hpp"

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
  EXPECT_FALSE(prove_same_place({}));
  EXPECT_FALSE(prove_push_zones({}));
  EXPECT_FALSE(prove_no_launch_between({}));
  EXPECT_FALSE(prove_counted_runs({}));
  EXPECT_FALSE(prove_quiet({}));
  EXPECT_FALSE(prove_room({}));
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

BehindReset first_frame_behind_the_cursor() {
  return {.index_not_there = true,
          .words_stand = true,
          .at_cursor = true,
          .in_sight = true,
          .l1_continues = true};
}

TEST(Continuity, behind_a_reset_the_words_must_stand_where_no_index_came) {
  EXPECT_TRUE(words_are_old({.index_not_there = true, .words_stand = true}));
  EXPECT_FALSE(words_are_old({.index_not_there = true}));
  EXPECT_FALSE(words_are_old({.words_stand = true}));
  BehindReset e = first_frame_behind_the_cursor();
  EXPECT_TRUE(prove_behind_reset(e));
  e.words_stand = false;
  EXPECT_FALSE(prove_behind_reset(e));
}

TEST(Continuity, old_words_behind_what_a_new_epoch_has_overwritten_do_not_follow) {
  BehindReset e = first_frame_behind_the_cursor();
  e.at_cursor = false;
  EXPECT_FALSE(prove_behind_reset(e));
}

TEST(Continuity, old_words_at_the_front_may_be_of_an_epoch_that_followed_an_unseen_one) {
  BehindReset e = first_frame_behind_the_cursor();
  e.in_sight = false;
  EXPECT_FALSE(prove_behind_reset(e));
}

TEST(Continuity, an_old_push_of_a_restarted_buffer_does_not_follow) {
  BehindReset e = first_frame_behind_the_cursor();
  e.l1_continues = false;
  EXPECT_FALSE(prove_behind_reset(e));
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
  EXPECT_TRUE(prove_l1_tail({.behind_last_push = true}));
}

TEST(Continuity, a_replays_last_frame_stays_and_an_empty_buffer_lacks_nothing) {
  EXPECT_TRUE(prove_l1_tail({.last_of_replay = true}));
  EXPECT_TRUE(prove_l1_tail({.holds_none = true}));
}

TEST(Continuity, the_zones_of_the_last_push_are_in_the_slots_where_there_was_one) {
  EXPECT_TRUE(prove_push_zones({.no_push = true}));
  EXPECT_TRUE(prove_push_zones({.slots_hold_it = true}));
}

TEST(Continuity, a_lane_without_a_new_frame_stays_or_had_none) {
  EXPECT_TRUE(prove_same_place({.stayed = true}));
  EXPECT_TRUE(prove_same_place({.never_delivered = true}));
}

TEST(Continuity, other_words_at_the_front_are_no_later_launch) {
  EXPECT_TRUE(prove_no_launch_between({.first_seen = true}));
  EXPECT_TRUE(prove_no_launch_between({.not_later = true}));
}

TEST(Continuity, runs_that_were_counted_came_or_are_explained) {
  EXPECT_TRUE(prove_counted_runs({.all_came = true}));
  EXPECT_TRUE(prove_counted_runs({.may_still_come = true}));
  EXPECT_TRUE(prove_counted_runs({.dropped = true}));
  EXPECT_TRUE(prove_counted_runs({.known = true}));
}

TEST(Continuity, a_quiet_core_ran_nothing_that_a_reset_could_have_taken) {
  EXPECT_TRUE(prove_quiet({.none_since = true}));
  EXPECT_TRUE(prove_quiet({.host_never_read = true}));
  EXPECT_TRUE(prove_quiet({.not_closed = true}));
  EXPECT_TRUE(prove_quiet({.being_pushed = true}));
  EXPECT_TRUE(prove_quiet({.uncounted = true}));
}

TEST(Continuity, a_card_that_had_room_dropped_nothing) {
  EXPECT_TRUE(prove_room({.fits_any = true}));
  EXPECT_TRUE(prove_room({.not_said = true}));
  EXPECT_TRUE(prove_room({.nothing_before = true}));
  EXPECT_TRUE(prove_room({.emptied = true}));
  EXPECT_TRUE(prove_room({.not_cut = true}));
}

}  // namespace
}  // namespace ttc::collect

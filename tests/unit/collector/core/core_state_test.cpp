// The rules of the drain's state of a core: core_state.hpp.
#include "collector/core/core_state.hpp"

#include <gtest/gtest.h>

namespace ttc::collect {
namespace {

constexpr uint64_t kDeadline = timing::kPollDeadlineNs;

TEST(Landing, an_index_counts_when_it_was_seen_long_enough_ago) {
  Landing landing;
  landing.note({10}, 100'000, 100'100);
  EXPECT_EQ(landing.landed()[0], 0u);
  landing.note({20}, 100'100 + timing::kLandedNs - 1, 200'000);  // too early: what came before counts on
  EXPECT_EQ(landing.landed()[0], 0u);
  landing.note({30}, 100'100 + timing::kLandedNs, 200'000);
  EXPECT_EQ(landing.landed()[0], 10u);
  landing.note({40}, 400'000, 400'000);
  EXPECT_EQ(landing.landed()[0], 30u);
}

TEST(Landing, a_lane_in_doubt_waits_as_if_nothing_was_announced) {
  Landing landing;
  landing.all_landed({5, 6}, 1000);
  landing.doubt(1);
  EXPECT_EQ(landing.landed()[0], 5u);
  EXPECT_EQ(landing.landed()[1], 0u);
  landing.begin_epoch();
  EXPECT_EQ(landing.landed()[0], 0u);
}

TEST(Runs, are_missing_in_a_row_or_not) {
  Runs runs;
  runs.note_missing(true);
  runs.note_missing(true);
  EXPECT_EQ(runs.missing_visits, 2u);
  runs.note_missing(false);
  EXPECT_EQ(runs.missing_visits, 0u);
  runs.total = 9;
  runs.delivered = 4;
  runs.begin_epoch();
  EXPECT_EQ(runs.delivered, 0u);
  EXPECT_EQ(runs.total, 9u);
}

TEST(Polls, miss_their_deadline_one_by_one) {
  Polls polls;
  polls.begin_with(1000);
  polls.note(1000 + kDeadline);
  EXPECT_FALSE(polls.late());
  polls.note(1001 + 2 * kDeadline);
  EXPECT_TRUE(polls.late());
  EXPECT_TRUE(polls.check_all);
  EXPECT_EQ(polls.before_ns, 1000 + kDeadline);
  polls.note(2000 + 2 * kDeadline);
  EXPECT_FALSE(polls.late());
  EXPECT_TRUE(polls.check_all);  // until every canary was read
}

TEST(Visits, an_interval_is_what_lies_between_a_visit_and_the_next) {
  EXPECT_EQ(Visits{}.interval_ns(), 0u);
  EXPECT_EQ((Visits{1500, 1000}.interval_ns()), 500u);
}

TEST(Rewind, is_late_where_more_than_one_reset_may_have_passed) {
  Polls polls;
  polls.begin_with(1000);
  polls.note(2000);
  Rewind in_time;
  in_time.note(polls, false, 2500);
  EXPECT_TRUE(in_time.pending());
  EXPECT_FALSE(in_time.late);
  EXPECT_EQ(in_time.after_ns, 1000u);
  Rewind reported;
  reported.note(polls, true, 2500);
  EXPECT_TRUE(reported.late);
  Rewind unproven;  // polled in time, but nothing was proven for longer
  unproven.note(polls, false, 1001 + kDeadline);
  EXPECT_TRUE(unproven.late);
}

TEST(Rewind, is_noted_once_and_over_when_the_vector_is_written) {
  Polls polls;
  Rewind rewind;
  rewind.note(polls, false, 100);
  rewind.note(polls, true, 200);
  EXPECT_EQ(rewind.noticed_ns, 100u);
  EXPECT_FALSE(rewind.late);
  EXPECT_FALSE(rewind.over(100 + timing::kResetOverNs - 1));
  EXPECT_TRUE(rewind.over(100 + timing::kResetOverNs));
}

TEST(Referee, keeps_what_was_missing_before_the_count_went_back) {
  Referee referee;
  referee.see(10);
  referee.came = 7;
  EXPECT_EQ(referee.missing(), 3u);
  referee.see(2);
  EXPECT_EQ(referee.earlier, 3u);
  EXPECT_EQ(referee.missing(), 2u);
}

TEST(ControlSample, is_empty_without_any_run_or_index) {
  ControlSample sample;
  EXPECT_TRUE(sample.empty());
  sample.host_end[4] = 2;
  EXPECT_FALSE(sample.empty());
  sample.host_end[4] = 0;
  sample.run_counter = 1;
  EXPECT_FALSE(sample.empty());
}

TEST(ControlSample, only_grows_while_the_host_does_not_reset) {
  ControlSample before, now;
  before.run_counter = 3;
  before.host_end = {40, 40};
  now = before;
  EXPECT_FALSE(now.only_grown_since(before));
  now.host_end[0] = 52;
  EXPECT_TRUE(now.only_grown_since(before));
  now.host_end[1] = 12;
  EXPECT_FALSE(now.only_grown_since(before));
  now = before;
  now.run_counter = 4;
  EXPECT_TRUE(now.only_grown_since(before));
  now.run_counter = 1;
  now.host_end[0] = 52;
  EXPECT_FALSE(now.only_grown_since(before));
}

TEST(L1Slots, a_slot_that_is_not_set_has_no_time) {
  L1Slots slots;
  slots.words.fill(device::kUnsetWord);
  EXPECT_EQ(slots.time_of(device::kFwStartWord), 0u);
  EXPECT_FALSE(slots.holds_later(device::kFwStartWord, 0));
  slots.words[0] = 0x80011000u;
  slots.words[1] = 500;
  EXPECT_EQ(slots.time_of(device::kFwStartWord), 500u);
  EXPECT_TRUE(slots.holds_later(device::kFwStartWord, 499));
  EXPECT_FALSE(slots.holds_later(device::kFwStartWord, 500));
}

}  // namespace
}  // namespace ttc::collect

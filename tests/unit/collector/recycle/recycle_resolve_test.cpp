// The resolver on logs written by hand, where the worlds of recycling_test.cpp hardly get to.
#include "collector/recycle/recycle_resolve.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

using test::Time, test::Words, test::operator+;

const markers::Lane kNcrisc{&device::kG4, 1, 3};

// A launch's frame without markers of its own. A quick push has no FW end yet, and no kernel end.
Words frame(uint32_t host_id, uint32_t start, bool ended = true) {
  const auto end = [&](uint32_t cycles) { return ended ? Time(start + cycles) : Time(); };
  Words w = test::frame_words(kNcrisc.identity, host_id, {7, start, end(90)}, {9, start + 10, end(80)});
  if (!ended) test::put_zone(w, {11, start + 50, start + 60});  // the firmware's own zone around the push
  return w;
}

LaneCase cleared_at(uint32_t pos) {
  LaneCase c;
  c.lane = kNcrisc;
  c.digest.known = 1;
  c.digest.last_time = 900;
  c.digest.host_id = 4;
  c.digest.trailing_words = 12;
  c.cleared = true;
  c.pos = c.index_before = pos;
  return c;
}

TEST(RecycleResolve, a_run_behind_the_cleared_index_and_one_at_the_front) {
  const Words old = frame(5, 1000) + Words(64, 0), front = frame(6, 2000);
  LaneCase c = cleared_at(48);
  c.index_after = 12;
  c.old_place = old;
  c.front = front;
  c.allowed = c.crossing = {2, 3};
  const auto outcomes = possible_outcomes(c);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].verdict, Verdict::after_front);
  EXPECT_EQ(outcomes[0].frames.size(), 2u);
}

// Found by the model with three runs: a quick push hid the frame behind it, and a third run at the front,
// just being counted, made up for its number.
TEST(RecycleResolve, what_a_quick_push_hides_is_not_made_up_for_by_a_later_run) {
  const Words old = frame(5, 1000) + frame(6, 2000, false) + frame(6, 2000) + Words(64, 0),
              front = frame(7, 3000);
  LaneCase c = cleared_at(48);
  c.index_after = 12;
  c.old_place = old;
  c.front = front;
  c.allowed = c.crossing = {2, 3};
  EXPECT_TRUE(possible_outcomes(c).empty());
}

// Frames that fill a buffer: the last of 17 in the new lap begins where the 16 of the old lap ended, so that it is at the
// old place, too.
constexpr uint32_t kLate = 1'000'000;  // smaller low halves look like roll-overs

struct FullFrames {
  FullFrames() {
    for (uint32_t run = 0; run < 17; ++run) {
      Words w = frame(100 + run, kLate + 1000 * run);
      for (uint32_t at = kLate + 100 + 1000 * run; w.size() < device::kBufferWords; at += 2)
        test::put_zone(w, {11, at, at + 1});
      // Inside of its launch.
      const Words head =
          test::frame_words(kNcrisc.identity, 100 + run, {7, kLate + 1000 * run, kLate + 990 + 1000 * run},
                            {9, kLate + 10 + 1000 * run, kLate + 980 + 1000 * run});
      std::copy(head.begin(), head.end(), w.begin());
      front = front + w;
    }
    const auto last = front.end() - device::kBufferWords;
    old.assign(last, front.end());
    old = old + Words(64, 0);
    c = cleared_at(16 * device::kBufferWords);
    c.index_after = 17 * device::kBufferWords;
    c.old_place = old;
    c.front = front;
  }
  Words front, old;
  LaneCase c;
};

TEST(RecycleResolve, a_lap_of_full_frames_that_reaches_the_old_place_is_told_by_the_count_of_runs) {
  FullFrames f;
  f.c.allowed = f.c.crossing = {17, 17};
  const auto outcomes = possible_outcomes(f.c);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].verdict, Verdict::front);
  EXPECT_EQ(outcomes[0].frames.size(), 17u);
  EXPECT_EQ(outcomes[0].cursor, 17 * device::kBufferWords);
}

// An 18th run may have come to the old place, which the lap has overwritten.
TEST(RecycleResolve, a_run_more_than_a_lap_that_reaches_the_old_place_holds_is_not_passed_over) {
  FullFrames f;
  f.c.allowed = f.c.crossing = {17, 18};
  EXPECT_TRUE(possible_outcomes(f.c).empty());
  f.c.allowed = f.c.crossing = {18, 18};
  EXPECT_TRUE(possible_outcomes(f.c).empty());
}

Words late(uint32_t host_id, uint32_t start, bool ended = true) {
  return frame(host_id, kLate + start, ended);
}

// Found by the model: a control sample that was held up allows few runs and many, and the lap's last frame begins just where the old
// place does.
TEST(RecycleResolve, frames_of_a_lap_that_ran_over_the_old_place_are_no_lost_write) {
  const Words log = late(5, 1000) + late(6, 2000) + late(7, 3000) + late(8, 4000) + late(9, 5000);
  LaneCase c = cleared_at(48);
  c.digest.last_time = kLate + 900;
  c.index_after = 60;
  c.front = log;
  const Words old(log.begin() + 48, log.end());
  c.old_place = old;
  c.allowed = {0, 6};
  c.crossing = {1, 6};
  EXPECT_TRUE(possible_outcomes(c).empty());
  c.crossing = {1, 5};  // a frame for every run that may have ended
  const auto outcomes = possible_outcomes(c);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].verdict, Verdict::front);
  EXPECT_EQ(outcomes[0].frames.size(), 5u);
}

// The last frame that was taken of a lane whose place was lost is of launch 4; it ended at 900.
LaneCase lost(const Words& log) {
  LaneCase c = cleared_at(48);
  c.digest.last_time = kLate + 900;
  c.index_after = static_cast<uint32_t>(log.size());
  c.front = log;
  return c;
}

TEST(RecyclePlace, a_lap_that_ran_over_the_old_place_is_taken_from_its_first_frame_on) {
  const Words log = late(6, 2000) + late(7, 3000) + late(8, 4000);
  const auto found = place_found_again(lost(log));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->verdict, Verdict::found_again);
  EXPECT_EQ(found->frames.size(), 3u);
  EXPECT_EQ(found->cursor, log.size());
  EXPECT_EQ(found->old_end, 48u);
}

TEST(RecyclePlace, behind_a_hole_only_what_ends_at_the_index_is_taken) {
  const Words log = late(6, 2000) + late(3, 700) + late(7, 3000) + late(8, 4000);
  const auto found = place_found_again(lost(log));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->frames.size(), 2u);
  EXPECT_EQ(found->frames[0].at, 24u);
  EXPECT_EQ(found->frames[0].before.last_time, kLate + 900u);
}

// The hole of launch 8 holds old bytes of a frame without a time: the log reads through it, and launch 8 is at the front alone.
TEST(RecyclePlace, frames_in_front_of_a_hole_that_looks_like_one_are_left_to_the_interval) {
  const Words sat_out = test::frame_words(kNcrisc.identity, 2, {7, Time(), Time()}, {9, Time(), Time()});
  const Words log = late(8, 4000) + late(3, 700) + late(7, 3000) + sat_out + late(9, 5000);
  const auto found = place_found_again(lost(log));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->frames.size(), 1u);
  EXPECT_EQ(found->frames[0].host_id, 9u);
}

TEST(RecyclePlace, frames_that_were_taken_are_not_taken_again) {
  const Words log = late(3, 700) + late(4, 810) + late(5, 1000);
  const auto found = place_found_again(lost(log));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->frames.size(), 1u);
  EXPECT_EQ(found->frames[0].host_id, 5u);
}

TEST(RecyclePlace, without_a_new_frame_the_last_one_taken_ends_at_the_index) {
  const Words taken = late(3, 700) + late(4, 810), older = late(2, 500) + late(3, 700);
  const auto found = place_found_again(lost(taken));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->frames.empty());
  EXPECT_EQ(found->cursor, taken.size());
  EXPECT_EQ(found->digest.last_time, kLate + 900u);
  EXPECT_FALSE(place_found_again(lost(older)));
}

TEST(RecyclePlace, words_that_are_no_frames_before_the_index_show_no_place) {
  EXPECT_FALSE(place_found_again(lost(late(6, 2000) + Words(12, 0))));
  EXPECT_FALSE(place_found_again(lost(late(6, 2000) + late(7, 3000, false))));
  EXPECT_FALSE(place_found_again(lost(late(6, 2000) + late(5, 1000))));
}

TEST(RecyclePlace, an_index_of_0_is_a_place) {
  const auto found = place_found_again(lost({}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cursor, 0u);
  EXPECT_TRUE(found->frames.empty());
}

TEST(RecyclePlace, a_risc_that_sits_out_ends_with_the_launch_of_the_others) {
  const Words sat_out = test::frame_words(kNcrisc.identity, 7, {7, Time(), Time()}, {9, Time(), Time()});
  const auto found = place_found_again(lost(late(6, 2000) + sat_out));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->frames.size(), 2u);
  EXPECT_EQ(found->frames[1].host_id, 7u);
  EXPECT_TRUE(found->frames[1].sat_out);
}

}  // namespace
}  // namespace ttc::collect

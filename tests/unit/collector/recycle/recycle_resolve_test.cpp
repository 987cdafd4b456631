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

// Frames that fill a buffer: the last of 17 in the new lap begins where the 16 of the old lap ended, so that it stands at the
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

// An 18th run may have come to the old place, where the lap has written over it.
TEST(RecycleResolve, a_run_more_than_a_lap_that_reaches_the_old_place_holds_is_not_passed_over) {
  FullFrames f;
  f.c.allowed = f.c.crossing = {17, 18};
  EXPECT_TRUE(possible_outcomes(f.c).empty());
  f.c.allowed = f.c.crossing = {18, 18};
  EXPECT_TRUE(possible_outcomes(f.c).empty());
}

}  // namespace
}  // namespace ttc::collect

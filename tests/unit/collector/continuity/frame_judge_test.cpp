// Which frames that verified may be taken: frame_judge.hpp.
#include "collector/continuity/frame_judge.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr std::array<uint32_t, 2> kLaunches{11, 12};  // of which BRISC has frames
constexpr size_t kWords = device::kFirstCustomWord;

class FrameJudged : public testing::Test {
 protected:
  // A frame of one launch, whole.
  markers::VerifiedFrame frame(uint32_t host_id) {
    words_ = test::frame_words(7, host_id, {1, 100, 400}, {2, 200, 300});
    return {words_, kWords, 4, false, false};
  }
  static FrameJudge judge(size_t landed_words, std::optional<uint32_t> old_host = {},
                          bool patience_over = false) {
    return {kLaunches, patience_over, landed_words, old_host, true};
  }
  test::Words words_;
};

TEST_F(FrameJudged, a_frame_of_a_launch_is_taken_once_it_has_landed) {
  FrameJudge waits = judge(0), landed = judge(kWords);
  EXPECT_FALSE(waits.take(frame(11)));
  EXPECT_TRUE(landed.take(frame(11)));
  EXPECT_EQ(landed.finished_runs, 1u);
  EXPECT_EQ(test::Words(landed.first_fresh.begin(), landed.first_fresh.end()), words_);
  ASSERT_EQ(landed.hosts.size(), 1u);
  EXPECT_EQ(landed.hosts.front(), 11u);
}

TEST_F(FrameJudged, a_head_that_replaced_another_launchs_has_landed) {
  FrameJudge another = judge(0, 10), same = judge(0, 11);
  EXPECT_TRUE(another.take(frame(11)));
  EXPECT_FALSE(same.take(frame(11)));
  EXPECT_TRUE(same.ids_repeat);
}

TEST_F(FrameJudged, a_payload_shows_nothing_of_having_landed) {
  markers::VerifiedFrame with_payload = frame(11);
  with_payload.has_payload = true;
  FrameJudge waits = judge(0, 10);
  EXPECT_FALSE(waits.take(with_payload));
  EXPECT_TRUE(waits.unproven_seen);
}

TEST_F(FrameJudged, an_overwritten_head_may_hold_a_foreign_id) {
  const auto overwritten = [this](uint32_t host_id) {
    markers::VerifiedFrame f = frame(host_id);
    words_[device::kIdSentinelHigh] = 1;
    return f;
  };
  FrameJudge foreign = judge(kWords), known = judge(kWords);
  EXPECT_FALSE(foreign.take(overwritten(99)));
  EXPECT_TRUE(foreign.foreign_id);
  EXPECT_TRUE(known.take(overwritten(12)));
}

TEST_F(FrameJudged, a_launch_that_was_sat_out_is_one_of_briscs_or_waited_for) {
  EXPECT_TRUE(judge(0).sat_out_ok(12));
  EXPECT_FALSE(judge(0).sat_out_ok(13));
  EXPECT_TRUE(judge(0, {}, true).sat_out_ok(13));
}

TEST_F(FrameJudged, a_push_without_an_end_finishes_no_launch) {
  markers::VerifiedFrame pushed = frame(11);
  words_[device::kFwEndWord] = words_[device::kFwEndWord + 1] = device::kUnsetWord;
  FrameJudge early = judge(kWords);
  EXPECT_TRUE(early.take(pushed));
  EXPECT_TRUE(early.pushed_early);
  EXPECT_EQ(early.finished_runs, 0u);
}

}  // namespace
}  // namespace ttc::collect

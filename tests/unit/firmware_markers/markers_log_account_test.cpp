// What one log holds and lacks (firmware_markers/log_account.hpp). Ten lines a rule.
#include <gtest/gtest.h>

#include "firmware_markers/log_account.hpp"
#include "tests/support/frames.hpp"

namespace ttc::markers {
namespace {

using test::Words, test::operator+;

const Lane kNcriscG3{&device::kG3, 1, 3};
constexpr uint32_t kRoomy = 48000;
// Times count from here: a small low half would look like a roll-over.
constexpr uint64_t kLogBase = 0x7'4000'0000;

// A launch that begins at `start` and records `zones` zones.
Words run_of(uint32_t host_id, uint64_t start, size_t zones = 1) {
  start += kLogBase;
  Words w =
      test::frame_words(kNcriscG3.identity, host_id, {7, start, start + 90}, {9, start + 1, start + 80});
  for (size_t i = 0; i < zones; ++i) test::put_zone(w, {11, start + 10 + 2 * i, start + 11 + 2 * i});
  return w;
}

class LogAccounts : public testing::Test {
 protected:
  LogAccount judge(const Words& words, uint32_t capacity = kRoomy, bool dropped = false) {
    return account_log({words, capacity, dropped}, kNcriscG3, &launches_, digest_);
  }
  static uint32_t words_in(const LogAccount& a) {
    uint32_t sum = 0;
    for (const LogPart& part : a.parts) sum += part.words;
    return sum;
  }
  KnownLaunches launches_{{1, 2, 3, 4}, true};
  static FrameDigest before() {
    FrameDigest d;
    d.known = 1;
    d.last_time = kLogBase + 500;
    return d;
  }
  FrameDigest digest_ = before();
};

TEST_F(LogAccounts, whole_frames_are_one_part_and_no_gap) {
  const Words log = run_of(1, 1000) + run_of(2, 2000);
  const LogAccount a = judge(log);
  EXPECT_EQ(words_in(a), log.size());
  EXPECT_TRUE(a.gaps.empty());
  EXPECT_EQ(a.begins, kLogBase + 1000);
}

// Index before words: firmware of 2025 leaves holes, in which frames of earlier epochs are still there.
TEST_F(LogAccounts, older_frames_in_a_hole_are_not_given_out_again) {
  const Words log = run_of(2, 2000) + run_of(1, 1000) + run_of(3, 3000);
  const LogAccount a = judge(log);
  EXPECT_EQ(words_in(a), 32u);
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_EQ(a.gaps[0].from, kLogBase + 2090);
  EXPECT_EQ(a.gaps[0].to, kLogBase + 3000);
  EXPECT_EQ(a.gaps[0].words, 16u);
}

TEST_F(LogAccounts, a_frame_in_front_of_a_hole_is_given_out) {
  const Words log = run_of(1, 1000) + Words(40, 0) + run_of(2, 2000);
  const LogAccount a = judge(log);
  EXPECT_EQ(words_in(a), 32u);
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_EQ(a.gaps[0].words, 40u);
}

TEST_F(LogAccounts, a_hole_at_the_end_has_no_end) {
  const LogAccount a = judge(run_of(1, 1000) + Words(40, 0));
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_FALSE(a.gaps[0].to);
}

// The interval of a full log begins where the first frame may not have fitted, although shorter ones follow.
TEST_F(LogAccounts, what_was_dropped_lies_behind_the_last_frame_that_surely_fitted) {
  Words log;
  for (uint32_t run = 0; run < 70; ++run) log = log + run_of(1, 1000 + 1000 * run);
  const LogAccount a = judge(log, 1124, true);  // 1024 words less: 100, five frames and a part of the sixth
  EXPECT_EQ(words_in(a), log.size());
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_EQ(a.gaps[0].from, kLogBase + 5090);
  EXPECT_FALSE(a.gaps[0].to);
}

// A packet of another RISC overwrites the first words of the head.
TEST_F(LogAccounts, an_overwritten_head_is_believed_where_a_launch_has_its_id) {
  Words log = run_of(1, 1000) + run_of(2, 2000);
  log[16] = device::marker_high(device::kZoneEnd, 5, kLogBase >> 32);
  log[17] = static_cast<uint32_t>(kLogBase) + 1500;
  EXPECT_TRUE(judge(log).gaps.empty());
  log[19] = 0x12345678;  // payload over the host id
  digest_ = before();
  const LogAccount a = judge(log);
  EXPECT_EQ(words_in(a), 16u);
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_EQ(a.gaps[0].from, kLogBase + 1090);
}

// Payload over word 0 has no valid bit: only the words after it show that a head is there.
TEST_F(LogAccounts, a_head_that_looks_like_none_costs_its_own_frame_alone) {
  Words log = run_of(1, 1000) + run_of(2, 2000) + run_of(3, 3000);
  log[16] = 0x12345678;
  const LogAccount a = judge(log);
  EXPECT_EQ(words_in(a), 32u);
  ASSERT_EQ(a.gaps.size(), 1u);
  EXPECT_EQ(a.gaps[0].from, kLogBase + 1090);
  EXPECT_EQ(a.gaps[0].to, kLogBase + 3000);
}

TEST_F(LogAccounts, a_second_epoch_goes_on_behind_the_first) {
  judge(run_of(1, 1000));
  const LogAccount a = judge(run_of(2, 2000));
  ASSERT_EQ(a.parts.size(), 1u);
  EXPECT_EQ(a.parts[0].before.last_time, kLogBase + 1090);
  EXPECT_EQ(a.begins, kLogBase + 2000);
}

}  // namespace
}  // namespace ttc::markers

// The streaming profiler's control words, and what follows from polls of them.
#include "tools/other_profilers/streaming.hpp"

#include <gtest/gtest.h>

namespace ttc::other_profilers {
namespace {

std::array<uint32_t, kStreamControlWords> words_of(uint32_t head, uint32_t tail, bool armed = true) {
  std::array<uint32_t, kStreamControlWords> words{};
  for (uint32_t r = 0; r < kStreamRiscs; ++r) words[r] = head, words[24 + r] = tail, words[50 + r] = r;
  words[48] = armed;
  return words;
}

StreamControl control_of(uint32_t head, uint32_t tail, bool armed = true) {
  const auto control = read_stream_control(words_of(head, tail, armed));
  EXPECT_TRUE(control);
  return control.value_or(StreamControl{});
}

TEST(StreamControl, words_of_the_merged_layout_are_read) {
  const StreamControl c = control_of(1000, 1503);
  EXPECT_TRUE(c.armed);
  EXPECT_EQ(c.lanes[3].fill(), 503u);
  EXPECT_EQ(c.lanes[3].stalls, 3u);
  EXPECT_EQ(control_of(0xfffffff0, 0x10).lanes[0].fill(), 32u) << "counts roll over";
}

TEST(StreamControl, other_words_are_refused) {
  EXPECT_FALSE(read_stream_control(words_of(0, 513))) << "an armed producer waits for room";
  EXPECT_TRUE(read_stream_control(words_of(0, 513, false)));
  auto august = words_of(0, 10);
  august[49] = 0x10002;  // the core's place, in the layout whose word 48 means the opposite
  EXPECT_FALSE(read_stream_control(august));
  auto june = words_of(0, 10);
  june[5] = 10;  // tails there
  EXPECT_FALSE(read_stream_control(june));
  auto other = words_of(0, 10);
  other[48] = 7;
  EXPECT_FALSE(read_stream_control(other));
  EXPECT_FALSE(read_stream_control(std::span<const uint32_t>(other).first(32)));
}

TEST(StreamCore, words_that_passed_peaks_and_stalls_add_up) {
  StreamCore core;
  core.look(control_of(100, 200));
  core.look(control_of(300, 700));
  StreamControl later = control_of(750, 760);
  later.lanes[2].stalls = 9;
  core.look(later);
  const StreamLane& lane = core.lanes()[2];
  EXPECT_EQ(lane.words, 560u) << "since the first poll";
  EXPECT_EQ(lane.fill, 10u);
  EXPECT_EQ(lane.peak_fill, 400u);
  EXPECT_EQ(lane.stalls, 9u);
  EXPECT_EQ(lane.stalls_seen, 7u);
  EXPECT_EQ(lane.unseen, 0u);
  core.look(control_of(1300, 1400));
  EXPECT_EQ(core.lanes()[2].unseen, 1u) << "640 words between two polls";
}

TEST(StreamCore, without_a_relay_what_nobody_took_is_overwritten) {
  StreamCore core;
  core.look(control_of(0, 2000, false));
  EXPECT_FALSE(core.armed());
  EXPECT_EQ(core.lanes()[0].overwritten, 1488u);
  EXPECT_EQ(core.lanes()[0].fill, 512u);
}

TEST(StreamCore, firmware_that_is_loaded_anew_begins_at_0) {
  StreamCore core;
  core.look(control_of(1000, 1100));
  core.look(control_of(0, 50));
  EXPECT_EQ(core.restarts(), 1u);
  EXPECT_EQ(core.lanes()[0].words, 50u);
  EXPECT_EQ(core.lanes()[0].stalls_seen, 0u);
}

}  // namespace
}  // namespace ttc::other_profilers

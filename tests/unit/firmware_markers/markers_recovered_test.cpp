// recovered_frame: which words behind a rewound index are a frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "firmware_markers/frame.hpp"
#include "tests/support/same_digest.hpp"
#include "tests/unit/firmware_markers/markers_verify_fixture.hpp"

namespace ttc::markers::verify_test {
namespace {

struct Recovered {
  Recovered(const Words& words, FrameDigest before, size_t at = 0)
      : digest(before), length(recovered_frame(words, at, kVerifiedLane, {}, digest)) {}
  FrameDigest digest;
  size_t length;
};

TEST(Recovered, without_a_known_time_nothing_is_recovered) {
  EXPECT_EQ(Recovered(run(1, 1000, 1), {}).length, 0u);
}

TEST(Recovered, a_frame_followed_by_another_ends_there) {
  const Words words = run(1, 1000, 3) + run(2, 2000, 1);
  const Recovered first(words, known_until(500));
  EXPECT_EQ(first.length, 24u);
  EXPECT_EQ(until(first.digest), 1120u);
  EXPECT_EQ(first.digest.host_id, 1u);
  EXPECT_EQ(Recovered(words, first.digest, 24).length, 16u);
}

TEST(Recovered, the_last_frame_ends_where_its_markers_do) {
  EXPECT_EQ(Recovered(run(1, 1000, 3), known_until(500)).length, 24u) << "at the end of the words";
  EXPECT_EQ(Recovered(run(1, 1000, 3) + Words(20), known_until(500)).length, 24u) << "in front of zeros";
  EXPECT_EQ(Recovered(run(1, 1000, 3) + Words{1, 2, 3, 4}, known_until(500)).length, 24u);
}

TEST(Recovered, the_last_frame_ends_in_front_of_older_markers) {
  for (size_t older_zones = 4; older_zones < 12; ++older_zones) {
    const Words fresh = run(1, 1000, 3);
    Words words = run(7, 100, older_zones) + run(8, 400, 2);
    std::copy(fresh.begin(), fresh.end(), words.begin());
    const Recovered r(words, known_until(600));
    EXPECT_EQ(r.length, fresh.size()) << older_zones;
    EXPECT_EQ(until(r.digest), 1120u);
  }
}

TEST(Recovered, older_sums_behind_a_frame_are_not_its_own) {
  const Words sums{marker_high(device::kZoneTotal, 5, 0), 77, marker_high(device::kZoneTotal, 6, 0), 78};
  const Words fresh = run(1, 1000, 3) + sums;
  const Words older{marker_high(device::kZoneTotal, 5, 0), 17, marker_high(device::kZoneTotal, 6, 0), 18};
  const Words others{marker_high(device::kZoneTotal, 8, 0), 17, marker_high(device::kZoneTotal, 9, 0), 18};
  for (const Words& remains : {older, others})
    for (const Words& behind : {Words{}, Words(20), run(8, 400, 2), run(2, 2000, 2)})
      EXPECT_EQ(Recovered(fresh + remains + behind, known_until(600)).length, fresh.size());
  EXPECT_EQ(Recovered(fresh + run(2, 2000, 2), known_until(600)).length, fresh.size());
}

TEST(Recovered, a_frame_without_its_sums_keeps_every_word_that_has_a_time) {
  const Words fresh = run(1, 1000, 3);
  const Words sums{marker_high(device::kZoneTotal, 5, 0), 77, marker_high(device::kZoneTotal, 6, 0), 78};
  EXPECT_EQ(without_sums(fresh), fresh.size());
  EXPECT_EQ(without_sums(fresh + sums), fresh.size());
  EXPECT_EQ(without_sums(fresh + sums + Words{device::kUnsetWord, 0}), fresh.size());
  EXPECT_EQ(without_sums(run(1, 1000, 0) + sums), size_t{device::kFirstCustomWord});
  EXPECT_EQ(without_sums({}), 0u);
}

TEST(Recovered, the_last_frame_ends_with_its_own_padding) {
  Words words = run(1, 1000, 1);
  put(words, device::kTsEvent, 5, 1050);
  words = words + Words{device::kUnsetWord, 0};
  const size_t length = words.size();
  put(words, device::kZoneStart, 3, 200);
  put(words, device::kZoneEnd, 3, 210);
  EXPECT_EQ(Recovered(words, known_until(600)).length, length);
}

TEST(Recovered, nothing_behind_its_own_fw_end_belongs_to_a_frame) {
  Words words = run(1, 1000, 2);  // FW END 1110
  put(words, device::kZoneStart, 3, 1110);
  put(words, device::kZoneEnd, 3, 1200);
  EXPECT_EQ(Recovered(words, known_until(500)).length, 20u);
}

// One event and zones until the buffer is full: the last END has no room (tt-metal kernel_profiler.hpp).
TEST(Recovered, the_last_frame_is_recovered_with_what_overran_its_buffer) {
  Words words = run(1, 1000, 125);
  Words event;
  put(event, device::kTsEvent, 5, 1005);
  words.insert(words.begin() + device::kFirstCustomWord, event.begin(), event.end());
  ASSERT_EQ(words.size(), device::kBufferWords + 2u);
  const Words older = run(8, 400, 9), older_zones(older.begin() + device::kFirstCustomWord, older.end());
  for (const Words& behind : {Words{}, Words(20), older, older_zones})
    EXPECT_EQ(Recovered(words + behind, known_until(600)).length, words.size());
}

TEST(Recovered, a_frame_that_is_not_later_is_one_that_was_there_before) {
  const Recovered r(run(1, 1000, 3) + run(2, 2000, 1), known_until(1500));
  EXPECT_EQ(r.length, 0u);
  EXPECT_TRUE(same(r.digest, known_until(1500)));
  EXPECT_EQ(Recovered(run(1, 1000, 3), known_until(1119)).length, 0u);
  EXPECT_EQ(Recovered(run(1, 1000, 3), known_until(1050)).length, 0u)
      << "the delivered part of it reached into it";
}

TEST(Recovered, a_frame_without_a_time_counts_only_when_another_follows) {
  const Words sat_out = frame(1, {}, {}, 100, 1);
  EXPECT_EQ(Recovered(sat_out + run(2, 2000, 1), known_until(500)).length, 16u);
  EXPECT_EQ(Recovered(sat_out, known_until(500)).length, 0u);
  EXPECT_EQ(Recovered(sat_out + Words(8), known_until(500)).length, 0u);
}

TEST(Recovered, a_frame_of_quick_push_is_recovered_with_what_it_added) {
  const Verified first(frame(1, 1000, {}, 1010, 2), known_until(500));
  const Words second = frame(1, 1000, {}, 1100, 2);
  EXPECT_EQ(Recovered(second, first.digest).length, second.size());
  EXPECT_EQ(Recovered(second + run(2, 2000, 1), first.digest).length, second.size());
  EXPECT_EQ(Recovered(frame(1, 1000, {}, 1010, 2), first.digest).length, 0u) << "the frame itself";
  EXPECT_EQ(Recovered(frame(1, 1000, {}), first.digest).length, 0u) << "adds nothing";
}

TEST(Recovered, refuses_what_is_no_frame_and_places_beyond_the_words) {
  const Words words = run(1, 1000, 1);
  EXPECT_EQ(Recovered(words, known_until(500), 2).length, 0u);
  EXPECT_EQ(Recovered(words, known_until(500), words.size()).length, 0u);
  EXPECT_EQ(Recovered(words, known_until(500), words.size() + 100).length, 0u);
  EXPECT_EQ(Recovered({}, known_until(500)).length, 0u);
  Words damaged = words;
  damaged[0] = marker_high(device::kZoneEnd, 1, 0);
  EXPECT_EQ(Recovered(damaged, known_until(500)).length, 0u);
}

TEST(Recovered, a_payload_cut_by_the_end_of_the_words_does_not_belong_to_it) {
  Words words = run(1, 1000, 1);
  const size_t length = words.size();
  put(words, device::kTsData, 5, 1050);
  words.push_back(1);
  EXPECT_EQ(Recovered(words, known_until(500)).length, length);
}

TEST(Recovered, the_wrap_of_the_clock_does_not_end_a_frame) {
  const uint64_t t = at_clock(kClockMask);
  const Words words = run(1, t - 30, 5);
  EXPECT_EQ(Recovered(words, known_until(t - 1000)).length, words.size());
}

}  // namespace
}  // namespace ttc::markers::verify_test

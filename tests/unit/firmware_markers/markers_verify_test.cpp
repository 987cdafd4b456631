// verify_frames: which words of a log may be accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/frame.hpp"
#include "tests/support/same_digest.hpp"
#include "tests/unit/firmware_markers/markers_verify_fixture.hpp"

namespace ttc::markers::verify_test {
namespace {

// The first frame of an epoch, announced and not landed, where the last one delivered still is.
TEST(Verify, a_frame_with_its_end_is_the_last_of_its_launch) {
  const Words words = run(1, 1000, 2);
  const Verified first(words, {});
  ASSERT_EQ(first.walk.frames, 1u);
  const Verified again(words, first.digest);
  EXPECT_EQ(again.walk.frames, 0u);
  const Words both = words + words;
  const Verified at_once(both, {});
  EXPECT_EQ(at_once.walk.frames, 0u);  // where the first one ends is not known
}

TEST(Verify, whole_frames_are_taken_one_by_one) {
  const Words words = run(1, 1000, 2) + run(2, 2000, 0) + run(3, 3000, 1);
  const Verified v(words, {});
  EXPECT_TRUE(v.walk.clean);
  EXPECT_FALSE(v.walk.held);
  EXPECT_EQ(v.walk.whole_words, words.size());
  EXPECT_EQ(v.walk.frames, 3u);
  EXPECT_EQ(v.walk.markers, 4u * 3 + 2 * 3);
  ASSERT_EQ(v.judge.taken.size(), 3u);
  EXPECT_EQ(v.judge.taken[0].words.size(), 20u);
  EXPECT_EQ(v.judge.taken[1].end, 32u);
  EXPECT_EQ(v.judge.taken[2].words[device::kIdHost], 3u);
  EXPECT_TRUE(v.judge.asked.empty());
  LaneDecoder decoder(kVerifiedLane);
  Batch batch;
  decoder.decode(words, batch);
  EXPECT_TRUE(same(v.digest, decoder.digest()));
}

TEST(Verify, nothing_is_clean_and_changes_nothing) {
  const Verified v({}, known_until(7));
  EXPECT_TRUE(v.walk.clean);
  EXPECT_EQ(v.walk.frames, 0u);
  EXPECT_TRUE(same(v.digest, known_until(7)));
}

// Index before data: zeros, or what the log held before the host rewound it, are where the frame will be. The
// frame before may have to wait too, as only a frame after it shows where it ends.
void expect_last_refused(const Words& before, const Words& fresh, const Words& older, size_t granule) {
  ASSERT_TRUE(Verified(before + fresh, known_until(500)).walk.clean);
  const Verified first(before, known_until(500));
  for (size_t landed = 0; landed < fresh.size(); landed += granule) {
    const Words partial = over(fresh, landed, older);
    if (partial == fresh) continue;
    const Verified v(before + partial, known_until(500));
    EXPECT_FALSE(v.walk.clean) << landed << " words landed";
    if (v.walk.whole_words == 0) {
      EXPECT_TRUE(same(v.digest, known_until(500))) << landed << " words landed";
    } else {
      EXPECT_EQ(v.walk.whole_words, before.size()) << landed << " words landed";
      EXPECT_TRUE(same(v.digest, first.digest)) << landed << " words landed";
    }
  }
}

TEST(Verify, a_frame_with_zeros_where_words_have_not_landed_is_refused) {
  expect_last_refused({}, run(1, 1000, 5), {}, 2);
  expect_last_refused(run(1, 1000, 3), run(2, 2000, 5), {}, 2);
}

TEST(Verify, a_frame_over_an_older_one_of_the_same_shape_is_refused) {
  expect_last_refused({}, run(1, 1000, 5), run(7, 100, 5), 2);
  expect_last_refused(run(1, 1000, 3), run(2, 2000, 5), run(7, 100, 5), 2);
}

TEST(Verify, a_frame_over_a_longer_older_one_is_refused) {
  expect_last_refused(run(1, 1000, 3), run(2, 2000, 5), run(7, 100, 20), 2);
}

// The log was rewound: shorter frames of the epoch before lie under the new one, with a boundary inside it.
TEST(Verify, a_frame_that_has_landed_up_to_the_start_of_an_older_frame_is_refused) {
  const Words fresh = run(1, 1000, 7);                                   // 40 words
  const Words older = run(7, 100, 0) + run(8, 200, 0) + run(9, 300, 1);  // boundaries at 12 and 24
  for (const size_t landed : {12u, 24u}) {
    const Verified v(over(fresh, landed, older), known_until(500));
    EXPECT_EQ(v.walk.whole_words, 0u) << landed << " words landed";
  }
}

TEST(Verify, a_frame_that_has_landed_up_to_older_padding_and_frame_is_refused) {
  const Words fresh = run(1, 1000, 7);
  Words older = run(7, 100, 0);
  put(older, device::kTsEvent, 5, 150);
  older = older + Words{device::kUnsetWord, 0} + run(8, 200, 0);  // padding at 14, a frame at 16
  const Verified v(over(fresh, 14, older), known_until(500));
  EXPECT_EQ(v.walk.whole_words, 0u);
}

TEST(Verify, a_time_not_later_than_the_last_one_is_refused) {
  const Words words = run(1, 1000, 1);
  EXPECT_TRUE(Verified(words, known_until(999)).walk.clean);
  EXPECT_EQ(Verified(words, known_until(1000)).walk.whole_words, 0u);
  EXPECT_EQ(Verified(words, known_until(5000)).walk.whole_words, 0u);
  EXPECT_TRUE(Verified(words, {}).walk.clean) << "nothing known, nothing to compare with";
}

TEST(Verify, the_floor_rises_with_every_frame) {
  const Words words = run(1, 1000, 1) + run(2, 2000, 1) + run(3, 1500, 1);
  const Verified v(words, {});
  EXPECT_LE(v.walk.frames, 2u) << "an older frame may make the one before it wait";
  EXPECT_LE(v.walk.whole_words, 32u);
}

TEST(Verify, a_single_custom_from_before_the_floor_refuses_its_frame) {
  Words words = run(1, 1000, 3);
  words[16 + 1] = static_cast<uint32_t>(clock_at(400));  // start of the second zone
  EXPECT_EQ(Verified(words, known_until(500)).walk.whole_words, 0u);
}

TEST(Verify, a_time_at_or_behind_the_ceiling_is_refused) {
  const Words words = run(1, 1000, 1) + run(2, 2000, 1);  // FW ends at 1100, 2100
  EXPECT_EQ(Verified(words, {}, {}, {true, clock_at(2101)}).walk.frames, 2u);
  EXPECT_EQ(Verified(words, {}, {}, {true, clock_at(2100)}).walk.frames, 1u);
  EXPECT_EQ(Verified(words, {}, {}, {true, clock_at(1100)}).walk.frames, 0u);
  EXPECT_EQ(Verified(words, {}, {}, {false, 0}).walk.frames, 2u);
}

TEST(Verify, a_cut_log_gives_its_last_frame_only_when_another_begins_behind_it) {
  const Words two = run(1, 1000, 1) + run(2, 2000, 1);
  EXPECT_EQ(Verified(two, {}, {}, {}, true).walk.whole_words, 16u);
  EXPECT_EQ(Verified(two, {}, {}, {}, false).walk.whole_words, 32u);
  EXPECT_EQ(Verified(run(1, 1000, 1), {}, {}, {}, true).walk.whole_words, 0u);
  // Cut anywhere inside the second frame, the first is never given in part.
  for (size_t size = 16; size < 32; ++size) {
    const Words part(two.begin(), two.begin() + static_cast<ptrdiff_t>(size));
    const size_t whole = Verified(part, {}, {}, {}, true).walk.whole_words;
    EXPECT_TRUE(whole == 0 || whole == 16) << size;
    EXPECT_TRUE(whole == 16 || size < 28) << size;
  }
}

TEST(Verify, the_judge_decides_about_frames_without_a_time) {
  const Words words = run(1, 1000, 1) + frame(2, {}, {}, 1010, 1) + run(3, 2000, 1);
  const Verified yes(words, {});
  EXPECT_TRUE(yes.walk.clean);
  EXPECT_FALSE(yes.judge.asked.empty());
  EXPECT_EQ(std::count(yes.judge.asked.begin(), yes.judge.asked.end(), 2u),
            static_cast<ptrdiff_t>(yes.judge.asked.size()));
  ASSERT_EQ(yes.judge.taken.size(), 3u);
  EXPECT_TRUE(yes.judge.taken[1].sat_out);
  EXPECT_FALSE(yes.judge.taken[0].sat_out);
  EXPECT_EQ(yes.walk.markers, 12u) << "stale markers are none";
  TestJudge refusing;
  refusing.sat_out = false;
  const Verified no(words, {}, refusing);
  EXPECT_LE(no.walk.whole_words, 16u);
  for (const VerifiedFrame& f : no.judge.taken) EXPECT_FALSE(f.sat_out);
}

TEST(Verify, a_judge_that_does_not_want_a_frame_yet_holds_the_walk_in_front_of_it) {
  TestJudge once;
  once.limit = 1;
  const Words words = run(1, 1000, 1) + run(2, 2000, 1);
  const Verified v(words, {}, once);
  EXPECT_TRUE(v.walk.held);
  EXPECT_FALSE(v.walk.clean);
  EXPECT_EQ(v.walk.whole_words, 16u);
  EXPECT_EQ(v.walk.markers, 6u);
  EXPECT_TRUE(same(v.digest, Verified(run(1, 1000, 1), {}).digest));
}

TEST(Verify, tells_frames_with_payload_from_those_whose_every_word_is_checked) {
  Words data = run(1, 1000, 1), total = run(2, 2000, 1), event = run(3, 3000, 1);
  put(data, device::kTsData, 5, 1050);
  data = data + Words{0, 0};
  total = total + Words{marker_high(device::kZoneTotal, 5, 0), 77};
  put(event, device::kTsEvent, 5, 3050);
  const Verified v(data + total + event, {});
  ASSERT_EQ(v.judge.taken.size(), 3u);
  EXPECT_TRUE(v.judge.taken[0].has_payload);
  EXPECT_TRUE(v.judge.taken[1].has_payload);
  EXPECT_FALSE(v.judge.taken[2].has_payload);
}

TEST(Verify, repeats_of_quick_push_need_no_new_time_but_the_rest_does) {
  const Words first = frame(1, 1000, {}, 1010, 2);
  const Words second = frame(1, 1000, {}, 1100, 2);
  const Words last = frame(1, 1000, 1900, 1200, 2);
  const Verified v(first + second + last, known_until(500));
  EXPECT_TRUE(v.walk.clean);
  EXPECT_EQ(until(v.digest), 1900u);
  // The same frame again is not later than itself.
  EXPECT_EQ(Verified(first + first, known_until(500)).walk.frames, 1u);
  // Under another host id the slots are no repeats.
  EXPECT_LE(Verified(first + frame(2, 1000, {}, 1100, 2), known_until(500)).walk.frames, 1u);
}

TEST(Verify, a_roll_over_between_the_halves_does_not_refuse_a_frame) {
  Words words = frame(1, at_clock(9 * kRollOver - 10), at_clock(9 * kRollOver + 500));
  put(words, device::kZoneStart, 3, at_clock(9 * kRollOver - 2));
  put(words, device::kZoneEnd, 3, at_clock(8 * kRollOver + 3));
  const Verified v(words, known_until(500));
  EXPECT_TRUE(v.walk.clean);
  EXPECT_EQ(v.digest.last_time, 9 * kRollOver + 500);
}

TEST(Verify, a_roll_over_at_the_front_of_a_later_quick_push_does_not_refuse_its_frame) {
  const uint64_t start = at_clock(6 * kRollOver + 0x40000000);  // the launch has been running for seconds
  Words words = frame(1, start, {}, at_clock(9 * kRollOver - 200), 1) + frame(1, start, {});
  put(words, device::kZoneStart, 3, at_clock(8 * kRollOver + 3));
  put(words, device::kZoneEnd, 3, at_clock(9 * kRollOver + 20));
  const Verified v(words, known_until(start - 500));
  EXPECT_EQ(v.walk.frames, 2u);
  EXPECT_EQ(v.digest.last_time, 9 * kRollOver + 20);
}

// A roll-over adds 2^32 cycles, which puts a custom behind the end of its own frame unless it is one.
TEST(Verify, an_older_custom_with_a_fresh_looking_low_half_does_not_pass_for_a_roll_over) {
  Words words = run(1, 1000, 3);
  words[words.size() - 2] = marker_high(device::kZoneEnd, 3, 7);
  words[words.size() - 1] = 0x1234;  // of long ago: the frame is at 0x7'4000'0000
  EXPECT_EQ(Verified(words, known_until(500)).walk.whole_words, 0u);
}

TEST(Verify, the_wrap_of_the_clock_does_not_refuse_a_frame) {
  const uint64_t t = at_clock(kClockMask);
  const Verified v(run(1, t - 30, 5) + run(2, t + 500, 1), known_until(t - 1000));
  EXPECT_TRUE(v.walk.clean);
  EXPECT_EQ(v.digest.last_time, 599u);
}

// The digest after a frame without a time is "known" but has no time to compare with.
TEST(Verify, a_frame_behind_a_first_frame_without_a_time_is_accepted_whatever_the_clock) {
  for (const uint64_t clock :
       {uint64_t{100000}, uint64_t{1} << 42, (uint64_t{1} << 43) + 100000, kClockMask - 5000}) {
    const Verified v(frame(1, {}, {}, 100, 1) + run(2, at_clock(clock), 1), {});
    EXPECT_EQ(v.walk.frames, 2u) << clock;
  }
}

TEST(Verify, a_damaged_sentinel_neither_refuses_its_frame_nor_counts_in_the_one_before) {
  Words words = run(1, 1000, 1) + run(2, 2000, 1) + run(3, 3000, 1);
  for (const uint64_t foreign : {clock_at(2050), clock_at(100), uint64_t{3} << 40}) {
    words[16] = marker_high(device::kZoneEnd, 0x77, static_cast<uint32_t>(foreign >> 32));
    words[17] = static_cast<uint32_t>(foreign);
    const Verified v(words, known_until(500));
    EXPECT_TRUE(v.walk.clean) << foreign;
    EXPECT_EQ(v.walk.markers, 18u) << foreign;
    EXPECT_EQ(v.judge.taken.size(), 3u);
    LaneDecoder decoder(kVerifiedLane);
    decoder.resume(known_until(500));
    Batch batch;
    decoder.decode(words, batch);
    EXPECT_TRUE(same(v.digest, decoder.digest())) << foreign;
  }
}

TEST(Verify, both_ways_of_reading_agree_on_the_digest_in_front_of_a_damaged_sentinel) {
  Words words = run(1, 1000, 1) + frame(2, {}, {});
  words[16] = marker_high(device::kZoneEnd, 0x77, 7);
  words[17] = static_cast<uint32_t>(clock_at(2050));
  const Verified v(words, {});
  ASSERT_TRUE(v.walk.clean);
  LaneDecoder decoder(kVerifiedLane);
  Batch batch;
  decoder.decode(words, batch);
  EXPECT_EQ(v.digest.last_time, decoder.digest().last_time);
}

TEST(Verify, frames_up_to_what_the_firmware_can_overrun_are_accepted) {
  for (const size_t words : {512u, 514u, 516u, 518u}) {
    Words w = run(1, 1000, (words - 12) / 4);
    if (w.size() < words) put(w, device::kTsEvent, 1, 1000 + 10 * ((words - 12) / 4) + 20);
    ASSERT_EQ(w.size(), words);
    EXPECT_EQ(Verified(w, {}).walk.clean, words <= 516) << words;
  }
}

TEST(Verify, other_lanes_frames_and_foreign_packets_are_refused) {
  Words other = run(1, 1000, 1);
  other[2] = kVerifiedLane.format->identity(2, kVerifiedLane.flat_id, 0);
  EXPECT_EQ(Verified(other, {}).walk.whole_words, 0u);
  Words streaming = run(1, 1000, 2);
  streaming[16] = marker_high(6, 1, 0);
  EXPECT_EQ(Verified(streaming, {}).walk.whole_words, 0u);
  Words invalid = run(1, 1000, 2);
  invalid[16] &= 0x7fffffff;
  EXPECT_EQ(Verified(invalid, {}).walk.whole_words, 0u);
}

}  // namespace
}  // namespace ttc::markers::verify_test

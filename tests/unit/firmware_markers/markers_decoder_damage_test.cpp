// LaneDecoder on damaged logs: sentinels that were written over, words that were cut off or are no packets.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/unit/firmware_markers/markers_decoder_fixture.hpp"

namespace ttc::markers::decoder_test {
namespace {

Log damaged_at(Log log, size_t word, uint64_t foreign_time) {
  log.words[word] = marker_high(device::kZoneEnd, 0x5555, static_cast<uint32_t>(foreign_time >> 32));
  log.words[word + 1] = static_cast<uint32_t>(foreign_time);
  return log;
}

TEST(Decoder, accepts_a_first_frame_with_a_damaged_sentinel) {
  const Decoded d(damaged_at(Log().frame(1, 100, 200).zone(110, 120), 0, 105));
  EXPECT_EQ(d.times(), (Times{100, 200, 110, 120}));
  EXPECT_EQ(d.odd().damaged_sentinels, 1u);
  EXPECT_EQ(d.odd().unparsable_words, 0u);
}

TEST(Decoder, does_not_emit_a_damaged_sentinel_as_the_last_marker_of_the_frame_before) {
  const Decoded d(damaged_at(
      Log().frame(1, 100, 200).zone(110, 120).frame(2, 300000, 400000).zone(310000, 320000), 16, 305000));
  ASSERT_EQ(d.frames(), 2u);
  EXPECT_EQ(d.times(), (Times{100, 200, 110, 120, 300000, 400000, 310000, 320000}));
  EXPECT_EQ(d.batch.frames()[0].marker_count, 4u);
  EXPECT_EQ(d.batch.frames()[1].first_word, 16u);
  EXPECT_EQ(d.odd().damaged_sentinels, 1u);
  EXPECT_EQ(d.odd().unparsable_words + d.odd().resyncs, 0u);
}

TEST(Decoder, finds_a_damaged_sentinel_behind_a_frame_without_customs_and_behind_padding_and_payload) {
  const Decoded bare(damaged_at(Log().frame(1, 100, 200).frame(2, 300000, 400000), 12, 305000));
  EXPECT_EQ(bare.times(), (Times{100, 200, 300000, 400000}));
  const Decoded padded(
      damaged_at(Log().frame(1, 100, 200).marker(device::kTsEvent, 1, 150).padding().frame(2, 300000, 400000),
                 16, 305000));
  EXPECT_EQ(padded.times(), (Times{100, 200, 150, 300000, 400000}));
  const Decoded data(
      damaged_at(Log().frame(1, 100, 200).data(1, 150, 9).frame(2, 300000, 400000), 16, 305000));
  EXPECT_EQ(data.times(), (Times{100, 200, 150, 300000, 400000}));
}

TEST(Decoder, a_damaged_sentinel_leaves_no_trace_in_the_counts) {
  const auto counts = [](Log log, uint64_t foreign_time) {
    const Decoded d(damaged_at(std::move(log), 16, foreign_time));
    EXPECT_EQ(d.odd().damaged_sentinels, 1u);
    return d.odd();
  };
  const Log log = Log().frame(1, 1000000, 2000000).zone(1100000, 1200000).frame(2, 3000000, 4000000);
  EXPECT_EQ(counts(log, 500000).stale_markers, 0u) << "of a launch before";
  EXPECT_EQ(counts(log, 1150000).backward_times, 0u) << "earlier than the custom before it";
  EXPECT_EQ(counts(log, 5).repaired_times, 0u) << "with a low half that looks fresh";
  const Log sat_out = Log().frame(1, {}).zone(10, 20).frame(2, 3000000, 4000000);
  EXPECT_EQ(counts(sat_out, 2500000).stale_markers, 2u) << "behind a stale tail of two";
}

TEST(Decoder, a_damaged_sentinel_does_not_move_the_lanes_clock) {
  // The second frame has no time of its own, so the lane's last time is still that of the first.
  const Decoded d(damaged_at(Log().frame(1, 100, 200).zone(110, 120).frame(2, {}), 16, 305));
  EXPECT_EQ(d.decoder.digest().last_time, 200u);
}

TEST(Decoder, a_damaged_sentinel_is_no_reason_to_repair_the_frame_it_belongs_to) {
  const Decoded d(
      damaged_at(Log().frame(1, 100, 200).zone(110, 120).frame(2, 300, 400).zone(310, 320), 16, 305));
  EXPECT_EQ(d.times(), (Times{100, 200, 110, 120, 300, 400, 310, 320}));
  EXPECT_EQ(d.odd().repaired_times, 0u);
}

// ID_HH = 0x80000000 marks a frame that is not valid yet (tt-metal kernel_profiler.hpp); an overrun never
// writes it.
TEST(Decoder, an_unset_word_is_no_damaged_sentinel) {
  Log log = Log().frame(1, 100000, 200000).frame(2, 300000, 400000);
  log.words[12] = device::kUnsetWord;
  EXPECT_FALSE(frame_starts_damaged(log.words, 12, kLane));
  const Decoded d(log);
  EXPECT_EQ(d.frames(), 1u);
  EXPECT_EQ(d.odd().damaged_sentinels, 0u);
}

TEST(Decoder, the_zone_pair_of_quick_push_is_known_in_front_of_a_damaged_sentinel) {
  const Decoded d(damaged_at(Log().frame(1, 100).zone(110, 120, 0xABC).frame(1, 100, 400), 16, 115));
  EXPECT_TRUE(d[1].flags & kQuickPush);
  EXPECT_TRUE(d[2].flags & kQuickPush);
}

TEST(Decoder, payload_cut_by_the_end_of_the_span_is_counted_once_and_not_guessed) {
  for (size_t cut = 1; cut <= 4; ++cut) {
    Log log = Log().frame(1, 100, 900).zone(110, 120).data16(6, 210, 1, 2);
    log.words.resize(log.words.size() - cut);
    const Decoded d(log);
    EXPECT_EQ(d.times(), (Times{100, 900, 110, 120})) << cut;
    EXPECT_EQ(d.odd().truncated_packets, 1u) << cut;
  }
}

TEST(Decoder, an_odd_last_word_is_a_truncated_packet) {
  Log log = Log().frame(1, 100, 900).zone(110, 120).zone(130, 140);
  log.words.pop_back();
  const Decoded d(log);
  EXPECT_EQ(d.times(), (Times{100, 900, 110, 120, 130}));
  EXPECT_EQ(d.odd().truncated_packets, 1u);
}

TEST(Decoder, a_frame_head_that_is_cut_is_unparsable) {
  for (size_t keep = 1; keep < device::kFirstCustomWord; ++keep) {
    Log log = Log().frame(1, 100, 900).frame(2, 1000, 1100);
    log.words.resize(12 + keep);
    const Decoded d(log);
    EXPECT_EQ(d.frames(), 1u) << keep;
    EXPECT_EQ(d.odd().unparsable_words + d.odd().truncated_packets, keep == 1 ? 1 : keep) << keep;
  }
}

Log five_frames() {
  Log log;
  for (uint32_t f = 0; f < 5; ++f) {
    const uint64_t t = 1000 * (f + 1);
    log.frame(f + 1, t, t + 900, t + 10, t + 890).zone(t + 20, t + 30).zone(t + 40, t + 50);  // 20 words
  }
  return log;
}

TEST(Decoder, a_marker_without_its_valid_bit_costs_the_rest_of_its_frame_only) {
  Log log = five_frames();
  log.words[20 + 14] &= 0x7fffffff;  // second custom of the second frame
  const Decoded d(log);
  ASSERT_EQ(d.frames(), 5u);
  EXPECT_EQ(d.batch.frames()[1].marker_count, 5u);
  for (size_t f : {0u, 2u, 3u, 4u}) EXPECT_EQ(d.batch.frames()[f].marker_count, 8u);
  EXPECT_EQ(d.odd().unparsable_words, 6u);
  EXPECT_EQ(d.odd().resyncs, 1u);
}

TEST(Decoder, a_frame_whose_identity_is_another_lanes_is_skipped_whole) {
  for (const uint32_t identity :
       {device::kG3.identity(1, 37, 0), device::kG3.identity(2, 38, 0), 0x80000000u}) {
    Log log = five_frames();
    log.words[40 + 2] = identity;
    const Decoded d(log);
    ASSERT_EQ(d.frames(), 4u);
    EXPECT_EQ(d.odd().unparsable_words, 20u);
    EXPECT_EQ(d.odd().resyncs, 1u);
    EXPECT_EQ(d.size(), 32u);
  }
}

TEST(Decoder, a_slot_of_the_wrong_type_is_no_frame) {
  for (const size_t slot : {4u, 6u, 8u, 10u}) {
    Log log = five_frames();
    log.words[40 + slot] ^= 1u << 28;
    const Decoded d(log);
    EXPECT_EQ(d.frames(), 4u) << slot;
    EXPECT_EQ(d.odd().unparsable_words, 20u) << slot;
  }
}

TEST(Decoder, zeros_between_frames_are_counted_word_by_word) {
  Log log = five_frames();
  log.words.insert(log.words.begin() + 60, 34, 0u);
  const Decoded d(log);
  EXPECT_EQ(d.frames(), 5u);
  EXPECT_EQ(d.odd().unparsable_words, 34u);
  EXPECT_EQ(d.odd().resyncs, 1u);
}

TEST(Decoder, damage_in_two_places_is_two_resyncs) {
  Log log = five_frames();
  log.words[12] = 1;
  log.words[60] = 1;  // sentinel, no marker either
  const Decoded d(log);
  EXPECT_EQ(d.frames(), 4u);
  EXPECT_EQ(d.odd().resyncs, 2u);
  EXPECT_EQ(d.odd().unparsable_words, 8u + 20u);
}

TEST(Decoder, packet_types_6_and_7_are_not_the_classic_backend) {
  for (const uint32_t type : {6u, 7u}) {
    Log log = five_frames();
    log.words[20 + 16] = marker_high(type, kZone, 0);
    const Decoded d(log);
    ASSERT_EQ(d.frames(), 5u);
    EXPECT_EQ(d.odd().unknown_packets, 1u);
    EXPECT_EQ(d.odd().unparsable_words, 4u);
    EXPECT_EQ(d.odd().resyncs, 1u);
    EXPECT_EQ(d.batch.frames()[1].marker_count, 6u);
  }
}

}  // namespace
}  // namespace ttc::markers::decoder_test

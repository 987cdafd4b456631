// LaneDecoder on times that are not in order: halves that rolled over, the wrap of the clock, steps back.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/firmware_markers/markers_decoder_fixture.hpp"

namespace ttc::markers::decoder_test {
namespace {

TEST(Decoder, a_custom_earlier_than_the_one_before_counts_as_backward) {
  const Decoded d(Log().frame(1, 1000000, 2000000).zone(1500000, 1400000).zone(1450000, 1600000));
  EXPECT_EQ(d.odd().backward_times, 2u);
  EXPECT_EQ(d.odd().stale_markers, 0u);
  EXPECT_EQ(d.size(), 6u);
}

TEST(Decoder, repairs_a_custom_whose_low_half_rolled_over) {
  const uint64_t t = 5 * kRoll - 10;
  const Decoded d(
      Log().frame(1, t, 5 * kRoll + 900).zone(t + 1, 4 * kRoll + 3).zone(5 * kRoll + 20, 5 * kRoll + 30));
  EXPECT_EQ(d.odd().repaired_times, 1u);
  EXPECT_EQ(d[3].time_cycles, 5 * kRoll + 3);
  EXPECT_EQ(d[3].flags, kRepaired);
  EXPECT_EQ(d[4].flags, 0);
  EXPECT_EQ(d.odd().stale_markers + d.odd().backward_times, 0u);
}

TEST(Decoder, repairs_data_and_events_too) {
  const uint64_t t = 5 * kRoll - 10;
  const Decoded d(Log().frame(1, t, 5 * kRoll + 900).data(4, 4 * kRoll + 3, 77));
  EXPECT_EQ(d[2].time_cycles, 5 * kRoll + 3);
  EXPECT_EQ(d[2].flags, kRepaired);
  EXPECT_EQ(d.batch.payload(d[2].payload), 77u);
  const Decoded e(Log().frame(1, t, 5 * kRoll + 900).marker(device::kTsEvent, 4, 4 * kRoll));
  EXPECT_EQ(e[2].time_cycles, 5 * kRoll);
}

TEST(Decoder, repairs_fw_start_by_the_frame_before) {
  Decoded d(Log()
                .frame(1, 5 * kRoll - 900, 5 * kRoll - 800)
                .frame(2, 4 * kRoll + 5, 5 * kRoll + 700)
                .zone(5 * kRoll + 20, 5 * kRoll + 30));
  EXPECT_EQ(d.odd().repaired_times, 1u);
  const auto second = d.batch.markers(d.batch.frames()[1]);
  EXPECT_EQ(second[0].time_cycles, 5 * kRoll + 5);
  EXPECT_EQ(second[0].flags, kGuaranteed | kRepaired);
  EXPECT_EQ(second[1].flags, kGuaranteed);
  EXPECT_EQ(d.decoder.digest().last_time, 5 * kRoll + 700);
}

TEST(Decoder, repairs_fw_start_of_a_lane_of_which_nothing_is_known_by_what_follows) {
  Decoded d(Log()
                .frame(1, 4 * kRoll + 425, 5 * kRoll + 90000, 5 * kRoll + 700, 5 * kRoll + 80000)
                .zone(5 * kRoll + 800, 5 * kRoll + 900)
                .frame(2, 5 * kRoll + 100000, 5 * kRoll + 200000));
  EXPECT_EQ(d.odd().repaired_times, 1u);
  EXPECT_EQ(d[0].time_cycles, 5 * kRoll + 425);
  EXPECT_EQ(d[0].flags, kGuaranteed | kRepaired);
  EXPECT_EQ(d[1].time_cycles, 5 * kRoll + 90000);
  EXPECT_EQ(d[4].flags, 0);
}

// An application may rest for longer than a roll-over between two launches.
TEST(Decoder, repairs_fw_start_after_a_rest_longer_than_a_roll_over) {
  const Decoded d(Log()
                      .frame(1, 2 * kRoll + 100000, 2 * kRoll + 200000)
                      .frame(2, 4 * kRoll + 5, 5 * kRoll + 900, 5 * kRoll + 100, 5 * kRoll + 800));
  const auto second = d.batch.markers(d.batch.frames()[1]);
  EXPECT_EQ(second[0].time_cycles, 5 * kRoll + 5);
  EXPECT_EQ(d.odd().repaired_times, 1u);
}

TEST(Decoder, a_frame_pushed_in_a_run_is_repaired_by_its_first_custom) {
  const Decoded d(Log().frame(1, 4 * kRoll + 5).zone(5 * kRoll + 20, 5 * kRoll + 30));
  EXPECT_EQ(d[0].time_cycles, 5 * kRoll + 5);
}

TEST(Decoder, a_firmware_zone_longer_than_a_roll_over_is_not_repaired) {
  const Decoded d(Log().frame(1, 4 * kRoll + 425, 5 * kRoll + 9000, 4 * kRoll + 700, 5 * kRoll + 8000));
  EXPECT_EQ(d.times(), (Times{4 * kRoll + 425, 5 * kRoll + 9000, 4 * kRoll + 700, 5 * kRoll + 8000}));
  EXPECT_EQ(d.odd().repaired_times, 0u);
}

// Accumulating firmware leaves its slots unset: the first marker of a lane is a custom.
TEST(Decoder, repairs_the_first_marker_of_an_accumulating_lane_by_the_next) {
  Lane lane = kLane;
  lane.mode = device::Mode::accumulate;
  const Decoded d(
      Log(lane).frame(0, {}).zone(4 * kRoll + 9, 5 * kRoll + 30).zone(5 * kRoll + 40, 5 * kRoll + 50), lane);
  EXPECT_EQ(d.times(), (Times{5 * kRoll + 9, 5 * kRoll + 30, 5 * kRoll + 40, 5 * kRoll + 50}));
  EXPECT_EQ(d[0].flags, kRepaired);
}

TEST(Decoder, repairs_fw_end_and_kernel_slots_by_fw_start) {
  const uint64_t t = 5 * kRoll - 10;
  Decoded d(Log().frame(1, t, 4 * kRoll + 900, t + 1, 4 * kRoll + 800));
  EXPECT_EQ(d.times(), (Times{t, 5 * kRoll + 900, t + 1, 5 * kRoll + 800}));
  EXPECT_EQ(d.odd().repaired_times, 2u);
  EXPECT_EQ(d.decoder.digest().last_time, 5 * kRoll + 900);
}

TEST(Decoder, does_not_repair_a_time_whose_low_half_is_not_fresh) {
  const uint64_t t = 5 * kRoll - 10;
  const Decoded d(Log().frame(1, t - 5, 5 * kRoll + 90000000).zone(t, 4 * kRoll + 0x10000));
  EXPECT_EQ(d.odd().repaired_times, 0u);
  EXPECT_EQ(d[3].time_cycles, 4 * kRoll + 0x10000);
  EXPECT_EQ(d[3].flags, kStale);
}

TEST(Decoder, a_repeated_slot_keeps_its_repaired_time) {
  const Decoded d(Log()
                      .frame(1, 5 * kRoll - 900, 5 * kRoll - 800)
                      .frame(2, 4 * kRoll + 5)
                      .zone(5 * kRoll + 20, 5 * kRoll + 30)
                      .frame(2, 4 * kRoll + 5, 5 * kRoll + 700)
                      .total(7, 1));
  const auto first = d.batch.markers(d.batch.frames()[1]);
  const auto second = d.batch.markers(d.batch.frames()[2]);
  EXPECT_EQ(first[0].time_cycles, 5 * kRoll + 5);
  EXPECT_TRUE(second[0].flags & kDuplicate);
  EXPECT_EQ(second[0].time_cycles, first[0].time_cycles);
  EXPECT_EQ(second[2].type, MarkerType::zone_total);
  EXPECT_EQ(second[2].time_cycles, first[0].time_cycles);  // a total has the time of its FW start
}

// Dispatch kernels run for minutes: their FW start is no measure for what a later quick push brings.
TEST(Decoder, repairs_the_first_custom_of_a_later_quick_push_by_the_frame_before) {
  Decoded d(Log()
                .frame(1, 2 * kRoll + 5000)
                .zone(5 * kRoll - 200, 5 * kRoll - 100)
                .frame(1, 2 * kRoll + 5000)
                .zone(4 * kRoll + 3, 5 * kRoll + 20));
  const auto second = d.batch.markers(d.batch.frames()[1]);
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(second[1].time_cycles, 5 * kRoll + 3);
  EXPECT_EQ(second[1].flags & kRepaired, kRepaired);
}

TEST(Decoder, the_wrap_of_the_44_bit_clock_is_no_step_back) {
  const uint64_t t = kClockMask - 9;
  Decoded d(Log().frame(1, t, 90, t + 1, 80).zone(t + 2, 5).zone(6, 7).frame(2, 100, 200).zone(110, 120));
  EXPECT_EQ(d.times(), (Times{t, 90, t + 1, 80, t + 2, 5, 6, 7, 100, 200, 110, 120}));
  EXPECT_TRUE(none(d.odd()));
  EXPECT_EQ(d.decoder.digest().last_time, 200u);
}

TEST(Decoder, repairs_a_roll_over_that_is_also_the_wrap) {
  const uint64_t t = kClockMask - 9;
  Decoded d(Log().frame(1, t, 90).zone(t + 1, (kClockMask + 1 - kRoll) + 3));
  EXPECT_EQ(d[3].time_cycles, 3u);
  EXPECT_EQ(d[3].flags, kRepaired);
  EXPECT_EQ(d.decoder.digest().last_time, 90u);
}

TEST(Decoder, a_step_back_across_the_wrap_counts_as_backward) {
  const uint64_t t = kClockMask - 99;
  const Decoded d(Log().frame(1, t, 90).zone(5, t + 50));
  EXPECT_EQ(d.odd().backward_times, 1u);
}

TEST(Decoder, a_marker_from_before_the_wrap_is_stale_in_a_launch_behind_it) {
  const Decoded d(Log().frame(1, 50, 900).zone(kClockMask - 99, kClockMask - 50).zone(60, 70));
  EXPECT_EQ(d.odd().stale_markers, 2u);
  EXPECT_EQ(d.odd().backward_times, 0u);
}

TEST(Decoder, clock_difference_is_signed_and_wraps) {
  EXPECT_EQ(clock_difference(5, kClockMask - 4), 10);
  EXPECT_EQ(clock_difference(kClockMask - 4, 5), -10);
  EXPECT_EQ(clock_difference(7, 7), 0);
  EXPECT_EQ(clock_difference(uint64_t{1} << 43, 0), -(int64_t{1} << 43));
}

}  // namespace
}  // namespace ttc::markers::decoder_test

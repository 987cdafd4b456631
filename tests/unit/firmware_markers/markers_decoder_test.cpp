// LaneDecoder on logs typed by hand: every packet type, every oddity, exact counts.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "firmware_markers/decoder.hpp"

namespace ttc::markers {
namespace {

using device::marker_high;

constexpr uint32_t kFw = 0x2F6D, kKernel = 0xFE3E, kZone = 0x1234;
const Lane kLane{&device::kG3, 2, 37};
constexpr uint64_t kRoll = uint64_t{1} << 32;
using Time = std::optional<uint64_t>;  // empty: an unset slot

// A lane's DRAM log, written the way the firmware lays it out.
class Log {
 public:
  explicit Log(Lane lane = kLane) : lane_(lane) {}

  Log& frame(uint32_t host, Time fw_start, Time fw_end = {}, Time kernel_start = {}, Time kernel_end = {},
             uint32_t trace = 0) {
    words.insert(words.end(), {0, 0, lane_.format->identity(lane_.risc, lane_.flat_id, trace), host});
    slot(device::kZoneStart, kFw, fw_start);
    slot(device::kZoneEnd, kFw, fw_end);
    slot(device::kZoneStart, kKernel, kernel_start);
    slot(device::kZoneEnd, kKernel, kernel_end);
    return *this;
  }
  Log& marker(uint32_t type, uint32_t id, uint64_t time) {
    return raw({marker_high(type, id, static_cast<uint32_t>(time >> 32)), static_cast<uint32_t>(time)});
  }
  Log& zone(uint64_t start, uint64_t end, uint32_t id = kZone) {
    return marker(device::kZoneStart, id, start).marker(device::kZoneEnd, id, end);
  }
  Log& data(uint32_t id, uint64_t time, uint64_t value) {
    return marker(device::kTsData, id, time).u64(value);
  }
  Log& data16(uint32_t id, uint64_t time, uint64_t first, uint64_t second) {
    return marker(device::kTsData16B, id, time).u64(first).u64(second);
  }
  Log& total(uint32_t id, uint32_t sum) { return raw({marker_high(device::kZoneTotal, id, 0), sum}); }
  Log& padding() { return raw({device::kUnsetWord, 0}); }
  Log& u64(uint64_t value) { return raw({static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)}); }
  Log& raw(std::initializer_list<uint32_t> more) {
    words.insert(words.end(), more);
    return *this;
  }

  std::vector<uint32_t> words;

 private:
  void slot(uint32_t type, uint32_t id, Time time) {
    if (time)
      marker(type, id, *time);
    else
      raw({device::kUnsetWord, device::kUnsetWord});
  }
  Lane lane_;
};

struct Decoded {
  explicit Decoded(const Log& log, Lane lane = kLane) : decoder(lane) { decoder.decode(log.words, batch); }
  const Marker& operator[](size_t i) const { return batch.markers()[i]; }
  size_t size() const { return batch.markers().size(); }
  size_t frames() const { return batch.frames().size(); }
  std::vector<uint64_t> times() const {
    std::vector<uint64_t> out;
    for (const Marker& m : batch.markers()) out.push_back(m.time_cycles);
    return out;
  }
  const Anomalies& odd() const { return decoder.anomalies(); }
  LaneDecoder decoder;
  Batch batch;
};

using Times = std::vector<uint64_t>;

bool none(const Anomalies& a) {
  return !(a.unparsable_words | a.resyncs | a.damaged_sentinels | a.overrun_frames | a.truncated_packets |
           a.unknown_packets | a.stale_markers | a.duplicate_markers | a.repaired_times | a.backward_times);
}

TEST(Decoder, decodes_every_packet_type_with_its_payload) {
  const Decoded d(Log()
                      .frame(7, 100, 900, 110, 890, 3)
                      .zone(200, 210)
                      .total(0x77, 0xdeadbeef)
                      .data(0x88, 220, 0x1122334455667788)
                      .marker(device::kTsEvent, 0x99, 230)
                      .data16(0xAA, 240, 0x0102030405060708, 0x90a0b0c0d0e0f000));
  ASSERT_EQ(d.frames(), 1u);
  EXPECT_EQ(d.batch.frames()[0].host_id, 7u);
  EXPECT_EQ(d.batch.frames()[0].trace_counter, 3u);
  EXPECT_EQ(d.batch.frames()[0].risc, 2u);
  ASSERT_EQ(d.size(), 10u);
  EXPECT_EQ(d.times(), (Times{100, 900, 110, 890, 200, 210, 100, 220, 230, 240}));
  const MarkerType types[] = {MarkerType::zone_start, MarkerType::zone_end,   MarkerType::zone_start,
                              MarkerType::zone_end,   MarkerType::zone_start, MarkerType::zone_end,
                              MarkerType::zone_total, MarkerType::ts_data,    MarkerType::ts_event,
                              MarkerType::ts_data_16b};
  const uint16_t ids[] = {kFw, kFw, kKernel, kKernel, kZone, kZone, 0x77, 0x88, 0x99, 0xAA};
  for (size_t i = 0; i < d.size(); ++i) {
    EXPECT_EQ(d[i].type, types[i]) << i;
    EXPECT_EQ(d[i].id, ids[i]) << i;
    EXPECT_EQ(d[i].flags, i < 4 ? kGuaranteed : 0) << i;
  }
  EXPECT_EQ(d.batch.payload(d[6].payload), 0xdeadbeefu);
  EXPECT_EQ(d.batch.payload(d[7].payload), 0x1122334455667788u);
  EXPECT_EQ(d.batch.payload(d[9].payload), 0x0102030405060708u);
  EXPECT_EQ(d.batch.payload(d[9].payload + 1), 0x90a0b0c0d0e0f000u);
  EXPECT_TRUE(none(d.odd()));
}

TEST(Decoder, keeps_the_full_44_bits_of_time_and_16_bits_of_id) {
  const uint64_t top = kClockMask - 1000;
  const Decoded d(Log().frame(1, top, top + 900).zone(top + 1, top + 2, 0xFFFF).zone(top + 3, top + 4, 0));
  EXPECT_EQ(d.times(), (Times{top, top + 900, top + 1, top + 2, top + 3, top + 4}));
  EXPECT_EQ(d[2].id, 0xFFFF);
  EXPECT_EQ(d[4].id, 0);
}

TEST(Decoder, payload_words_are_never_taken_for_a_sentinel_or_a_marker) {
  const Decoded d(Log().frame(1, 100, 900).data(5, 200, 0).data16(6, 210, 0, ~uint64_t{0}).zone(220, 230));
  EXPECT_EQ(d.times(), (Times{100, 900, 200, 210, 220, 230}));
  EXPECT_EQ(d.batch.payload(d[2].payload), 0u);
  EXPECT_EQ(d.batch.payload(d[3].payload + 1), ~uint64_t{0});
  EXPECT_TRUE(none(d.odd()));
}

TEST(Decoder, a_payload_that_looks_like_a_whole_frame_head_stays_payload) {
  const uint64_t identity = kLane.format->identity(kLane.risc, kLane.flat_id, 0);
  const Decoded d(Log().frame(1, 100, 900).data16(6, 210, 0, identity << 32 | 1).zone(220, 230));
  EXPECT_EQ(d.frames(), 1u);
  EXPECT_EQ(d.times(), (Times{100, 900, 210, 220, 230}));
}

TEST(Decoder, skips_unset_slots_and_padding) {
  const Decoded d(Log().frame(1, 100, {}, 110).marker(device::kTsEvent, 9, 120).padding().frame(2, 300, 400));
  EXPECT_EQ(d.frames(), 2u);
  EXPECT_EQ(d.times(), (Times{100, 110, 120, 300, 400}));
  EXPECT_FALSE(d.batch.frames()[0].sat_out);
  EXPECT_TRUE(none(d.odd()));
}

TEST(Decoder, appends_to_a_batch_that_already_holds_frames) {
  LaneDecoder decoder(kLane);
  Batch batch;
  decoder.decode(Log().frame(1, 100, 200).data(1, 150, 11).words, batch);
  decoder.decode(Log().frame(2, 300, 400).data(1, 350, 22).words, batch);
  ASSERT_EQ(batch.frames().size(), 2u);
  EXPECT_EQ(batch.frames()[1].first_marker, 3u);
  EXPECT_EQ(batch.payload(batch.markers(batch.frames()[0])[2].payload), 11u);
  EXPECT_EQ(batch.payload(batch.markers(batch.frames()[1])[2].payload), 22u);
  batch.clear();
  EXPECT_TRUE(batch.frames().empty() && batch.markers().empty());
}

TEST(Decoder, flags_slots_that_quick_push_repeats_in_one_launch) {
  const Decoded d(Log()
                      .frame(1, 100, {}, 110)
                      .zone(120, 130)
                      .frame(1, 100, {}, 110)
                      .zone(140, 150)
                      .frame(1, 100, 900, 110, 890)
                      .zone(160, 170));
  EXPECT_EQ(d.odd().duplicate_markers, 4u);
  size_t repeats = 0;
  for (const Marker& m : d.batch.markers()) repeats += (m.flags & kDuplicate) != 0;
  EXPECT_EQ(repeats, 4u);
  for (const Marker& m : d.batch.markers(d.batch.frames()[0])) EXPECT_FALSE(m.flags & kDuplicate);
}

TEST(Decoder, equal_slots_under_another_host_id_are_no_duplicates) {
  const Decoded d(Log().frame(1, 100, 900).frame(2, 100, 900));
  EXPECT_EQ(d.odd().duplicate_markers, 0u);
}

TEST(Decoder, the_pair_that_closes_a_frame_without_fw_end_is_the_quick_push_zone) {
  const Decoded d(Log()
                      .frame(1, 100, {}, 110)
                      .zone(120, 130)
                      .zone(140, 150, 0xABC)
                      .padding()
                      .frame(1, 100, 900, 110, 890)
                      .zone(160, 170));
  const auto first = d.batch.markers(d.batch.frames()[0]);
  EXPECT_EQ(first[2].flags, 0);
  EXPECT_EQ(first[3].flags, 0);
  EXPECT_EQ(first[4].flags, kQuickPush);
  EXPECT_EQ(first[5].flags, kQuickPush);
  for (const Marker& m : d.batch.markers(d.batch.frames()[1])) EXPECT_FALSE(m.flags & kQuickPush);
}

TEST(Decoder, only_a_pair_of_one_id_is_a_quick_push_zone) {
  const Decoded d(Log()
                      .frame(1, 100)
                      .marker(device::kZoneStart, 1, 120)
                      .marker(device::kZoneEnd, 2, 130)
                      .frame(2, 200, {}, 210)
                      .frame(3, 300)
                      .marker(device::kZoneEnd, 1, 320)
                      .marker(device::kZoneStart, 1, 330));
  for (const Marker& m : d.batch.markers()) EXPECT_FALSE(m.flags & kQuickPush);
}

TEST(Decoder, flags_the_stale_customs_of_a_risc_that_sat_out) {
  const Decoded d(Log()
                      .frame(1, 100, 900, 110, 890)
                      .zone(120, 130)
                      .total(7, 55)
                      .data(8, 140, 9)
                      .frame(2, {})
                      .zone(120, 130)
                      .total(7, 55)
                      .data(8, 140, 9)
                      .frame(3, 2000, 3000)
                      .zone(2100, 2200));
  ASSERT_EQ(d.frames(), 3u);
  EXPECT_FALSE(d.batch.frames()[0].sat_out);
  EXPECT_TRUE(d.batch.frames()[1].sat_out);
  EXPECT_EQ(d.odd().stale_markers, 4u);
  const auto stale = d.batch.markers(d.batch.frames()[1]);
  ASSERT_EQ(stale.size(), 4u);
  for (const Marker& m : stale) EXPECT_EQ(m.flags, kStale);
  EXPECT_EQ(d.odd().backward_times, 0u);
  EXPECT_EQ(d.odd().duplicate_markers, 0u);
  for (const Marker& m : d.batch.markers(d.batch.frames()[2])) EXPECT_FALSE(m.flags & kStale);
}

TEST(Decoder, a_stale_tail_does_not_move_the_lanes_clock) {
  Decoded d(Log().frame(1, 100, 900).zone(120, 130).frame(2, {}).zone(120, 130));
  EXPECT_EQ(d.decoder.digest().last_time, 900u);
  EXPECT_EQ(d.decoder.digest().host_id, 2u);
  EXPECT_EQ(d.decoder.digest().trailing_words, 16u);
}

TEST(Decoder, a_custom_older_than_its_own_launch_is_stale) {
  const Decoded d(Log().frame(2, 1000000, 2000000).zone(120000, 130000).zone(1100000, 1200000));
  EXPECT_EQ(d.odd().stale_markers, 2u);
  EXPECT_EQ(d.odd().backward_times, 0u);
  EXPECT_EQ(d[2].flags, kStale);
  EXPECT_EQ(d[4].flags, 0);
}

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

// --- the sentinel damaged by the RISC before (tt-metal kernel_profiler.hpp) --------------------------------

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

// --- lengths -----------------------------------------------------------------------------------------------

TEST(Decoder, an_overrun_frame_of_514_words_is_decoded_and_counted) {
  Log log;
  log.frame(1, 100, 9000).marker(device::kTsEvent, 1, 101);
  for (uint64_t t = 110; log.words.size() < 514; t += 2) log.zone(t, t + 1);
  ASSERT_EQ(log.words.size(), 514u);
  log.frame(2, 9100, 9200);
  const Decoded d(log);
  ASSERT_EQ(d.frames(), 2u);
  EXPECT_EQ(d.batch.frames()[0].marker_count, 2u + 251u);
  EXPECT_EQ(d.batch.frames()[1].first_word, 514u);
  EXPECT_EQ(d.odd().overrun_frames, 1u);
  EXPECT_EQ(d.odd().unparsable_words, 0u);
}

TEST(Decoder, a_full_frame_of_512_words_is_no_overrun) {
  Log log;
  log.frame(1, 100, 9000);
  for (uint64_t t = 110; log.words.size() < 512; t += 2) log.zone(t, t + 1);
  const Decoded d(log);
  EXPECT_EQ(d.size(), 2u + 250u);
  EXPECT_TRUE(none(d.odd()));
}

TEST(Decoder, an_empty_span_changes_nothing) {
  const Decoded d{Log()};
  EXPECT_EQ(d.frames(), 0u);
  EXPECT_TRUE(none(d.odd()));
  EXPECT_EQ(d.decoder.digest().known, 0u);
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

// --- damage ------------------------------------------------------------------------------------------------

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

TEST(Decoder, counts_of_two_lanes_add_up) {
  Anomalies a{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  a.add({10, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  EXPECT_EQ(a.unparsable_words, 11u);
  EXPECT_EQ(a.resyncs, 22u);
  EXPECT_EQ(a.damaged_sentinels, 33u);
  EXPECT_EQ(a.overrun_frames, 44u);
  EXPECT_EQ(a.truncated_packets, 55u);
  EXPECT_EQ(a.unknown_packets, 66u);
  EXPECT_EQ(a.stale_markers, 77u);
  EXPECT_EQ(a.duplicate_markers, 88u);
  EXPECT_EQ(a.repaired_times, 99u);
  EXPECT_EQ(a.backward_times, 110u);
}

TEST(Decoder, clock_difference_is_signed_and_wraps) {
  EXPECT_EQ(clock_difference(5, kClockMask - 4), 10);
  EXPECT_EQ(clock_difference(kClockMask - 4, 5), -10);
  EXPECT_EQ(clock_difference(7, 7), 0);
  EXPECT_EQ(clock_difference(uint64_t{1} << 43, 0), -(int64_t{1} << 43));
}

TEST(Decoder, type_names_are_those_of_the_device_csv) {
  EXPECT_EQ(to_string(MarkerType::zone_start), "ZONE_START");
  EXPECT_EQ(to_string(MarkerType::zone_end), "ZONE_END");
  EXPECT_EQ(to_string(MarkerType::zone_total), "ZONE_TOTAL");
  EXPECT_EQ(to_string(MarkerType::ts_data), "TS_DATA");
  EXPECT_EQ(to_string(MarkerType::ts_event), "TS_EVENT");
  EXPECT_EQ(to_string(MarkerType::ts_data_16b), "TS_DATA_16B");
}

}  // namespace
}  // namespace ttc::markers

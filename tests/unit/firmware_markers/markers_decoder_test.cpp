// LaneDecoder on undamaged logs typed by hand: every packet type, repeats, stale tails, long frames, exact counts.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/firmware_markers/markers_decoder_fixture.hpp"

namespace ttc::markers::decoder_test {
namespace {

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

TEST(Decoder, type_names_are_those_of_the_device_csv) {
  EXPECT_EQ(to_string(MarkerType::zone_start), "ZONE_START");
  EXPECT_EQ(to_string(MarkerType::zone_end), "ZONE_END");
  EXPECT_EQ(to_string(MarkerType::zone_total), "ZONE_TOTAL");
  EXPECT_EQ(to_string(MarkerType::ts_data), "TS_DATA");
  EXPECT_EQ(to_string(MarkerType::ts_event), "TS_EVENT");
  EXPECT_EQ(to_string(MarkerType::ts_data_16b), "TS_DATA_16B");
}

}  // namespace
}  // namespace ttc::markers::decoder_test

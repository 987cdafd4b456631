// The device header on a Port made of arrays: what it stores, in which order, and what it does when there is
// no room.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "tests/unit/firmware_markers/markers_device_fixture.hpp"

namespace ttc::device {
namespace {

TEST(DeviceHeader, zone_id_is_the_hash_of_tt_metal) {
  static_assert(zone_id("BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER") == 0x2F6D);
  static_assert(zone_id("BRISC-KERNEL,fw/brisck.cc,53,KERNEL_PROFILER") == 0xFE3E);
}

TEST(DeviceHeader, finish_stores_the_index_before_the_data_and_done_last) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(0x1400);
  brisc.profiler.kernel_start(kKernel);
  brisc.profiler.kernel_end(kKernel);
  m.steps.clear();
  brisc.finish();
  EXPECT_EQ(m.steps, (std::vector<std::string>{"cv5=12", "cv0=12", "push0", "wait", "cv13=1", "cv19=1"}));
  EXPECT_EQ(m.words[14], 18u);
  EXPECT_EQ(m.words[15], 21u);
}

TEST(DeviceHeader, quick_push_stores_the_index_after_the_data) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  m.steps.clear();
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.steps, (std::vector<std::string>{"push0", "wait", "cv0=16"}));
  EXPECT_EQ(m.words[kG4.run_counter], 0u);
}

TEST(DeviceHeader, the_first_words_of_a_run_after_a_reset_are_clean_and_count_traces) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  for (int replay = 0; replay < 3; ++replay) brisc.profiler.replay_started(kPush);
  brisc.profiler.open_launch();
  for (uint32_t r = 0; r < kMaxRiscs; ++r) {
    EXPECT_EQ(m.buffer(r, 0), 0u);
    EXPECT_EQ(m.buffer(r, 1), 0u);
    EXPECT_EQ(m.buffer(r, 2), kG4.trace.put(3)) << "lane and core are stamped before a push, not here";
    for (uint32_t w = 4; w < 12; ++w) EXPECT_EQ(m.buffer(r, w), kUnsetWord);
  }
  brisc.profiler.take_launch(true, 0x77);
  for (uint32_t r = 0; r < kMaxRiscs; ++r) EXPECT_EQ(m.buffer(r, 3), 0x77u);
}

TEST(DeviceHeader, a_launch_that_is_not_for_this_core_pushes_nothing) {
  Machine<kG3> g3;
  Brisc<kG3> older(g3);
  older.begin(1, false);
  older.finish(false);
  EXPECT_EQ(g3.words[kG3.host_end], 0u);
  EXPECT_EQ(g3.words[kG3.run_counter], 0u);
  EXPECT_EQ(g3.words[kG3.done], 1u);
  EXPECT_EQ(g3.words[kG3.device_end], 12u) << "G3 publishes its end all the same";
  Machine<kG4> g4;
  Brisc<kG4> newer(g4);
  newer.begin(1, false);
  newer.finish(false);
  EXPECT_EQ(g4.words[kG4.device_end], 0u) << "G4 leaves it";
  EXPECT_EQ(g4.words[kG4.run_counter], 0u);
}

TEST(DeviceHeader, a_frame_of_two_mod_four_words_is_padded) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  brisc.profiler.event(7);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.host_end], 16u);
  EXPECT_EQ(m.logs[0][14], kUnsetWord);
  EXPECT_EQ(m.logs[0][15], 0u);
}

TEST(DeviceHeader, a_zone_is_recorded_whole_or_not_at_all) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  size_t open = 0;
  while (brisc.profiler.zone_start(kZone)) ++open;  // nested, so each keeps room for its end
  EXPECT_EQ(open, 125u);
  EXPECT_EQ(brisc.profiler.free_words(), 0u);
  EXPECT_FALSE(brisc.profiler.event(1));
  EXPECT_FALSE(brisc.profiler.data(1, 2));
  EXPECT_FALSE(brisc.profiler.data16(1, 2, 3));
  EXPECT_FALSE(brisc.profiler.total(1, 2));
  while (open--) brisc.profiler.zone_end(kZone);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.device_end], 512u);
  const Decoded d(kG3, 0, m.log(0));
  EXPECT_EQ(d.batch.markers().size(), 2u + 250u);
  EXPECT_EQ(d.decoder.anomalies().unparsable_words + d.decoder.anomalies().overrun_frames, 0u);
}

TEST(DeviceHeader, g4_reserves_whole_data_packets) {
  for (uint32_t shift = 0; shift < 6; ++shift) {
    Machine<kG4> m;
    Brisc<kG4> brisc(m);
    brisc.begin(1);
    for (uint32_t i = 0; i < shift; ++i) brisc.profiler.event(i);
    while (brisc.profiler.data16(1, 2, 3)) {
    }
    while (brisc.profiler.data(1, 2)) {
    }
    while (brisc.profiler.total(1, 2)) {
    }
    EXPECT_FALSE(brisc.profiler.event(1));
    EXPECT_FALSE(brisc.profiler.zone_start(1));
    brisc.finish();
    EXPECT_EQ(m.words[kG4.device_end], 512u) << shift;
    const Decoded d(kG4, 0, m.log(0));
    EXPECT_EQ(d.batch.markers().size(), m.records) << shift;
  }
}

TEST(DeviceHeader, a_nearly_full_log_takes_the_guaranteed_part_and_then_nothing) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  const auto launch = [&](uint32_t host, size_t zones) {
    brisc.begin(host);
    brisc.zones(zones);
    brisc.finish();
  };
  launch(1, 125);  // 512 words
  launch(2, 13);   // 64 words: 576
  EXPECT_EQ(m.words[kG3.host_end], 576u);
  EXPECT_EQ(m.words[kG3.dropped], 0u);
  launch(3, 10);  // 52 do not fit into 24, 12 do
  EXPECT_EQ(m.words[kG3.host_end], 588u);
  EXPECT_EQ(m.words[kG3.dropped], 1u);
  launch(4, 0);  // exactly full
  EXPECT_EQ(m.words[kG3.host_end], 600u);
  launch(5, 0);
  EXPECT_EQ(m.words[kG3.host_end], 600u);
  EXPECT_EQ(m.words[kG3.run_counter], 5u) << "a run that was dropped is still counted";
  const Decoded d(kG3, 0, m.log(0));
  ASSERT_EQ(d.batch.frames().size(), 4u);
  EXPECT_EQ(d.batch.frames()[2].marker_count, 2u);
  EXPECT_EQ(d.batch.frames()[3].host_id, 4u);
}

TEST(DeviceHeader, quick_push_keeps_four_words_free_and_says_when_it_dropped) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  brisc.zones(123);  // 504 words and the pair: 508
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG4.host_end], 508u);
  brisc.zones(18);  // 84 and the pair: 596, just inside 600 - 4
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG4.host_end], 596u);
  EXPECT_EQ(m.words[kG4.dropped], 0u);
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG4.host_end], 596u);
  EXPECT_EQ(m.words[kG4.dropped], 1u);
  m.steps.clear();
  brisc.profiler.quick_push(kPush);  // does nothing any more
  EXPECT_TRUE(m.steps.empty());
}

TEST(DeviceHeader, quick_push_waits_for_its_noc_and_for_an_address) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  brisc.zones(2);
  const size_t records = m.records;
  m.busy = true;
  brisc.profiler.quick_push(kPush);
  m.busy = false;
  m.words[kG4.dram_address] = 0;
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG4.host_end], 0u);
  EXPECT_EQ(m.records, records) << "not even its own zone";
  EXPECT_EQ(m.words[kG4.dropped], 0u);
}

TEST(DeviceHeader, without_a_dram_address_the_index_moves_and_nothing_is_pushed) {
  Machine<kG3> m;
  m.words[kG3.dram_address] = 0;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.host_end], 12u);
  for (const std::string& step : m.steps) EXPECT_NE(step, "push0");
}

TEST(DeviceHeader, a_zone_open_across_a_quick_push_ends_in_the_next_frame) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  ASSERT_TRUE(brisc.profiler.zone_start(kZone));
  brisc.profiler.quick_push(kPush);
  brisc.profiler.zone_end(kZone);
  brisc.finish();
  const Decoded d(kG4, 0, m.log(0));
  ASSERT_EQ(d.batch.frames().size(), 2u);
  const auto first = d.batch.markers(d.batch.frames()[0]);
  ASSERT_EQ(first.size(), 4u);  // FW START, the zone's START, the push's pair
  EXPECT_EQ(first[1].id, kZone);
  EXPECT_FALSE(first[1].flags & markers::kQuickPush);
  EXPECT_EQ(first[2].id, kPush);
  EXPECT_TRUE(first[2].flags & markers::kQuickPush);
  const auto second = d.batch.markers(d.batch.frames()[1]);
  ASSERT_EQ(second.size(), 3u);  // FW START again, FW END, the zone's END
  EXPECT_TRUE(second[0].flags & markers::kDuplicate);
  EXPECT_EQ(second[2].type, markers::MarkerType::zone_end);
}

TEST(DeviceHeader, a_quick_push_of_a_full_buffer_lies_on_the_next_riscs_identity) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  brisc.zones(125);
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG4.host_end], 516u);
  EXPECT_EQ(packet_id(m.buffer(1, 0)), kPush);
  EXPECT_EQ(packet_id(m.buffer(1, 2)), kPush);
  const Decoded d(kG4, 0, m.log(0));
  EXPECT_EQ(d.batch.markers().size(), m.records);
}

TEST(DeviceHeader, trace_replays_are_counted_in_every_identity) {
  Machine<kG2> m;
  Brisc<kG2> brisc(m);
  for (uint32_t host = 1; host < 4; ++host) {
    brisc.begin(host);
    brisc.finish();
    brisc.profiler.replay_started(kPush);
  }
  const Decoded d(kG2, 0, m.log(0));
  ASSERT_EQ(d.batch.frames().size(), 3u);
  for (uint16_t f = 0; f < 3; ++f) EXPECT_EQ(d.batch.frames()[f].trace_counter, f);
}

TEST(DeviceHeader, a_risc_that_sits_out_has_its_old_markers_pushed_under_the_new_id) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  Profiler<Machine<kG4>, kG4> ncrisc(m, 1, kLogWords * 4);
  brisc.begin(1);
  ncrisc.fw_start(kFw);
  { Scope zone(ncrisc, kZone); }
  ncrisc.fw_end(kFw);
  brisc.finish();
  brisc.begin(2);
  brisc.finish();
  const Decoded d(kG4, 1, m.log(1));
  ASSERT_EQ(d.batch.frames().size(), 2u);
  EXPECT_TRUE(d.batch.frames()[1].sat_out);
  EXPECT_EQ(d.batch.frames()[1].host_id, 2u);
  EXPECT_EQ(d.decoder.anomalies().stale_markers, 2u);
}

TEST(DeviceHeader, a_dispatch_zone_pushes_when_little_room_is_left) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  const auto zone = [&] { DispatchScope scope(brisc.profiler, kZone, kPush); };
  for (int i = 0; i < 120; ++i) zone();  // to 492
  EXPECT_EQ(m.words[kG4.host_end], 0u);
  zone();
  EXPECT_EQ(m.words[kG4.host_end], 500u);
  zone();
  EXPECT_EQ(brisc.profiler.free_words(), 500u - 4u);
}

TEST(DeviceHeader, sums_are_totals_at_the_end_and_only_if_there_is_something) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  for (int i = 0; i < 10; ++i) SumScope sum(brisc.profiler, 1, kZone);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.host_end], 16u) << "one total and padding";
  EXPECT_EQ(packet_type(m.logs[0][12]), kZoneTotal);
  EXPECT_EQ(m.logs[0][13], 10 * 2u) << "two ticks between each pair of clock reads";
  brisc.begin(2);
  brisc.profiler.add_to_sum(0, kZone, 0x1'0000'0007);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.host_end], 32u) << "the sums start over";
  EXPECT_EQ(m.logs[0][16 + 13], 7u) << "32 bits";
  brisc.begin(3);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.host_end], 44u);
}

}  // namespace
}  // namespace ttc::device

// The device header as firmware of each generation differs: overruns, unknown packets, counted runs, full logs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "firmware_markers/device/profiler.hpp"
#include "tests/unit/firmware_markers/markers_device_fixture.hpp"

namespace ttc::device {
namespace {

// tt-metal kernel_profiler.hpp, measured: one event and then zones until full ends at word 514, on the next
// RISC's words.
template <const Format& F>
void expect_odd_zones_to_overrun() {
  SCOPED_TRACE("G" + std::to_string(F.generation));
  Machine<F> m;
  m.overruns = true;
  Brisc<F> brisc(m);
  brisc.begin(1);
  brisc.profiler.event(7);
  brisc.zones(200);
  brisc.finish();
  EXPECT_EQ(m.words[F.device_end], 514u) << "and no padding: there is no room for it";
  EXPECT_EQ(m.words[F.host_end], 514u);
  EXPECT_EQ(m.buffer(1, 0), m.logs[0][512]);
  EXPECT_EQ(packet_id(m.buffer(1, 0)), kZone);
  EXPECT_EQ(m.buffer(1, 2) & F.identity_fields(), F.identity(1, kFlat, 0));
  const Decoded d(F, 0, m.log(0));
  EXPECT_EQ(d.decoder.anomalies().overrun_frames, 1u);
  EXPECT_EQ(d.batch.markers().size(), m.records);
}

TEST(DeviceHeader, odd_zones_overrun_into_the_next_riscs_words) {
  expect_odd_zones_to_overrun<kG1>();
  expect_odd_zones_to_overrun<kG2>();
  expect_odd_zones_to_overrun<kG3>();
  expect_odd_zones_to_overrun<kG4>();
}

TEST(DeviceHeader, sixteen_bytes_overrun_by_up_to_four_words_until_g3) {
  Machine<kG3> m;
  m.overruns = true;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  brisc.zones(124);  // 508
  brisc.profiler.event(1);
  ASSERT_TRUE(brisc.profiler.data16(9090, 1, 2));  // 510 to 515
  EXPECT_EQ(m.buffer(1, 3), 2u);
  brisc.finish();
  EXPECT_EQ(m.words[kG3.device_end], 516u);
  Machine<kG4> g4;
  Brisc<kG4> newer(g4);
  newer.begin(1);
  newer.zones(124);
  newer.profiler.event(1);
  EXPECT_FALSE(newer.profiler.data16(9090, 1, 2));
  EXPECT_FALSE(newer.profiler.data(9090, 1));
}

TEST(DeviceHeader, packets_a_generation_does_not_know_are_not_recorded) {
  Machine<kG1Narrow> early;
  Brisc<kG1Narrow> brisc(early);
  brisc.begin(1);
  EXPECT_FALSE(brisc.profiler.event(1));
  EXPECT_FALSE(brisc.profiler.data(1, 2));
  EXPECT_TRUE(brisc.profiler.total(1, 2));
  Machine<kG2> g2;
  Brisc<kG2> later(g2);
  later.begin(1);
  EXPECT_TRUE(later.profiler.data(1, 2));
  EXPECT_FALSE(later.profiler.data16(1, 2, 3));
}

TEST(DeviceHeader, early_2025_counts_runs_in_the_id_and_clears_device_end) {
  Machine<kG1Narrow> m;
  Brisc<kG1Narrow> brisc(m);
  for (uint32_t host = 7; host < 10; ++host) {
    brisc.begin(host);
    m.steps.clear();
    brisc.finish();
    EXPECT_EQ(m.buffer(0, 3), host << 16 | (host - 7)) << "the runs before this one";
    EXPECT_EQ(m.words[kG1Narrow.device_end], 0u);
    EXPECT_EQ(m.steps.back(), "cv19=1");
  }
  EXPECT_EQ(m.words[kG1Narrow.host_end], 36u);
  const Decoded d(kG1Narrow, 0, m.log(0));
  ASSERT_EQ(d.batch.frames().size(), 3u);
  EXPECT_EQ(d.batch.frames()[2].host_id, 9u);
}

// Two RISCs, of which the first has a log that is full after its first run.
template <const Format& F>
void fill_briscs_log(Machine<F>& m, Brisc<F>& brisc, Profiler<Machine<F>, F>& ncrisc, uint32_t host,
                     size_t zones) {
  brisc.begin(host);
  ncrisc.fw_start(kFw);
  ncrisc.fw_end(kFw);
  brisc.zones(zones);
  m.steps.clear();
  brisc.finish();
}

TEST(DeviceHeader, mid_2025_one_full_log_silences_the_riscs_after_it) {
  Machine<kG1> m;
  Brisc<kG1> brisc(m);
  Profiler<Machine<kG1>, kG1> ncrisc(m, 1, kLogWords * 4);
  fill_briscs_log(m, brisc, ncrisc, 1, 125);
  EXPECT_EQ(m.words[kG1.host_end], 512u);
  EXPECT_EQ(m.words[kG1.host_end + 1], 12u);
  fill_briscs_log(m, brisc, ncrisc, 2, 125);
  EXPECT_EQ(m.words[kG1.host_end], 512u) << "no guaranteed part either";
  EXPECT_EQ(m.words[kG1.dropped], 1u);
  EXPECT_EQ(m.words[kG1.host_end + 1], 24u) << "by the index it is there";
  EXPECT_EQ(std::count(m.steps.begin(), m.steps.end(), "push1"), 0) << "but it is not";
  EXPECT_EQ(m.words[kG1.run_counter], 2u);
  Machine<kG1Narrow> older;
  Brisc<kG1Narrow> old_brisc(older);
  Profiler<Machine<kG1Narrow>, kG1Narrow> old_ncrisc(older, 1, kLogWords * 4);
  fill_briscs_log(older, old_brisc, old_ncrisc, 1, 125);
  fill_briscs_log(older, old_brisc, old_ncrisc, 2, 125);
  EXPECT_EQ(std::count(older.steps.begin(), older.steps.end(), "push1"), 1) << "each checked by itself";
  EXPECT_EQ(older.words[kG1Narrow.host_end + 1], 24u);
}

TEST(DeviceHeader, before_g3_a_first_run_too_long_leaves_its_guaranteed_part_at_the_start) {
  Machine<kG2> m;
  Brisc<kG2> brisc(m);
  brisc.begin(1);
  brisc.zones(124);                  // 508
  brisc.profiler.quick_push(kPush);  // 512 with its START and padding
  EXPECT_EQ(m.words[kG2.host_end], 512u);
  brisc.zones(60);  // no room for these
  brisc.finish();
  EXPECT_EQ(m.words[kG2.host_end], 512u);
  EXPECT_EQ(m.words[kG2.dropped], 1u);
  EXPECT_EQ(packet_type(m.logs[0][kFwEndWord]), kZoneEnd) << "the quick push had no FW END yet";
  EXPECT_EQ(m.words[kG2.run_counter], 1u);
}

TEST(DeviceHeader, g2_ends_the_zone_of_a_quick_push_in_the_next_frame) {
  Machine<kG2> m;
  Brisc<kG2> brisc(m);
  brisc.begin(1);
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG2.host_end], 16u) << "START and padding";
  EXPECT_EQ(packet_type(m.logs[0][12]), kZoneStart);
  EXPECT_EQ(m.logs[0][14], kUnsetWord);
  EXPECT_EQ(packet_type(m.buffer(0, 12)), kZoneEnd);
  EXPECT_EQ(packet_id(m.buffer(0, 12)), kPush);
}

TEST(DeviceHeader, before_g3_quick_push_goes_on_after_it_dropped) {
  Machine<kG1> m;
  Brisc<kG1> brisc(m);
  brisc.begin(1);
  brisc.zones(123);
  brisc.profiler.quick_push(kPush);  // 508
  brisc.zones(40);
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG1.dropped], 1u);
  brisc.zones(19);  // 88 and the pair: 92, to the very end
  brisc.profiler.quick_push(kPush);
  EXPECT_EQ(m.words[kG1.host_end], 600u);
}

TEST(DeviceHeader, early_2025_only_ncrisc_pushes_in_the_middle_and_does_not_pad) {
  Machine<kG1Narrow> m;
  m.overruns = true;  // of the multiple of 16 bytes
  Brisc<kG1Narrow> brisc(m);
  Profiler<Machine<kG1Narrow>, kG1Narrow> ncrisc(m, 1, kLogWords * 4);
  brisc.begin(1);
  ncrisc.fw_start(kFw);
  ncrisc.total(kZone, 5);
  m.steps.clear();
  brisc.profiler.quick_push(kPush);
  EXPECT_TRUE(m.steps.empty());
  ncrisc.quick_push(kPush);
  EXPECT_EQ(m.steps, (std::vector<std::string>{"push1", "cv1=18"})) << "nor wait";
}

}  // namespace
}  // namespace ttc::device

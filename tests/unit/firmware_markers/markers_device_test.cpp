// The device header on a Port made of arrays: what it stores, in which order, and what it does when there is
// no room.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "firmware_markers/decoder.hpp"
#include "firmware_markers/device/noc_event.hpp"
#include "firmware_markers/device/profiler.hpp"
#include "firmware_markers/noc_event.hpp"

namespace ttc::device {
namespace {

using markers::packet_id;
using markers::packet_type;

constexpr uint32_t kFw = 0x2F6D, kKernel = 0xFE3E, kZone = 0x1234, kPush = 0x4321;
constexpr uint32_t kLogWords = 600;
constexpr uint32_t kFlat = 11, kCores = 8;

template <const Format& F>
struct Machine {
  Machine() : logs(kMaxRiscs, std::vector<uint32_t>(kLogWords)) {
    words[F.dram_address] = 0x20;
    words[F.flat_id] = kFlat;
    words[F.core_count_per_dram] = kCores;
    std::fill(l1.begin(), l1.end(), 0x5a5a5a5a);
  }

  // The control vector at 0x100, the buffers right behind it, and room to detect an overrun of the last one.
  uint32_t control_address() const { return 0x100; }
  uint32_t buffer_address() const { return 0x100 + 4 * F.control_words; }
  uint32_t load(uint32_t address) {
    return address < buffer_address() ? words.at((address - 0x100) / 4)
                                      : l1.at((address - buffer_address()) / 4);
  }
  void store(uint32_t address, uint32_t v) {
    if (address >= buffer_address()) {
      l1.at((address - buffer_address()) / 4) = v;
      return;
    }
    const uint32_t word = (address - 0x100) / 4;
    words.at(word) = v;
    steps.push_back("cv" + std::to_string(word) + "=" + std::to_string(v));
  }
  uint32_t& buffer(uint32_t risc, uint32_t word) { return l1.at(risc * kBufferWords + word); }
  uint32_t clock_high() { return static_cast<uint32_t>(++now >> 32); }
  uint32_t clock_low() { return static_cast<uint32_t>(++now); }
  void push(uint32_t risc, uint32_t count, uint32_t bank, uint32_t offset) {
    steps.push_back("push" + std::to_string(risc));
    EXPECT_EQ(bank, kFlat / kCores);
    const uint32_t region = (kFlat % kCores * kMaxRiscs + risc) * kLogWords * 4;
    ASSERT_GE(offset, region);
    ASSERT_LE((offset - region) / 4 + count, kLogWords) << "writes into the next RISC's region";
    if (!overruns) {
      EXPECT_EQ(count % 4, 0u) << "every push is a multiple of 16 bytes";
    }
    EXPECT_GT(count, 0u);
    std::copy_n(l1.begin() + risc * kBufferWords, count, logs[risc].begin() + (offset - region) / 4);
  }
  void wait_sent() { steps.push_back("wait"); }
  uint32_t noc_x() { return 18; }
  uint32_t noc_y() { return 21; }
  void recorded(uint32_t, uint32_t, uint32_t, uint64_t, uint64_t, uint64_t) { ++records; }
  bool noc_busy() { return busy; }

  std::span<const uint32_t> log(uint32_t risc) const {
    return std::span(logs[risc]).first(words[F.host_end + risc]);
  }

  std::array<uint32_t, F.control_words> words{};
  std::array<uint32_t, kMaxRiscs * kBufferWords + 4> l1;
  std::vector<std::vector<uint32_t>> logs;
  std::vector<std::string> steps;
  uint64_t now = 0x5'0010'0000;
  size_t records = 0;
  bool busy = false;
  bool overruns = false;  // expected by this test
};

template <const Format& F>
struct Brisc {
  explicit Brisc(Machine<F>& m) : profiler(m, 0, kLogWords * 4) {}
  void begin(uint32_t host, bool mine = true) {
    profiler.open_launch();
    profiler.fw_start(kFw);
    profiler.take_launch(mine, host);
  }
  void finish(bool mine = true) {
    profiler.fw_end(kFw, mine);
    profiler.finish_launch();
  }
  void zones(size_t count) {
    for (size_t i = 0; i < count; ++i)
      if (profiler.zone_start(kZone)) profiler.zone_end(kZone);
  }
  Profiler<Machine<F>, F> profiler;
};

struct Decoded {
  Decoded(const Format& f, uint32_t risc, std::span<const uint32_t> words)
      : decoder(markers::Lane{&f, static_cast<uint8_t>(risc), kFlat}) {
    decoder.decode(words, batch);
  }
  markers::LaneDecoder decoder;
  markers::Batch batch;
};

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

TEST(DeviceNocEvent, bytes_lie_where_tt_metal_has_them) {
  EXPECT_EQ(local_noc_event(kNocWrite, {18, 21}, 2048, 0, 1, true), 0x01'40'11'ff'ff'15'12'0bu);
  EXPECT_EQ(local_noc_event(kNocRead, {}, 33, 1, -1), 0x00'02'f2'ff'ff'ff'ff'01u)
      << "33 bytes are two chunks";
  EXPECT_EQ(local_noc_event(kNocWriteMulticast, {1, 2}, 1 << 20, 0, 4, false, {8, 9}),
            0x00'ff'41'09'08'02'01'0fu);
  EXPECT_EQ(fabric_noc_event(kFabricUnicastWrite, {3, 4}, 0, kFabricLowLatencyMesh),
            0x00'00'21'ff'ff'04'03'21u);
  EXPECT_EQ(fabric_scatter_event({3, 4}, 0x1234, 5, 1, kFabricDynamicMesh), 0x32'05'12'34'00'04'03'27u);
  EXPECT_EQ(fabric_routing_1d(0xcafe1234), 0x00'00'00'ca'fe'12'34'28u);
  EXPECT_EQ(fabric_routing_2d(1, 2, 3, true), 0x00'00'00'01'03'02'01'29u);
  EXPECT_EQ(noc_debug_trailer(0x12345, 0x6789a, 0xabc), uint64_t{0xabc} << 52 | uint64_t{2} << 48 |
                                                            uint64_t{0x6789a >> 2} << 26 | uint64_t{1} << 22 |
                                                            (0x12345 >> 2));
}

TEST(DeviceNocEvent, what_is_packed_here_is_unpacked_there) {
  const markers::NocEventTable& table = *markers::noc_event_table({2026, 6});
  const auto write = markers::unpack_noc_event(local_noc_event(kNocWrite, {18, 21}, 2047, 1, 3, true), table);
  EXPECT_EQ(table.name(write.type), "WRITE_");
  EXPECT_EQ(write.kind, markers::NocEventKind::local);
  EXPECT_EQ(std::tuple(write.dst_x, write.dst_y, write.end_x, write.end_y), std::tuple(18, 21, -1, -1));
  EXPECT_EQ(std::tuple(write.noc, write.bytes, write.vc, write.posted), std::tuple(2, 2048u, 3, true));
  const auto fabric = markers::unpack_noc_event(
      fabric_noc_event(kFabricUnicastWrite, {3, 4}, 0, kFabricLowLatencyMesh, {5, 6}), table);
  EXPECT_EQ(fabric.kind, markers::NocEventKind::fabric);
  EXPECT_EQ(fabric.routing, markers::FabricRouting::low_latency_mesh);
  EXPECT_EQ(std::tuple(fabric.dst_x, fabric.end_y, fabric.noc), std::tuple(3, 6, 1));
  const auto scatter =
      markers::unpack_noc_event(fabric_scatter_event({3, 4}, 4096, 5, 1, kFabricDynamicMesh), table);
  EXPECT_EQ(scatter.kind, markers::NocEventKind::fabric_scatter);
  EXPECT_EQ(std::tuple(scatter.bytes, scatter.chunks, scatter.noc), std::tuple(4096u, 5, 2));
  EXPECT_EQ(markers::unpack_noc_event(fabric_routing_1d(0xcafe1234), table).routing_field, 0xcafe1234u);
  const auto mesh = markers::unpack_noc_event(fabric_routing_2d(1, 2, 3, true), table);
  EXPECT_EQ(std::tuple(mesh.ns_hops, mesh.e_hops, mesh.w_hops, mesh.multicast), std::tuple(1, 2, 3, true));
  const markers::NocDebug debug = markers::unpack_noc_debug(noc_debug_trailer(0x12345, 0x6789a, 0xabc));
  EXPECT_EQ(std::tuple(debug.dst_addr, debug.src_addr, debug.status_counter),
            std::tuple(0x12345u, 0x6789au, 0xabc));
}

TEST(DeviceNocEvent, a_full_buffer_is_pushed_first) {
  Machine<kG4> m;
  Brisc<kG4> brisc(m);
  brisc.begin(1);
  const uint64_t event = local_noc_event(kNocRead, {1, 2}, 64, 0);
  for (int i = 0; i < 125; ++i) EXPECT_TRUE(record_noc_event(brisc.profiler, event, kPush));
  EXPECT_EQ(m.words[kG4.host_end], 0u);
  EXPECT_TRUE(record_noc_event(brisc.profiler, event, kPush));
  EXPECT_EQ(m.words[kG4.host_end], 516u) << "with the push's own zone past the end, as the firmware has it";
  Profiler<Machine<kG4>, kG4> trisc(m, 3, kLogWords * 4);
  trisc.fw_start(kFw);
  for (int i = 0; i < 125; ++i) EXPECT_TRUE(record_noc_event(trisc, event, kPush));
  EXPECT_FALSE(record_noc_event(trisc, event, kPush)) << "a TRISC has no NoC to push through";
}

TEST(DeviceNocEvent, a_perf_counter_is_four_words_after_its_time) {
  Machine<kG3> m;
  Brisc<kG3> brisc(m);
  brisc.begin(1);
  EXPECT_TRUE(record_perf_counter(brisc.profiler, 45, 700, 1000, kPush));
  EXPECT_EQ(packet_id(m.buffer(0, 12)), 9090u);
  EXPECT_EQ(m.buffer(0, 14), 1000u);
  EXPECT_EQ(m.buffer(0, 15), 700u);
  EXPECT_EQ(m.buffer(0, 16), 0u);
  EXPECT_EQ(m.buffer(0, 17), 45u);
}

}  // namespace
}  // namespace ttc::device

// A worked example of tt-metal's profiler format: one BRISC run, word by word, in both generations.
#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <vector>

#include "firmware_markers/control_vector.hpp"
#include "firmware_markers/decoder.hpp"
#include "firmware_markers/zone_names.hpp"

namespace ttc::markers {
namespace {

constexpr uint32_t kFlatId = 37;
constexpr uint32_t kHostId = 0x1400;

std::vector<uint32_t> example_log(uint32_t identity) {
  return {0,          0,          identity,   kHostId,    0x82F6D012, 0x34560000, 0x92F6D012, 0x34561500,
          0x8FE3E012, 0x34560400, 0x9FE3E012, 0x34561200, 0xB02BD012, 0x34560900, 0x11223344, 0x55667788};
}

Lane lane_of(const device::Format& format) {
  return {&format, 0, kFlatId};
}

struct Generation {
  const char* name;
  uint32_t identity;
};
void PrintTo(const Generation& g, std::ostream* out) {
  *out << g.name;
}

class WorkedExample : public testing::TestWithParam<Generation> {
 protected:
  const Layout& layout() const { return *layout_by_name(GetParam().name); }
};

TEST_P(WorkedExample, the_identity_word_is_the_one_of_tt_metal) {
  EXPECT_EQ(layout().format.identity(0, kFlatId, 0), GetParam().identity);
}

TEST_P(WorkedExample, decodes_in_the_order_of_the_log) {
  const auto words = example_log(GetParam().identity);
  LaneDecoder decoder(lane_of(layout().format));
  Batch batch;
  decoder.decode(words, batch);

  ASSERT_EQ(batch.frames().size(), 1u);
  const Frame& frame = batch.frames()[0];
  EXPECT_EQ(frame.host_id, kHostId);
  EXPECT_EQ(frame.risc, 0);
  EXPECT_EQ(frame.trace_counter, 0);
  EXPECT_FALSE(frame.sat_out);
  EXPECT_EQ(frame.first_word, 0u);

  struct Expected {
    MarkerType type;
    uint16_t id;
    uint64_t time;
    uint8_t flags;
  };
  constexpr std::array<Expected, 5> kExpected{{
      {MarkerType::zone_start, 0x2F6D, 0x1234560000, kGuaranteed},
      {MarkerType::zone_end, 0x2F6D, 0x1234561500, kGuaranteed},
      {MarkerType::zone_start, 0xFE3E, 0x1234560400, kGuaranteed},
      {MarkerType::zone_end, 0xFE3E, 0x1234561200, kGuaranteed},
      {MarkerType::ts_data, 0x02BD, 0x1234560900, 0},
  }};
  const auto markers = batch.markers(frame);
  ASSERT_EQ(markers.size(), kExpected.size());
  for (size_t i = 0; i < kExpected.size(); ++i) {
    EXPECT_EQ(markers[i].type, kExpected[i].type) << i;
    EXPECT_EQ(markers[i].id, kExpected[i].id) << i;
    EXPECT_EQ(markers[i].time_cycles, kExpected[i].time) << i;
    EXPECT_EQ(markers[i].flags, kExpected[i].flags) << i;
  }
  EXPECT_EQ(batch.payload(markers[4].payload), 0x1122334455667788u);
  EXPECT_EQ(decoder.digest().last_time, 0x1234561500u);
  EXPECT_EQ(decoder.digest().trailing_words, 16u);
  EXPECT_EQ(decoder.anomalies().unparsable_words, 0u);
}

TEST_P(WorkedExample, reading_it_as_the_other_generation_is_refused) {
  const Layout& other = *layout_by_name(layout().format.generation == 3 ? "G4" : "G3");
  const auto words = example_log(GetParam().identity);
  EXPECT_FALSE(lane_of(other.format).owns_identity(words[2]));
  LaneDecoder decoder(lane_of(other.format));
  Batch batch;
  decoder.decode(words, batch);
  EXPECT_TRUE(batch.frames().empty());
  EXPECT_TRUE(batch.markers().empty());
  EXPECT_EQ(decoder.anomalies().unparsable_words, words.size());
  EXPECT_EQ(decoder.anomalies().resyncs, 1u);
}

TEST_P(WorkedExample, control_vector_parses_into_the_values_of_the_example) {
  const device::Format& f = layout().format;
  std::vector<uint32_t> words(f.control_words);
  // Positions typed from tt-metal profiler_common.h, not taken from the table under test.
  if (f.generation == 3) {
    words[0] = 16, words[5] = 16, words[12] = 0x20, words[13] = 1, words[14] = 18, words[15] = 21;
    words[16] = 37, words[17] = 8, words[18] = 0, words[19] = 1;
  } else {
    words[0] = 16, words[24] = 16, words[50] = 0x20, words[51] = 1, words[52] = 18, words[53] = 21;
    words[54] = 37, words[55] = 8, words[56] = 0, words[57] = 1;
  }
  const ControlVector v = parse_control_vector(words, layout());
  EXPECT_EQ(v.host_end[0], 16u);
  EXPECT_EQ(v.device_end[0], 16u);
  for (unsigned r = 1; r < device::kMaxRiscs; ++r) {
    EXPECT_EQ(v.host_end[r], 0u);
    EXPECT_EQ(v.device_end[r], 0u);
  }
  EXPECT_EQ(v.dram_address, 0x20u);
  EXPECT_EQ(v.run_counter, 1u);
  EXPECT_EQ(v.noc_x, 18u);
  EXPECT_EQ(v.noc_y, 21u);
  EXPECT_EQ(v.flat_id, 37u);
  EXPECT_EQ(v.core_count_per_dram, 8u);
  EXPECT_EQ(v.dropped, 0u);
  EXPECT_EQ(v.done, 1u);
  EXPECT_EQ(disagreement(v, *placement_for("wormhole_b0")), std::nullopt);
  EXPECT_NE(disagreement(v, *placement_for("blackhole")), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Generations, WorkedExample,
                         testing::Values(Generation{"G3", 0x128}, Generation{"G4", 0x4A0}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(WorkedExample, the_log_lies_at_124FA0_in_bank_4) {
  const LogPlace place = log_place(kFlatId, 0, 8, placement_for("wormhole_b0")->dram_base, 48000);
  EXPECT_EQ(place.bank, 4u);
  EXPECT_EQ(place.address, 0x124FA0u);
}

TEST(WorkedExample, what_the_wrong_generation_sees_is_wrong_in_the_known_way) {
  EXPECT_EQ(device::kG3.risc.get(0x4A0), 0u);
  EXPECT_EQ(device::kG3.flat.get(0x4A0), 148u);
  EXPECT_EQ(device::kG4.risc.get(0x128), 8u);
  EXPECT_EQ(device::kG4.flat.get(0x128), 9u);
}

TEST(WorkedExample, the_three_names_hash_to_the_ids_in_the_words) {
  EXPECT_EQ(hash16("BRISC-FW,fw/brisc.cc,417,KERNEL_PROFILER"), 0x2F6D);
  EXPECT_EQ(hash16("BRISC-KERNEL,fw/brisck.cc,53,KERNEL_PROFILER"), 0xFE3E);
  EXPECT_EQ(hash16("MY-DATA,kernels/reader.cpp,12,KERNEL_PROFILER"), 0x02BD);
}

TEST(WorkedExample, layouts_are_found_by_name_in_any_case_and_by_number) {
  EXPECT_EQ(layout_by_name("g3"), layout_by_generation(3));
  EXPECT_EQ(layout_by_name("G4"), layout_by_generation(4));
  EXPECT_EQ(layout_by_name("G5"), nullptr);
  EXPECT_EQ(layout_by_name(""), nullptr);
  EXPECT_EQ(layout_by_name("g1-16"), layout_by_generation(16));
  EXPECT_EQ(layout_by_generation(5), nullptr);
  EXPECT_EQ(placement_for("grayskull"), nullptr);
}

// The published addresses of the profiler (tt-metal dev_msgs.h) follow from the end of the block before it.
TEST(WorkedExample, control_vector_follows_the_magic_word_at_the_next_16_byte_step) {
  EXPECT_EQ(control_address_after(0x10 + 2784, 0x10), 0xB00u);
  EXPECT_EQ(control_address_after(0x60 + 2784, 0x60), 0xB50u);
  EXPECT_EQ(control_address_after(0x10 + 2788, 0x10), 0xB00u);
  EXPECT_EQ(control_address_after(0x10 + 2792, 0x10), 0xB10u);
}

}  // namespace
}  // namespace ttc::markers

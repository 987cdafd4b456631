// Chunks of several devices through one pipeline: what belongs to a session stays with it.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {
namespace {

using shm::ChunkHeader;
using shm::ChunkKind;
using Chunk = std::vector<uint64_t>;

Chunk chunk(ChunkHeader h, const void* body, size_t bytes) {
  h.bytes = static_cast<uint32_t>(sizeof h + bytes);
  Chunk words((h.bytes + 7) / 8);
  std::memcpy(words.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(words.data()) + sizeof h, body, bytes);
  EXPECT_EQ(shm::check_chunk(words), "");
  return words;
}
Chunk text_chunk(ChunkKind kind, uint64_t session, const std::string& text) {
  ChunkHeader h;
  h.kind = kind;
  h.session = session;
  return chunk(h, text.data(), text.size());
}
Chunk session_chunk(uint64_t session, const std::string& device, uint32_t chip, uint32_t mhz = 1000) {
  return text_chunk(ChunkKind::session, session,
                    R"({"device":")" + device + R"(","chip":)" + std::to_string(chip) +
                        R"(,"arch":"wormhole_b0","aiclk_mhz":)" + std::to_string(mhz) + "}");
}
Chunk loss_chunk(uint64_t session, uint32_t chip, uint64_t id) {
  ChunkHeader h;
  h.kind = ChunkKind::loss;
  h.session = session;
  h.device = chip;
  shm::LossRecord record;
  record.id = id;
  record.device = chip;
  return chunk(h, &record, sizeof record);
}

// The lane of tests/data/firmware_lane, all of it or from `first` on.
Chunk lane_chunk(uint64_t session, uint32_t chip, uint32_t first = 0, uint32_t epoch = 0) {
  std::ifstream file(std::string(TTC_TEST_DATA) + "/firmware_lane/lane.bin", std::ios::binary);
  std::string lane((std::istreambuf_iterator<char>(file)), {});
  EXPECT_GT(lane.size(), 1000u);
  ChunkHeader h;
  h.kind = ChunkKind::device_words;
  h.session = session;
  h.device = chip;
  h.epoch = epoch;
  h.core_x = 6;
  h.core_y = 1;
  h.flat_id = 49;
  h.generation = 4;
  h.span_count = 1;
  shm::SpanEntry span;
  span.risc = 1;
  span.word_offset = first;
  span.word_count = static_cast<uint32_t>(lane.size() / 4);
  span.data_offset = sizeof h + sizeof span;
  std::string body(reinterpret_cast<const char*>(&span), sizeof span);
  return chunk(h, (body + lane).data(), body.size() + lane.size());
}

// What a format gets.
struct Notebook : Format {
  void begin(const Session& s) override { begun.push_back(s); }
  void frame(const FrameEvents& f) override {
    markers[f.chip] += f.markers.size();
    for (const markers::Marker& m : f.markers)
      if (const auto* zone = f.names.find(m.id)) ++zones[f.chip][zone->name];
  }
  void loss(const shm::LossRecord& r) override { lost.push_back(r.device); }
  void names_changed() override {}
  void end() override {}

  std::vector<Session> begun;
  std::map<uint32_t, size_t> markers;
  std::map<uint32_t, std::map<std::string, size_t>> zones;
  std::vector<uint32_t> lost;
};

TEST(PipelineSessions, chips_that_two_collectors_numbered_alike_are_told_apart) {
  Pipeline pipeline({}, false);
  Notebook book;
  pipeline.push(session_chunk(1, "emu:a", 0), book);
  pipeline.push(session_chunk(2, "emu:b", 0), book);
  pipeline.push(session_chunk(3, "emu:c", 1), book);
  pipeline.push(session_chunk(4, "emu:a", 0), book);  // a later run on the same device
  for (uint64_t session = 1; session <= 4; ++session) pipeline.push(lane_chunk(session, 0), book);
  ASSERT_EQ(book.begun.size(), 4u);
  EXPECT_EQ(book.begun[0].chip, 0u);
  EXPECT_EQ(book.begun[1].chip, 1u);
  EXPECT_EQ(book.begun[2].chip, 2u);
  EXPECT_EQ(book.begun[3].chip, 0u);
  EXPECT_EQ(book.begun[1].id, 2u);
  ASSERT_EQ(book.markers.size(), 3u);
  EXPECT_GT(book.markers[1], 100u);
  EXPECT_EQ(book.markers[0], 2 * book.markers[1]);
  EXPECT_EQ(book.markers[2], book.markers[1]);
  ASSERT_EQ(pipeline.notices().size(), 2u);
  EXPECT_EQ(pipeline.notices()[0], "emu:b is chip 1 in this output, because emu:a is chip 0 already");
  EXPECT_EQ(pipeline.notices()[1], "emu:c is chip 2 in this output, because emu:b is chip 1 already");
}

TEST(PipelineSessions, losses_of_two_devices_with_the_same_id_are_two) {
  Pipeline pipeline({}, false);
  Notebook book;
  pipeline.push(session_chunk(1, "emu:a", 0), book);
  pipeline.push(session_chunk(2, "emu:b", 0), book);
  pipeline.push(loss_chunk(1, 0, 7), book);
  pipeline.push(loss_chunk(2, 0, 7), book);
  pipeline.push(loss_chunk(2, 0, 7), book);  // the same interval again: a standing copy
  ASSERT_EQ(pipeline.losses().size(), 2u);
  EXPECT_EQ(book.lost, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(pipeline.losses()[1].device, 1u);
}

// They were decoded as if they came from the DRAM log.
TEST(PipelineSessions, words_of_a_source_of_a_later_version_are_left_out_and_reported) {
  Notebook book;
  Pipeline pipeline({}, false);
  Chunk words = lane_chunk(1, 0);
  auto* span = reinterpret_cast<shm::SpanEntry*>(words.data() + sizeof(ChunkHeader) / 8);
  span->source = static_cast<shm::SpanSource>(2);
  ASSERT_EQ(shm::check_chunk(words), "");
  pipeline.push(words, book);
  EXPECT_EQ(pipeline.markers(), 0u);
  EXPECT_NE(pipeline.complaint().find("source 2"), std::string::npos) << pipeline.complaint();
}

std::string names_of_lane() {
  std::ifstream log(std::string(TTC_TEST_DATA) + "/firmware_lane/zone_src_locations.log");
  std::string remarks;
  for (std::string line; std::getline(log, line);) remarks.append(markers::zone_string_in(line)).append("\n");
  EXPECT_GT(remarks.size(), 100u);
  return remarks;
}

// Two workloads may have zones whose different strings share a hash: markers of one must not get the other's.
TEST(PipelineSessions, names_stay_with_their_session) {
  const std::string remarks = names_of_lane();
  Pipeline pipeline({}, false);
  Notebook book;
  pipeline.push(session_chunk(1, "emu:a", 0), book);
  pipeline.push(session_chunk(2, "emu:b", 1), book);
  pipeline.push(text_chunk(ChunkKind::names, 1, remarks), book);
  for (const uint32_t chip : {0u, 1u}) pipeline.push(lane_chunk(chip + 1, chip), book);
  EXPECT_GT(book.zones[0]["NCRISC-FW"], 0u);
  EXPECT_TRUE(book.zones[1].empty());
  EXPECT_EQ(book.markers[0], book.markers[1]);
}

// A collector that stays while other firmware is loaded describes each workload by a chunk of the same session.
TEST(PipelineSessions, names_stay_with_their_workload_in_one_session) {
  const auto workload = [](uint32_t first_epoch) {
    return text_chunk(ChunkKind::session, 1,
                      R"({"device":"emu:a","chip":0,"first_epoch":)" + std::to_string(first_epoch) + "}");
  };
  for (const bool names_first : {true, false}) {  // the later workload has the names, or the earlier one
    Pipeline pipeline({}, false);
    Notebook book;
    pipeline.push(workload(0), book);
    if (names_first) pipeline.push(text_chunk(ChunkKind::names, 1, names_of_lane()), book);
    pipeline.push(workload(5), book);
    if (!names_first) pipeline.push(text_chunk(ChunkKind::names, 1, names_of_lane()), book);
    pipeline.push(lane_chunk(1, 0, 0, names_first ? 5 : 4), book);
    EXPECT_GT(book.markers[0], 100u);
    EXPECT_TRUE(book.zones[0].empty());
    pipeline.push(lane_chunk(1, 0, 0, names_first ? 4 : 6), book);
    EXPECT_GT(book.zones[0]["NCRISC-FW"], 0u);
    EXPECT_EQ(book.begun.size(), 1u) << "a format begins a device once";
  }
}

TEST(PipelineSessions, words_missed_are_counted_by_session) {
  Pipeline pipeline({}, false, {}, {}, shm::LossCause::reader_lapped);
  Notebook book;
  // Both sessions are of chip 0 and take turns: neither's offsets are gaps of the other.
  pipeline.push(lane_chunk(1, 0), book);
  const Chunk first = lane_chunk(1, 0);
  const uint32_t words = shm::spans_of(first)[0].word_count;
  pipeline.push(lane_chunk(2, 0), book);
  pipeline.push(lane_chunk(1, 0, words), book);
  EXPECT_EQ(pipeline.loss_view().missing_words(), 0u);
  pipeline.push(lane_chunk(2, 0, words + 12), book);
  EXPECT_EQ(pipeline.loss_view().missing_words(), 12u);
}

TEST(PipelineSessions, one_chip_can_be_asked_for) {
  Filter filter;
  filter.chip = 1;
  Pipeline pipeline(filter, false);
  Notebook book;
  pipeline.push(session_chunk(1, "emu:a", 0), book);
  pipeline.push(session_chunk(2, "emu:b", 0), book);  // becomes 1
  for (const uint64_t session : {1, 2}) {
    pipeline.push(lane_chunk(session, 0), book);
    pipeline.push(loss_chunk(session, 0, 1), book);
  }
  ASSERT_EQ(book.begun.size(), 1u);
  EXPECT_EQ(book.begun[0].device, "emu:b");
  EXPECT_EQ(book.markers.size(), 1u);
  EXPECT_GT(book.markers[1], 0u);
  EXPECT_EQ(pipeline.losses().size(), 1u);
}

TEST(PipelineSessions, device_csv_says_whose_clock_its_head_does_not_tell) {
  Output out("/dev/null", true);
  DeviceCsv csv(out, {});
  Pipeline pipeline({}, false);
  pipeline.push(session_chunk(1, "emu:a", 0), csv);
  pipeline.push(session_chunk(2, "emu:b", 1), csv);
  EXPECT_TRUE(csv.remarks().empty());
  pipeline.push(session_chunk(3, "emu:c", 2, 1350), csv);
  ASSERT_EQ(csv.remarks().size(), 1u);
  for (const char* word : {"emu:c", "1350 MHz", "1000 MHz", "--chip 2"})
    EXPECT_NE(csv.remarks()[0].find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace ttc::tools

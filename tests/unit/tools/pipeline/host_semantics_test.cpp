// The meaning stage, from words to rows: logs written by hand after the bit tables, exported as device CSV,
// compared with the rows tt-metal's own writer would have made of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/formats/device_csv.hpp"
#include "tools/pipeline/pipeline.hpp"

namespace ttc::tools {
namespace {

using markers::MetalDate;

std::string note(const std::string& name, unsigned line = 10) {
  return name + ",k.cpp," + std::to_string(line) + ",KERNEL_PROFILER";
}
std::string id(const std::string& name, unsigned line = 10) {
  return std::to_string(markers::hash16(note(name, line)));
}

enum Packet : uint32_t { kStart = 0, kEnd = 1, kData = 3, kWideData = 5 };

// One frame of a G4 log: identity [4:0] RISC, [12:5] flat id, [28:13] replays; marker high word: bit 31,
// [30:28] packet, [27:12] id, [11:0] time.
class Frame {
 public:
  explicit Frame(uint32_t risc, uint32_t host_id = 9, uint32_t replays = 0)
      : words_{0, 0, risc | kFlat << 5 | replays << 13, host_id} {
    words_.resize(12, 0x80000000);
  }
  Frame& slot(unsigned slot, Packet packet, const std::string& name, uint32_t time) {
    words_[4 + 2 * slot] = 0x80000000u | packet << 28 | uint32_t{markers::hash16(note(name))} << 12;
    words_[5 + 2 * slot] = time;
    return *this;
  }
  Frame& fw(const std::string& name, uint32_t start) { return slot(0, kStart, name, start); }
  Frame& add(Packet packet, uint16_t hash, std::initializer_list<uint64_t> payload = {}) {
    words_.insert(words_.end(), {0x80000000u | packet << 28 | uint32_t{hash} << 12, time_ += 10});
    for (const uint64_t p : payload)
      words_.insert(words_.end(), {static_cast<uint32_t>(p >> 32), static_cast<uint32_t>(p)});
    return *this;
  }
  Frame& start(const std::string& name) { return add(kStart, markers::hash16(note(name))); }
  Frame& end(const std::string& name) { return add(kEnd, markers::hash16(note(name))); }
  Frame& data(const std::string& name, uint64_t value) {
    return add(kData, markers::hash16(note(name)), {value});
  }
  Frame& at(uint32_t time) {
    time_ = time;
    return *this;
  }
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> padded = words_;
    if (padded.size() % 4) padded.insert(padded.end(), {0x80000000, 0});
    return padded;
  }

  static constexpr uint32_t kFlat = 37;

 private:
  std::vector<uint32_t> words_;
  uint32_t time_ = 1000;
};

using Chunk = std::vector<uint64_t>;

Chunk text_of_chunk(shm::ChunkKind kind, const std::string& text) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + text.size());
  h.kind = kind;
  Chunk chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, text.data(), text.size());
  return chunk;
}

Chunk words_chunk(uint8_t risc, const std::vector<uint32_t>& words, const markers::FrameDigest& before,
                  device::Mode mode, uint8_t generation) {
  shm::ChunkHeader h;
  h.kind = shm::ChunkKind::device_words;
  h.core_x = 1;
  h.core_y = 2;
  h.generation = generation;
  h.flat_id = Frame::kFlat;
  h.firmware_mode = static_cast<uint8_t>(mode);
  h.span_count = 1;
  shm::SpanEntry span;
  span.risc = risc;
  span.word_count = static_cast<uint32_t>(words.size());
  span.data_offset = sizeof h + sizeof span;
  std::memcpy(span.digest, &before, sizeof before);
  h.bytes = static_cast<uint32_t>(span.data_offset + words.size() * 4);
  Chunk chunk((h.bytes + 7) / 8);
  auto* to = reinterpret_cast<char*>(chunk.data());
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, &span, sizeof span);
  std::memcpy(to + span.data_offset, words.data(), words.size() * 4);
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}

class Meaning : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path()); }

  void know(const std::string& text) { remarks_ += text + '\n'; }
  void log(uint8_t risc, const Frame& frame) { lanes_.emplace_back(risc, frame.words()); }

  // Rows without the columns they have in common: from the RISC on.
  std::vector<std::string> rows() {
    Output out(path(), false);
    FormatOptions options;
    options.columns = columns_;
    options.metal_date = date_;
    Pipeline pipeline({}, false, date_);
    DeviceCsv csv(out, options);
    pipeline.push(text_of_chunk(shm::ChunkKind::session, R"({"arch":"wormhole_b0","aiclk_mhz":1000})"), csv);
    if (!remarks_.empty()) pipeline.push(text_of_chunk(shm::ChunkKind::names, remarks_), csv);
    std::map<uint8_t, markers::LaneDecoder> past;  // for the digests, as the collector keeps them
    markers::Batch scratch;
    const device::Format& format = markers::layout_by_generation(generation_)->format;
    for (const auto& [risc, words] : lanes_) {
      const auto lane =
          past.try_emplace(risc, markers::Lane{&format, risc, static_cast<uint8_t>(Frame::kFlat)}).first;
      pipeline.push(words_chunk(risc, words, lane->second.digest(), mode_, generation_), csv);
      lane->second.decode(words, scratch);
    }
    csv.end();
    out.commit();
    notices_ = pipeline.notices();
    std::vector<std::string> all;
    std::ifstream in(path());
    for (std::string row; std::getline(in, row);) all.push_back(row);
    all.erase(all.begin(), all.begin() + 2);
    for (std::string& row : all) {
      EXPECT_EQ(row.substr(0, 6), "0,1,2,");
      row.erase(0, 6);
    }
    return all;
  }

  unsigned columns_ = 15;
  std::optional<MetalDate> date_;
  device::Mode mode_ = device::Mode::normal;
  uint8_t generation_ = 4;
  std::vector<std::string> notices_;

 private:
  static std::string path() {
    return std::filesystem::temp_directory_path() / ("meaning_test-" + std::to_string(getpid()) + ".csv");
  }
  std::string remarks_;
  std::vector<std::pair<uint8_t, std::vector<uint32_t>>> lanes_;
};

using Rows = std::vector<std::string>;

class Dispatch : public Meaning {
 protected:
  void SetUp() override {
    for (const char* name :
         {"BRISC-FW", "NCRISC-FW", "TRISC-FW", "CQ-DISPATCH", "CQ-DISPATCH-SUBORDINATE",
          "process_cmd_d_dispatch", "process_cmd_d_dispatch_subordinate", "runtime_host_id_dispatch",
          "packed_data_dispatch", "packed_large_data_dispatch", "PLAIN"})
      know(note(name));
  }
};

TEST_F(Dispatch, brisc_zones_take_command_subtype_and_runtime_id) {
  log(0, Frame(0, 0)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 12)
             .data("runtime_host_id_dispatch", 7)
             .end("CQ-DISPATCH")
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 5)
             .data("packed_data_dispatch", 2 << 1 | 1)
             .end("CQ-DISPATCH")
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 6)
             .data("packed_large_data_dispatch", 2)
             .end("CQ-DISPATCH"));
  const std::string zone = "BRISC," + id("CQ-DISPATCH") + ',';
  const std::string command = "BRISC," + id("process_cmd_d_dispatch") + ',';
  const std::string offset =
      "CQ-DISPATCH:0:CQ_DISPATCH_CMD_SET_WRITE_OFFSET:7:CQ_DISPATCH_CMD_SET_WRITE_OFFSET";
  const std::string packed =
      "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WRITE_PACKED:7:MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH";
  const std::string large =
      "CQ-DISPATCH:7:CQ_DISPATCH_CMD_WRITE_PACKED_LARGE:7:CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_"
      "BINARIES";
  EXPECT_EQ(
      rows(),
      (Rows{"BRISC," + id("BRISC-FW") + ",900,0,0,,,BRISC-FW,ZONE_START,10,k.cpp,",
            zone + "1010,0,7,,," + offset + ",ZONE_START,10,k.cpp,",
            command + "1020,12,0,,,process_cmd_d_dispatch,TS_DATA,10,k.cpp,"
                      R"({"dispatch_command_type":"CQ_DISPATCH_CMD_SET_WRITE_OFFSET"})",
            "BRISC," + id("runtime_host_id_dispatch") +
                ",1030,7,0,,,runtime_host_id_dispatch,TS_DATA,10,k.cpp,"
                R"({"workers_runtime_id":7})",
            zone + "1040,0,0,,," + offset + ",ZONE_END,10,k.cpp,",
            zone + "1050,0,7,,," + packed + ",ZONE_START,10,k.cpp,",
            command + "1060,5,0,,,process_cmd_d_dispatch,TS_DATA,10,k.cpp,"
                      R"({"dispatch_command_type":"CQ_DISPATCH_CMD_WRITE_PACKED"})",
            "BRISC," + id("packed_data_dispatch") +
                ",1070,5,0,,,packed_data_dispatch,TS_DATA,10,k.cpp,"
                R"({"dispatch_command_subtype":"MCAST;CQ_DISPATCH_CMD_PACKED_WRITE_FLAG_TYPE_LAUNCH"})",
            zone + "1080,0,0,,," + packed + ",ZONE_END,10,k.cpp,",
            zone + "1090,0,7,,," + large + ",ZONE_START,10,k.cpp,",
            command + "1100,6,0,,,process_cmd_d_dispatch,TS_DATA,10,k.cpp,"
                      R"({"dispatch_command_type":"CQ_DISPATCH_CMD_WRITE_PACKED_LARGE"})",
            "BRISC," + id("packed_large_data_dispatch") +
                ",1110,2,0,,,packed_large_data_dispatch,TS_DATA,10,k.cpp,"
                R"({"dispatch_command_subtype":"CQ_DISPATCH_CMD_PACKED_WRITE_LARGE_TYPE_PROGRAM_BINARIES"})",
            zone + "1120,0,0,,," + large + ",ZONE_END,10,k.cpp,"}));
}

TEST_F(Dispatch, ncrisc_zones_take_the_command_alone) {
  log(1, Frame(1, 0)
             .fw("NCRISC-FW", 900)
             .start("CQ-DISPATCH-SUBORDINATE")
             .data("process_cmd_d_dispatch_subordinate", 14)
             .end("CQ-DISPATCH-SUBORDINATE"));
  const auto all = rows();
  ASSERT_EQ(all.size(), 4u);
  const std::string zone = "NCRISC," + id("CQ-DISPATCH-SUBORDINATE") + ',';
  EXPECT_EQ(all[1], zone +
                        "1010,0,0,,,CQ-DISPATCH-SUBORDINATE:CQ_DISPATCH_CMD_SEND_GO_SIGNAL,ZONE_START,10,"
                        "k.cpp,");
  EXPECT_EQ(all[3], zone +
                        "1030,0,0,,,CQ-DISPATCH-SUBORDINATE:CQ_DISPATCH_CMD_SEND_GO_SIGNAL,ZONE_END,10,"
                        "k.cpp,");
}

TEST_F(Dispatch, the_runtime_id_stays_until_the_next_one_also_across_frames) {
  log(0, Frame(0, 0)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("runtime_host_id_dispatch", 7)
             .end("CQ-DISPATCH"));
  log(0, Frame(0, 0)
             .at(2000)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 7)
             .end("CQ-DISPATCH"));
  const auto all = rows();
  ASSERT_EQ(all.size(), 7u) << "FW START of the second frame repeats the first's";
  EXPECT_EQ(all[4], "BRISC," + id("CQ-DISPATCH") +
                        ",2010,0,7,,,CQ-DISPATCH:7:CQ_DISPATCH_CMD_WAIT,ZONE_START,10,k.cpp,");
}

TEST_F(Dispatch, a_zone_cut_between_frames_keeps_its_plain_name_and_its_data_their_meaning) {
  log(0, Frame(0, 0).fw("BRISC-FW", 900).start("CQ-DISPATCH"));
  log(0, Frame(0, 0).at(2000).fw("BRISC-FW", 900).data("process_cmd_d_dispatch", 7).end("CQ-DISPATCH"));
  const auto all = rows();
  ASSERT_EQ(all.size(), 4u);
  const std::string zone = "BRISC," + id("CQ-DISPATCH") + ',';
  EXPECT_EQ(all[1], zone + "1010,0,0,,,CQ-DISPATCH,ZONE_START,10,k.cpp,");
  EXPECT_NE(all[2].find(R"({"dispatch_command_type":"CQ_DISPATCH_CMD_WAIT"})"), std::string::npos) << all[2];
  EXPECT_EQ(all[3], zone + "2020,0,0,,,CQ-DISPATCH,ZONE_END,10,k.cpp,");
}

TEST_F(Dispatch, a_dispatch_zone_that_lost_its_end_does_not_catch_what_comes_later) {
  log(0, Frame(0, 0).fw("BRISC-FW", 900).start("CQ-DISPATCH"));
  log(0, Frame(0, 0)
             .at(2000)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 7)
             .end("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 9));
  const auto all = rows();
  ASSERT_EQ(all.size(), 6u);
  EXPECT_NE(all[4].find("CQ-DISPATCH:0:CQ_DISPATCH_CMD_WAIT,ZONE_END"), std::string::npos) << all[4];
  EXPECT_EQ(all[5].back(), ',') << "outside a dispatch zone data are just data: " << all[5];
}

TEST_F(Dispatch, only_the_top_zone_and_only_data_movement_processors_are_dispatch) {
  log(0, Frame(0, 0)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .start("PLAIN")
             .data("process_cmd_d_dispatch", 7)
             .end("PLAIN")
             .end("CQ-DISPATCH"));
  log(2, Frame(2, 0)
             .fw("TRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("process_cmd_d_dispatch", 7)
             .end("CQ-DISPATCH"));
  for (const std::string& row : rows()) {
    EXPECT_EQ(row.find("CQ_DISPATCH_CMD"), std::string::npos) << row;
    EXPECT_EQ(row.back(), ',') << row;
  }
}

TEST_F(Dispatch, thirteen_columns_have_the_meta_data_and_plain_names) {
  columns_ = 13;
  log(0, Frame(0, 3)
             .fw("BRISC-FW", 900)
             .start("CQ-DISPATCH")
             .data("runtime_host_id_dispatch", 7)
             .end("CQ-DISPATCH"));
  const auto all = rows();
  EXPECT_EQ(all[1], "BRISC," + id("CQ-DISPATCH") + ",1010,0,3,CQ-DISPATCH,ZONE_START,10,k.cpp,");
  EXPECT_EQ(all[2], "BRISC," + id("runtime_host_id_dispatch") +
                        ",1020,7,3,runtime_host_id_dispatch,TS_DATA,10,k.cpp,{\"workers_runtime_id\":7}");
}

TEST_F(Meaning, perf_counters_in_two_words) {
  log(0, Frame(0)
             .slot(0, kStart, "BRISC-FW", 900)
             .slot(1, kEnd, "BRISC-FW", 5000)
             .add(kWideData, 9090, {0x0000044c'000000c8, 1})
             .add(kWideData, 9090, {0x0000044c'000000c9, 0xff}));
  const auto all = rows();
  EXPECT_EQ(all[1], "BRISC,9090,1010," + std::to_string(0x0000044c000000c8) +
                        R"(,9,,,,TS_DATA_16B,0,,{"counter type":"FPU_COUNTER";"ref cnt":1100;"value":200})");
  EXPECT_EQ(all[2], "BRISC,9090,1020," + std::to_string(0x0000044c000000c9) +
                        R"(,9,,,,TS_DATA_16B,0,,{"counter type":255;"ref cnt":1100;"value":201})");
}

TEST_F(Meaning, perf_counters_in_one_word_are_those_of_their_month) {
  log(3, Frame(3).fw("TRISC-FW", 900).add(kData, 9090, {0x20'00044c'000000c8}));
  date_ = MetalDate{2026, 1};
  EXPECT_EQ(rows()[1], "TRISC_1,9090,1010," + std::to_string(0x2000044c000000c8) +
                           R"(,9,,,,TS_DATA,0,,{"counter type":"FPU_COUNTER";"ref cnt":1100;"value":200})");
  date_ = MetalDate{2026, 5};
  EXPECT_NE(rows()[1].find(R"("counter type":"MOVE_INSTRN_AVAILABLE_2")"), std::string::npos) << rows()[1];
  date_.reset();
  generation_ = 3;  // other identity bits, so the frame is not of this lane
  EXPECT_TRUE(rows().empty());
}

TEST_F(Meaning, plain_noc_events_have_neither_name_nor_meta_data) {
  // A zone may well hash to the fixed id.
  std::string claimed;
  for (unsigned line = 1; claimed.empty(); ++line)
    if (markers::hash16(note("ZONE", line)) == 12345) claimed = note("ZONE", line);
  know(claimed);
  log(1, Frame(1).fw("NCRISC-FW", 900).add(kStart, 12345).add(kData, 12345, {0x0001'42'0807'0201'0f}));
  const auto all = rows();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[1].find(",ZONE,ZONE_START,"), std::string::npos) << all[1];
  EXPECT_EQ(all[2],
            "NCRISC,12345,1020," + std::to_string(uint64_t{0x00014208070201'0f}) + ",9,,,,TS_DATA,0,,");
}

TEST_F(Meaning, noc_debug_events_tell_addresses_and_counter) {
  // posted WRITE_ of 96 bytes; destination 0x1fffd, source 2, counter 0xabc
  const uint64_t event = 0x01'03'42'08'07'02'01'0b;
  const uint64_t debug = uint64_t{0xabc} << 52 | uint64_t{2} << 48 | uint64_t{1} << 22 | 0x7fff;
  log(0,
      Frame(0).fw("BRISC-FW", 900).add(kWideData, 12345, {event, debug}).add(kWideData, 23456, {event, 0}));
  EXPECT_EQ(rows()[1], "BRISC,12345,1010," + std::to_string(event) +
                           R"(,9,,,,TS_DATA_16B,0,,{"dst_addr":131069;"noc_status_counter":2748;"posted":1;)"
                           R"("src_addr":2})");
  EXPECT_NE(rows()[2].find(R"({"dst_addr":0;)"), std::string::npos) << rows()[2];
  date_ = MetalDate{2026, 3};
  EXPECT_NE(rows()[1].find(",TS_DATA,0,,{\"dst_addr\""), std::string::npos)
      << "16-byte data had no type of their own then: " << rows()[1];
}

TEST_F(Meaning, sixteen_bytes_of_anything_else_keep_their_second_half) {
  know(note("PAIR"));
  log(0, Frame(0)
             .fw("BRISC-FW", 900)
             .add(kWideData, markers::hash16(note("PAIR")), {5, 6})
             .add(kWideData, 12345, {33, 7}));  // a fabric event carries no addresses
  const auto all = rows();
  EXPECT_EQ(all[1], "BRISC," + id("PAIR") + ",1010,5,9,,,PAIR,TS_DATA_16B,10,k.cpp,{\"data_2\":6}");
  EXPECT_EQ(all[2], "BRISC,12345,1020,33,9,,,,TS_DATA_16B,0,,{\"data_2\":7}");
}

TEST_F(Meaning, trace_only_zones_are_renamed_and_keep_their_ids) {
  mode_ = device::Mode::trace_only;
  for (const char* name : {"NCRISC-FW", "TRISC-FW", "BRISC-KERNEL", "USER"}) know(note(name));
  log(0, Frame(0, 4, 4)
             .slot(0, kStart, "NCRISC-FW", 900)
             .slot(1, kEnd, "TRISC-FW", 1300)
             .slot(2, kStart, "BRISC-KERNEL", 950)
             .start("USER"));
  EXPECT_EQ(rows(),
            (Rows{"TENSIX_RISC_AGG," + id("NCRISC-FW") + ",900,0,4,,,TRACE-FW,ZONE_START,10,k.cpp,",
                  "TENSIX_RISC_AGG," + id("BRISC-KERNEL") + ",950,0,4,,,TRACE-KERNEL,ZONE_START,10,k.cpp,",
                  "TENSIX_RISC_AGG," + id("USER") + ",1010,0,4,,,USER,ZONE_START,10,k.cpp,",
                  "TENSIX_RISC_AGG," + id("TRISC-FW") + ",1300,0,4,,,TRACE-FW,ZONE_END,10,k.cpp,"}));
}

TEST_F(Meaning, replays_are_counted_and_their_trace_is_not_known) {
  log(0, Frame(0, 9, 3).fw("BRISC-FW", 900));
  EXPECT_EQ(rows()[0], "BRISC," + id("BRISC-FW") + ",900,0,9,,3,,ZONE_START,0,,");
}

TEST_F(Meaning, missing_names_leave_empty_columns) {
  log(0, Frame(0).fw("BRISC-FW", 900).start("USER").end("USER").data("USER", 1));
  for (const std::string& row : rows()) EXPECT_NE(row.find(",9,,,,"), std::string::npos) << row;
  EXPECT_TRUE(notices_.empty());
}

// A line at which `other` has the hash of `name` at line 10.
unsigned colliding_line(const std::string& name, const std::string& other) {
  for (unsigned line = 1;; ++line)
    if (markers::hash16(note(other, line)) == markers::hash16(note(name))) return line;
}

TEST_F(Meaning, the_processor_decides_between_colliding_names) {
  const unsigned line = colliding_line("BRISC-KERNEL", "NCRISC-KERNEL");
  know(note("BRISC-KERNEL"));
  know(note("NCRISC-KERNEL", line));
  log(0, Frame(0).fw("BRISC-FW", 900).start("BRISC-KERNEL"));
  log(1, Frame(1).fw("NCRISC-FW", 900).start("BRISC-KERNEL"));
  const auto all = rows();
  EXPECT_EQ(all[1], "BRISC," + id("BRISC-KERNEL") + ",1010,0,9,,,BRISC-KERNEL,ZONE_START,10,k.cpp,");
  EXPECT_EQ(all[3], "NCRISC," + id("BRISC-KERNEL") + ",1010,0,9,,,NCRISC-KERNEL,ZONE_START," +
                        std::to_string(line) + ",k.cpp,");
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find(id("BRISC-KERNEL") + " is BRISC-KERNEL at k.cpp:10 or NCRISC-KERNEL at k.cpp:" +
                             std::to_string(line)),
            std::string::npos)
      << notices_[0];
}

TEST_F(Meaning, names_nobody_can_decide_between_are_marked) {
  const unsigned line = colliding_line("ONE", "OTHER");
  know(note("ONE"));
  know(note("OTHER", line));
  know(note("PAIR"));
  // the second frame takes the long way because of the 16 bytes
  log(2, Frame(2).fw("TRISC-FW", 900).start("ONE"));
  log(2, Frame(2, 10).at(3000).fw("TRISC-FW", 2900).start("ONE").add(kWideData, 7, {1, 2}));
  const auto all = rows();
  EXPECT_EQ(all[1],
            "TRISC_0," + id("ONE") + R"(,1010,0,9,,,ONE,ZONE_START,10,k.cpp,{"zone_name_or":"OTHER"})");
  EXPECT_EQ(all[3],
            "TRISC_0," + id("ONE") + R"(,3010,0,10,,,ONE,ZONE_START,10,k.cpp,{"zone_name_or":"OTHER"})");
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(Meaning, collisions_nobody_met_are_no_news) {
  know(note("ONE"));
  know(note("OTHER", colliding_line("ONE", "OTHER")));
  log(0, Frame(0).fw("BRISC-FW", 900));
  rows();
  EXPECT_TRUE(notices_.empty());
}

}  // namespace
}  // namespace ttc::tools

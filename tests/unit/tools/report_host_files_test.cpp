#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "shm/chunk.hpp"
#include "tools/report/input/tracy_files.hpp"

namespace {

using namespace ttc;
using namespace ttc::collect;
using report::TracyFiles;

class Chunk {
 public:
  explicit Chunk(uint32_t process = 0) {
    head.process = process;
    head.init_begin = 1000;
    head.timer_mul = 2;  // two nanoseconds a tick
    head.tick = 1000;
    head.raw_ns = 50'000 + process * 10'000;
    head.ns_per_tick = 2;
  }
  Chunk& add(EventKind kind, uint32_t subject, int64_t time, uint64_t value = 0, std::string_view text = {}) {
    append_record(records_, {kind, subject, time, value, text});
    return *this;
  }
  void push(TracyFiles& files, std::optional<uint64_t> sequence = {}) const {
    shm::ChunkHeader h;
    if (sequence) h.device = kHostDevice, h.sequence = *sequence;
    h.kind = shm::ChunkKind::host_events;
    h.bytes = static_cast<uint32_t>(sizeof h + sizeof head + records_.size());
    std::vector<uint64_t> chunk((h.bytes + 7) / 8);
    auto* at = reinterpret_cast<char*>(chunk.data());
    std::memcpy(at, &h, sizeof h);
    std::memcpy(at + sizeof h, &head, sizeof head);
    if (!records_.empty()) std::memcpy(at + sizeof h + sizeof head, records_.data(), records_.size());
    files.push(chunk);
  }
  HostChunkHead head;

 private:
  std::vector<std::byte> records_;
};

std::string source(const char* name, const char* function, const char* file) {
  return std::string(name) + '\0' + function + '\0' + file + '\0';
}

constexpr const char* kTimesHeader =
    "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text\n";

TEST(TracyFiles, messages_by_time_the_later_one_of_a_time_first) {
  TracyFiles files;
  Chunk()
      .add(EventKind::message, 1, 1100, 0, "second")
      .add(EventKind::message, 2, 1050, 0, "first")
      .add(EventKind::message, 1, 1100, 0, "third\nof two lines")
      .add(EventKind::literal, 1, 1200, 77)
      .add(EventKind::app_info, 1, 1010, 0, "not a message")
      .add(EventKind::string, 0, 0, 77, "a literal")
      .push(files);
  EXPECT_EQ(files.data(),
            "MessageName;total_ns\nfirst;100\nthird\nof two lines;200\nsecond;200\na literal;400\n");
}

TEST(TracyFiles, no_message_is_a_sentence_of_the_exporter) {
  EXPECT_EQ(TracyFiles().data(), "There are currently no messages!\n");
  EXPECT_EQ(TracyFiles().times(), kTimesHeader);
}

// A begin in front of missing chunks and an end behind them became one zone.
TEST(TracyFiles, missing_chunks_make_no_zone_of_two_halves) {
  TracyFiles files;
  Chunk().add(EventKind::zone_begin, 9, 1010, 1).push(files, 0);
  Chunk().add(EventKind::zone_end, 9, 1020).add(EventKind::zone_begin, 9, 1030, 1).push(files, 1);
  Chunk().add(EventKind::zone_end, 9, 1090).push(files, 3);
  Chunk().add(EventKind::zone_begin, 9, 1100, 1).add(EventKind::zone_end, 9, 1110).push(files, 4);
  EXPECT_EQ(files.times(), std::string(kTimesHeader) + ",,0,,,20,20,0,\n,,0,,,200,20,0,\n");
  ASSERT_EQ(files.remarks().size(), 2u);
  EXPECT_EQ(files.remarks()[0],
            "events of the host's side are missing in 1 places; zones that were open there are left out");
}

TEST(TracyFiles, zones_by_source_with_what_the_exporter_repeats) {
  TracyFiles files;
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_text, 9, 0, 0, "id:1024")
      .add(EventKind::zone_begin, 9, 1020, 2)
      .add(EventKind::zone_value, 9, 0, 255)
      .add(EventKind::zone_text, 9, 0, 0, "more")
      .add(EventKind::zone_end, 9, 1030)
      .add(EventKind::zone_end, 9, 1040)
      .add(EventKind::zone_begin, 8, 1005, 1)
      .add(EventKind::zone_name, 8, 0, 0, "own name")
      .add(EventKind::zone_end, 8, 1006)
      .add(EventKind::zone_begin, 9, 1050, 1)
      .add(EventKind::zone_end, 9, 1060)
      .add(EventKind::zone_begin, 9, 1070, 3)  // never ends
      .add(EventKind::source, 12, 0, 1, source("TT_DNN_DEVICE_OP", "run", "op.cpp"))
      .add(EventKind::source, 30, 0, 2, source("CompileProgram", "compile", "program.cpp"))
      .add(EventKind::source, 40, 0, 3, source("", "main", "main.cpp"))
      .push(files);
  EXPECT_EQ(files.times(), std::string(kTimesHeader) +
                               "TT_DNN_DEVICE_OP,op.cpp,12,own name,,10,2,1,\n"
                               "TT_DNN_DEVICE_OP,op.cpp,12,own name,\"id:1024\",20,60,0,\n"
                               "TT_DNN_DEVICE_OP,op.cpp,12,own name,\"id:1024\",100,20,0,\n"
                               "CompileProgram,program.cpp,30,,\"255 [0xff]\nmore\",40,20,0,id:1024\n");
}

TEST(TracyFiles, a_zone_without_a_name_has_its_functions) {
  TracyFiles files;
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_end, 9, 1020)
      .add(EventKind::source, 4, 0, 1, source("", "main", "main.cpp"))
      .push(files);
  EXPECT_EQ(files.times(), std::string(kTimesHeader) + "main,main.cpp,4,,,20,20,0,\n");
}

TEST(TracyFiles, zones_that_took_no_time_are_left_out) {
  TracyFiles files;
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_end, 9, 1010)
      .add(EventKind::zone_begin, 9, 1020, 1)
      .add(EventKind::zone_end, 9, 1021)
      .push(files);
  EXPECT_EQ(files.times(), std::string(kTimesHeader) + ",,0,,,40,2,0,\n");
}

TEST(TracyFiles, further_processes_are_on_the_first_ones_time_line) {
  TracyFiles files;
  Chunk(0).add(EventKind::message, 1, 1100, 0, "of the first").push(files);
  Chunk(1).add(EventKind::message, 1, 1100, 0, "of the second").push(files);  // begins 10 us later
  EXPECT_EQ(files.data(), "MessageName;total_ns\nof the first;200\nof the second;10200\n");
  ASSERT_EQ(files.remarks().size(), 1u);
}

TEST(TracyFiles, more_zones_than_are_kept_is_said) {
  TracyFiles files({}, 1);
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_begin, 9, 1011, 1)
      .add(EventKind::zone_text, 9, 0, 0, "of the one that is not kept")
      .add(EventKind::zone_end, 9, 1012)
      .add(EventKind::zone_end, 9, 1013)
      .push(files);
  EXPECT_EQ(files.times(), std::string(kTimesHeader) + ",,0,,,20,6,0,\n");
  ASSERT_EQ(files.remarks().size(), 1u);
}

TEST(TracyFiles, ends_without_a_beginning_and_damage_are_said) {
  TracyFiles files;
  Chunk().add(EventKind::zone_end, 9, 1010).push(files);
  Chunk unknown;
  unknown.head.version = 9;
  unknown.push(files);
  EXPECT_EQ(files.remarks().size(), 2u);
}

TEST(HostChunks, any_cut_ends_in_an_answer) {
  std::vector<std::byte> body(sizeof(HostChunkHead));
  const HostChunkHead head;
  std::memcpy(body.data(), &head, sizeof head);
  append_record(body, {EventKind::message, 1, 2, 3, "text"});
  append_record(body, {EventKind::zone_end, 1, 2, 3, {}});
  for (size_t bytes = 0; bytes <= body.size(); ++bytes) {
    HostChunkReader reader({reinterpret_cast<const char*>(body.data()), bytes});
    size_t records = 0;
    for (HostEvent event; reader.next(event);) ++records;
    const bool whole = bytes == sizeof head || bytes == sizeof head + 32 || bytes == body.size();
    EXPECT_EQ(reader.why_not().empty(), whole) << bytes;
    EXPECT_EQ(records, bytes == body.size() ? 2u : bytes >= sizeof head + 32 ? 1u : 0u) << bytes;
  }
}

// Of a machine that was up for a year, times were whole multiples of 4 and 8 ns.
TEST(HostTimes, nanoseconds_of_a_machine_that_runs_for_long_are_exact) {
  constexpr int64_t kYear = 31'536'000'000'000'001;
  collect::HostChunkHead head{};
  collect::relate_raw_ns(head, kYear);
  for (const int64_t later : {0, 1, 2, 3, 10, 999'999'999})
    EXPECT_EQ(collect::raw_ns_of(head, kYear + later), kYear + later);
}

}  // namespace

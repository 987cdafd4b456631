#include "tools/report/host/tracy_files.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/host_chunks.hpp"

namespace {

using namespace ttc;
using namespace ttc::collect;
using report::TracyFiles;
using Chunk = tests::HostChunk;

std::string data(TracyFiles& files) {
  std::string all;
  files.write_data([&](std::string_view part) { all += part; });
  return all;
}
std::string times(TracyFiles& files) {
  std::string all;
  files.write_times([&](std::string_view part) { all += part; });
  return all;
}

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
  files.end();
  EXPECT_EQ(data(files),
            "MessageName;total_ns\nfirst;100\nthird\nof two lines;200\nsecond;200\na literal;400\n");
}

TEST(TracyFiles, no_message_is_a_sentence_of_the_exporter) {
  TracyFiles files;
  files.end();
  EXPECT_EQ(data(files), "There are currently no messages!\n");
  EXPECT_EQ(times(files), kTimesHeader);
}

// A begin in front of missing chunks and an end behind them became one zone.
TEST(TracyFiles, missing_chunks_make_no_zone_of_two_halves) {
  TracyFiles files;
  Chunk().add(EventKind::zone_begin, 9, 1010, 1).push(files, 0);
  Chunk().add(EventKind::zone_end, 9, 1020).add(EventKind::zone_begin, 9, 1030, 1).push(files, 1);
  Chunk().add(EventKind::zone_end, 9, 1090).push(files, 3);
  Chunk().add(EventKind::zone_begin, 9, 1100, 1).add(EventKind::zone_end, 9, 1110).push(files, 4);
  files.end();
  EXPECT_EQ(times(files), std::string(kTimesHeader) + ",,0,,,20,20,1,\n,,0,,,200,20,1,\n");
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
  files.end();
  EXPECT_EQ(times(files), std::string(kTimesHeader) +
                              "TT_DNN_DEVICE_OP,op.cpp,12,,\"id:1024\",20,60,1,\n"
                              "TT_DNN_DEVICE_OP,op.cpp,12,,\"id:1024\",100,20,1,\n"
                              "TT_DNN_DEVICE_OP,op.cpp,12,own name,\"id:1024\",10,2,2,\n"
                              "CompileProgram,program.cpp,30,,\"255 [0xff]\nmore\",40,20,1,id:1024\n");
}

TEST(TracyFiles, a_zone_without_a_name_has_its_functions) {
  TracyFiles files;
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_end, 9, 1020)
      .add(EventKind::source, 4, 0, 1, source("", "main", "main.cpp"))
      .push(files);
  files.end();
  EXPECT_EQ(times(files), std::string(kTimesHeader) + "main,main.cpp,4,,,20,20,1,\n");
}

TEST(TracyFiles, zones_that_took_no_time_are_left_out) {
  TracyFiles files;
  Chunk()
      .add(EventKind::zone_begin, 9, 1010, 1)
      .add(EventKind::zone_end, 9, 1010)
      .add(EventKind::zone_begin, 9, 1020, 1)
      .add(EventKind::zone_end, 9, 1021)
      .push(files);
  files.end();
  EXPECT_EQ(times(files), std::string(kTimesHeader) + ",,0,,,40,2,1,\n");
}

TEST(TracyFiles, further_processes_are_on_the_first_ones_time_line) {
  TracyFiles files;
  Chunk(0).add(EventKind::message, 1, 1100, 0, "of the first").push(files);
  Chunk(1).add(EventKind::message, 1, 1100, 0, "of the second").push(files);  // begins 10 us later
  files.end();
  EXPECT_EQ(data(files), "MessageName;total_ns\nof the first;200\nof the second;10200\n");
  ASSERT_EQ(files.remarks().size(), 1u);
}

TEST(TracyFiles, ends_without_a_beginning_and_damage_are_said) {
  TracyFiles files;
  Chunk().add(EventKind::zone_end, 9, 1010).push(files);
  Chunk unknown;
  unknown.head.version = 9;
  unknown.push(files);
  files.end();
  EXPECT_EQ(files.remarks().size(), 2u);
}

}  // namespace

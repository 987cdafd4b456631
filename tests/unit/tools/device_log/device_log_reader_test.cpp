// Every variant of profile_log_device.csv, and everything that is none.
#include "tools/device_log/device_log_reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <tuple>
#include <vector>

namespace ttc::tools {
namespace {

using markers::MarkerType;
using Next = DeviceLogReader::Next;

const std::string kPreamble = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n";
const std::string kFirst =
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset]";
const std::string k13 =
    kFirst + ", data, run host ID,  zone name, type, source line, source file, meta data\n";
const std::string k15 =
    kFirst +
    ", data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

// A row with its texts kept.
struct Kept : DeviceLogRow {
  explicit Kept(const DeviceLogRow& r)
      : DeviceLogRow(r), name(r.zone_name), file(r.source_file), meta_text(r.meta) {}
  std::string name, file, meta_text;
};

struct Read {
  DeviceLogHead head;
  std::vector<Kept> rows;
  std::vector<std::pair<LogSkip, uint64_t>> skipped;
};

Read read(const std::string& text) {
  std::istringstream in(text);
  DeviceLogReader reader(in, "test.csv");
  Read all{reader.head(), {}, {}};
  DeviceLogRow row;
  for (;;) {
    const Next next = reader.next(row);
    if (next == Next::end) return all;
    if (next == Next::row)
      all.rows.emplace_back(row);
    else
      all.skipped.emplace_back(reader.reason(), reader.line());
  }
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const DeviceLogError& e) {
    return e.what();
  }
  return "";
}

TEST(DeviceLogReader, reads_the_15_columns_of_today) {
  const auto r =
      read("ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 110\n" + k15 +
           "3,1,2,TRISC_2,22845,17592186044415,18446744073709551615,1027,7,11,A-ZONE,TS_DATA_16B,396,/p/"
           "x.cc,{\"data_2\":5}\n"
           "3,16,11,ERISC,9,8,0,0,,,,ZONE_TOTAL,0,,\n");
  EXPECT_EQ(r.head.arch, "blackhole");
  EXPECT_EQ(r.head.chip_mhz, 1350u);
  EXPECT_EQ(r.head.max_compute_cores, 110u);
  EXPECT_EQ(r.head.columns, 15u);
  ASSERT_EQ(r.rows.size(), 2u);
  const Kept& a = r.rows[0];
  EXPECT_EQ(a.line, 3u);
  EXPECT_EQ(a.chip, 3u);
  EXPECT_EQ(a.core_x, 1);
  EXPECT_EQ(a.core_y, 2);
  EXPECT_EQ(a.risc, LogRisc::trisc_2);
  EXPECT_EQ(a.id, 22845);
  EXPECT_EQ(a.time_cycles, 17592186044415u);
  EXPECT_EQ(a.data, ~uint64_t{0});
  EXPECT_EQ(a.run_host_id, 1027u);
  EXPECT_EQ(a.trace_id, 7u);
  EXPECT_EQ(a.trace_counter, 11u);
  EXPECT_EQ(a.name, "A-ZONE");
  EXPECT_EQ(a.type, MarkerType::ts_data_16b);
  EXPECT_EQ(a.source_line, 396u);
  EXPECT_EQ(a.file, "/p/x.cc");
  EXPECT_EQ(a.meta_text, "{\"data_2\":5}");
  EXPECT_EQ(r.rows[1].risc, LogRisc::erisc);
  EXPECT_EQ(r.rows[1].type, MarkerType::zone_total);
  EXPECT_FALSE(r.rows[1].trace_id);
}

TEST(DeviceLogReader, reads_the_13_columns_of_mid_2025) {
  const auto r = read(kPreamble + k13 + "0,1,1,BRISC,12345,99,3105098146250761,1024,,TS_DATA,0,,\n");
  EXPECT_EQ(r.head.max_compute_cores, 0u);
  ASSERT_EQ(r.rows.size(), 1u);
  EXPECT_EQ(r.rows[0].data, 3105098146250761u);
  EXPECT_EQ(r.rows[0].run_host_id, 1024u);
  EXPECT_FALSE(r.head.has(LogColumn::trace_id));
}

TEST(DeviceLogReader, reads_the_13_columns_of_early_2025_with_their_two_ids) {
  for (const std::string words : {"stat value, run ID, run host ID,  zone name, zone phase",
                                  "data, run ID, run host ID,  zone name, type"}) {
    const auto r = read(kPreamble + kFirst + ", " + words + ", source line, source file\n" +
                        "0,1,1,BRISC,88381,99,0,6,2048,BRISC-FW,end,396,/a.cc\n");
    ASSERT_EQ(r.rows.size(), 1u) << words;
    EXPECT_EQ(r.rows[0].run_id, 6u);
    EXPECT_EQ(r.rows[0].run_host_id, 2048u);
    EXPECT_EQ(r.rows[0].type, MarkerType::zone_end);
    EXPECT_EQ(r.rows[0].timer_id, 88381u);
    EXPECT_EQ(r.rows[0].id, 22845);
  }
}

TEST(DeviceLogReader, reads_the_12_padded_columns_of_2023_to_2024) {
  const auto r = read("ARCH: grayskull, CHIP_FREQ[MHz]: 1202\n" + kFirst +
                      ", stat value, Run ID, zone name, zone phase, source line, source file\n"
                      "0,1,1,BRISC,53427 ,11233712278980,0,4,BRISC-FW    ,begin,315,tt-metal/brisc.cc\n"
                      "0,1,1,BRISC,118963,11233712334431,0,4,BRISC-FW    ,end  ,315,tt-metal/brisc.cc\n"
                      "0,1,1,BRISC,133000,11233712334431,77,4,CB-WAIT    ,sum  ,40 ,tt-metal/brisc.cc\n");
  EXPECT_EQ(r.head.arch, "grayskull");
  ASSERT_EQ(r.rows.size(), 3u);
  EXPECT_EQ(r.rows[0].name, "BRISC-FW");
  EXPECT_EQ(r.rows[0].type, MarkerType::zone_start);
  EXPECT_EQ(r.rows[1].type, MarkerType::zone_end);
  EXPECT_EQ(r.rows[1].id, r.rows[0].id);
  EXPECT_EQ(r.rows[1].run_host_id, 4u);
  EXPECT_EQ(r.rows[2].type, MarkerType::zone_total);
  EXPECT_EQ(r.rows[2].data, 77u);
  EXPECT_EQ(r.rows[2].source_line, 40u);
}

TEST(DeviceLogReader, reads_the_6_columns_of_2023_and_their_fixed_ids) {
  const auto r = read("Chip clock is at 1.2 GHz\n" + kFirst +
                      "\n0,1,1,NCRISC,1,100\n0,1,1,NCRISC,2,110\n0,1,1,NCRISC,3,120\n0,1,1,NCRISC,4,130\n"
                      "0,1,1,NCRISC,65541,125\n");
  EXPECT_EQ(r.head.chip_mhz, 1200u);
  EXPECT_EQ(r.head.arch, "");
  ASSERT_EQ(r.rows.size(), 5u);
  EXPECT_EQ(r.rows[0].type, MarkerType::zone_start);
  EXPECT_EQ(r.rows[3].type, MarkerType::zone_end);
  EXPECT_EQ(r.rows[0].id, r.rows[3].id);
  EXPECT_EQ(r.rows[1].type, MarkerType::zone_start);
  EXPECT_EQ(r.rows[2].type, MarkerType::zone_end);
  EXPECT_EQ(r.rows[1].id, r.rows[2].id);
  EXPECT_NE(r.rows[0].id, r.rows[1].id);
  EXPECT_EQ(r.rows[4].type, MarkerType::zone_end);
  EXPECT_EQ(r.rows[4].id, 5);
  EXPECT_FALSE(r.rows[0].run_host_id);
}

TEST(DeviceLogReader, takes_the_line_ends_padding_and_letters_people_have) {
  const auto r = read(
      "\xef\xbb\xbf"
      "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\r\n" +
      k13.substr(0, k13.size() - 1) +
      "\r\n\r\n 0, 1 ,1,BRISC,\t5,99 ,0,1, Z\xc3\xb6ne ,ZONE_START,1, /h/\xe4\xb8\xad/a.cc , \r\n"
      "0,1,1,BRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,");
  ASSERT_EQ(r.rows.size(), 2u);
  EXPECT_TRUE(r.skipped.empty());
  EXPECT_EQ(r.rows[0].line, 4u);
  EXPECT_EQ(r.rows[0].name, "Z\xc3\xb6ne");
  EXPECT_EQ(r.rows[0].file, "/h/\xe4\xb8\xad/a.cc");
  EXPECT_EQ(r.rows[1].line, 5u);
  EXPECT_EQ(r.rows[1].meta_text, "");
}

TEST(DeviceLogReader, finds_columns_by_name_and_lets_further_ones_be) {
  const auto r =
      read(kPreamble +
           "core_y, core_x, PCIe slot, colour, time[cycles since reset], timer_id, RISC processor type\n"
           "2,1,0,red,77,4,BRISC\n");
  ASSERT_EQ(r.rows.size(), 1u);
  EXPECT_EQ(r.rows[0].core_x, 1);
  EXPECT_EQ(r.rows[0].core_y, 2);
  EXPECT_EQ(r.rows[0].time_cycles, 77u);
}

TEST(DeviceLogReader, says_why_and_where_a_line_is_no_row) {
  const std::string good = "0,1,1,BRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,\n";
  const auto r =
      read(kPreamble + k13 + good + "0,1,1,BRISC,5\n" + "0,1,1,BRISC,5,100,0,1,Z,ZONE_END,1,/a,b.cc,\n" +
           "0,1,x,BRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,\n" + "0,1,1,DRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,\n" +
           "0,1,1,BRISC,5,100,0,1,Z,ZONE_MIDDLE,1,/a.cc,\n" + kPreamble + k13 + good +
           "0,300,1,BRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,\n" + "0,1,1,BRISC,5,-1,0,1,Z,ZONE_END,1,/a.cc,\n" +
           "0,1,1,BRISC,524288,1,0,1,Z,ZONE_END,1,/a.cc,\n" + "0,1,1,BRISC,,1,0,1,Z,ZONE_END,1,/a.cc,\n" +
           std::string(40, ',') + "\n" + std::string("\0\x01\x02,,,", 6) + "\n" + good);
  EXPECT_EQ(r.rows.size(), 3u);
  using S = LogSkip;
  const std::vector<std::pair<S, uint64_t>> want{
      {S::too_few_columns, 4}, {S::too_many_columns, 5}, {S::bad_number, 6},     {S::unknown_risc, 7},
      {S::unknown_type, 8},    {S::repeated_head, 9},    {S::repeated_head, 10}, {S::bad_number, 12},
      {S::bad_number, 13},     {S::bad_number, 14},      {S::bad_number, 15},    {S::too_many_columns, 16},
      {S::too_few_columns, 17}};
  EXPECT_EQ(r.skipped, want);
}

TEST(DeviceLogReader, counts_what_it_skipped_and_keeps_the_first_line) {
  std::istringstream in(kPreamble + k13 + "x\nx\n0,1,1,BRISC,5,100,0,1,Z,ZONE_END,1,/a.cc,\n");
  DeviceLogReader reader(in, "test.csv");
  DeviceLogRow row;
  while (reader.next(row) != Next::end) {
  }
  EXPECT_EQ(reader.rows(), 1u);
  EXPECT_EQ(reader.skipped(LogSkip::too_few_columns).lines, 2u);
  EXPECT_EQ(reader.skipped(LogSkip::too_few_columns).first_line, 3u);
  EXPECT_EQ(reader.skipped(LogSkip::bad_number).lines, 0u);
}

// Lines around the size of the buffer, of any length, and a file much larger than it.
TEST(DeviceLogReader, needs_no_more_memory_for_longer_lines_or_files) {
  const std::string head = kPreamble + k13;
  for (const size_t length : {DeviceLogReader::kLongestLine - 1, DeviceLogReader::kLongestLine,
                              DeviceLogReader::kLongestLine + 1, 2 * DeviceLogReader::kLongestLine,
                              2 * DeviceLogReader::kLongestLine + 1, 10 * DeviceLogReader::kLongestLine}) {
    std::string row = "0,1,1,BRISC,5,100,0,1,Z,ZONE_END,1,/";
    row += std::string(length - row.size() - 1, 'a') + ",";
    const auto r = read(head + row + "\n0,1,1,BRISC,5,101,0,1,Z,ZONE_END,1,/a.cc,\n" + row);
    const size_t kept = length <= DeviceLogReader::kLongestLine ? 3 : 1;
    ASSERT_EQ(r.rows.size(), kept) << length;
    EXPECT_EQ(r.rows[kept == 3 ? 1 : 0].time_cycles, 101u) << length;
    EXPECT_EQ(r.rows[kept == 3 ? 1 : 0].line, 4u) << length;
    EXPECT_EQ(r.skipped.size(), 3 - kept);
  }
  std::string text = head;
  constexpr uint64_t kRows = 20000;
  for (uint64_t i = 0; i < kRows; ++i)
    text += "0,1,1,BRISC,5," + std::to_string(i * 7) + ",0,1,Z,ZONE_END,1,/a.cc,\n";
  const auto r = read(text);
  ASSERT_EQ(r.rows.size(), kRows);
  for (uint64_t i = 0; i < kRows; ++i) ASSERT_EQ(r.rows[i].time_cycles, i * 7);
}

TEST(DeviceLogReader, refuses_in_a_sentence_what_is_no_device_log) {
  EXPECT_NE(refusal("").find("test.csv is empty"), std::string::npos);
  EXPECT_NE(refusal("PROGRAM,NAME\n1,2\n").find("line 1 is 'PROGRAM,NAME'"), std::string::npos);
  EXPECT_NE(refusal("ARCH: x, CHIP_FREQ[MHz]: fast\n" + k13).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("ARCH: x, CHIP_FREQ[MHz]: 0\n" + k13).find("line 1"), std::string::npos);
  EXPECT_NE(refusal("ARCH: x, CHIP_FREQ[MHz]: 1, Max Compute Cores: many\n" + k13).find("line 1"),
            std::string::npos);
  EXPECT_NE(refusal("Chip clock is at -3 GHz\n" + k13).find("line 1"), std::string::npos);
  EXPECT_NE(refusal(kPreamble).find("ends after its first line"), std::string::npos);
  EXPECT_NE(refusal(kPreamble + "0,1,1,BRISC,5,100\n").find("line 2 is '0,1,1,BRISC,5,100'"),
            std::string::npos);
  EXPECT_NE(refusal(kPreamble + kFirst + std::string(40, ',') + "\n").find("line 2"), std::string::npos);
  const std::string terminal = refusal("\x1b[2J\n");
  EXPECT_EQ(terminal.find('\x1b'), std::string::npos);
}

TEST(DeviceLogReader, reads_a_piece_of_a_real_log_to_its_last_row) {
  std::ifstream in(TTC_TEST_DATA "/device_log/n300_brisc.csv", std::ios::binary);
  ASSERT_TRUE(in);
  DeviceLogReader reader(in, "n300_brisc.csv");
  EXPECT_EQ(reader.head().arch, "wormhole_b0");
  EXPECT_EQ(reader.head().chip_mhz, 1000u);
  DeviceLogRow row;
  uint64_t starts = 0, data = 0;
  for (Next next = reader.next(row); next != Next::end; next = reader.next(row)) {
    ASSERT_EQ(next, Next::row) << "line " << reader.line();
    starts += row.type == MarkerType::zone_start;
    data += row.type == MarkerType::ts_data;
  }
  EXPECT_EQ(starts, 10u);
  EXPECT_EQ(reader.rows(), 64u);
  EXPECT_EQ(data, 64u - 10u - 8u);
}

// Rows whose text occurred before are read by another path; the result must be the same.
TEST(DeviceLogReader, rows_read_alike_whether_their_text_was_met_before_or_not) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + random() % words.size()));
  };
  const std::string head = "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 110\n" + k15;
  std::vector<std::string> lines;
  for (int i = 0; i < 400; ++i)
    lines.push_back(
        one_of({"0", "3", "x", "4294967296"}) + "," + one_of({"1", "255", "256", ""}) + ",2," +
        one_of({"BRISC", "NCRISC", "TRISC_0", "TENSIX_RISC_AGG", "ERISC", "BRISCO"}) + "," +
        one_of({"7", "65535", "70000"}) + "," +
        one_of({"1", "17592186044415", "18446744073709551615", "99999999999999999999", "nan", " 5"}) + "," +
        one_of({"0", "9"}) + "," + one_of({"7", "", "4294967295"}) + "," + one_of({"", "5", "-1"}) + "," +
        one_of({"", "2"}) + "," + one_of({"A-FW", "B-KERNEL", ""}) + "," +
        one_of({"ZONE_START", "ZONE_END", "TS_DATA", "ZONE"}) + "," + one_of({"1", "x"}) + "," +
        one_of({"f.cc", "/a,b.cc", "\xc3\xbc.cc"}) + "," + one_of({"", "{\"a\":1}"}) +
        one_of({"", "\r", "\r"}) + "\n");
  std::string all = head;
  size_t rows = 0, skipped = 0;
  for (const std::string& line : lines) all += line;
  const Read together = read(all);
  for (const std::string& line : lines) {
    const Read alone = read(head + line);
    ASSERT_EQ(alone.rows.size() + alone.skipped.size(), 1u) << line;
    if (alone.rows.empty()) {
      ASSERT_LT(skipped, together.skipped.size());
      EXPECT_EQ(together.skipped[skipped++].first, alone.skipped[0].first) << line;
      continue;
    }
    ASSERT_LT(rows, together.rows.size()) << line;
    const Kept &a = alone.rows[0], &b = together.rows[rows++];
    EXPECT_EQ(std::tie(a.chip, a.core_x, a.core_y, a.risc, a.timer_id, a.id, a.type, a.time_cycles, a.data,
                       a.run_host_id, a.trace_id, a.trace_counter, a.source_line),
              std::tie(b.chip, b.core_x, b.core_y, b.risc, b.timer_id, b.id, b.type, b.time_cycles, b.data,
                       b.run_host_id, b.trace_id, b.trace_counter, b.source_line))
        << line;
    EXPECT_EQ(a.name + a.file + a.meta_text, b.name + b.file + b.meta_text) << line;
  }
  EXPECT_EQ(rows, together.rows.size());
  EXPECT_EQ(skipped, together.skipped.size());
}

}  // namespace
}  // namespace ttc::tools

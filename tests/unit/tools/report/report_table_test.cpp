// Tables of ops: reading them, joining host and device, and what is said of every op.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tools/report/diff/run_diff.hpp"
#include "tools/report/input/signposts.hpp"
#include "tools/report/ops/busy_time.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/run.hpp"
#include "tools/report/page/html_page.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/python_text.hpp"
#include "tools/report/text/spill.hpp"
#include "tools/report/text/text_table.hpp"

namespace ttc::report {
namespace {

using Fields = std::vector<std::string>;

std::vector<Fields> rows_of(const std::string& text, char separator = ',', char quote = '"') {
  std::istringstream in(text);
  CsvFile file(in, separator, quote);
  std::vector<Fields> rows;
  for (Fields fields; file.next(fields);) rows.push_back(fields);
  return rows;
}

TEST(ReportCsv, quotes_commas_and_line_ends) {
  EXPECT_EQ(rows_of("a,b\r\n\"x, y\",\"say \"\"no\"\"\"\r\n\r\n,\n"),
            (std::vector<Fields>{{"a", "b"}, {"x, y", "say \"no\""}, {"", ""}}));
  EXPECT_EQ(rows_of("`one\ntwo`;3\n", ';', '`'), (std::vector<Fields>{{"one\ntwo", "3"}}));
  EXPECT_EQ(rows_of("\xef\xbb\xbfid,n\n1,2"), (std::vector<Fields>{{"id", "n"}, {"1", "2"}}));
  std::istringstream in("\"never closed,\n1,2\n");
  CsvFile file(in);
  Fields fields;
  EXPECT_TRUE(file.next(fields));
  EXPECT_TRUE(file.unclosed());
  EXPECT_EQ(file.line(), 1u);
}

TEST(ReportCsv, what_is_written_reads_back) {
  for (const std::string value : {"", "plain", "a,b", "\"", "two\nlines", "loc(\"x\")"}) {
    std::string row;
    append_csv(row, value);
    row += ",end\n";
    EXPECT_EQ(rows_of(row), (std::vector<Fields>{{value, "end"}})) << value;
  }
}

TEST(ReportPython, spells_as_python_does) {
  using nlohmann::ordered_json;
  EXPECT_EQ(python_repr(ordered_json::parse(R"({"k":"v","n":[1,2.0,1.5e-7],"t":true,"z":null,"q":"it's"})")),
            R"({'k': 'v', 'n': [1, 2.0, 1.5e-07], 't': True, 'z': None, 'q': "it's"})");
  EXPECT_EQ(python_float(30), "30.0");
  EXPECT_EQ(python_float(0.03), "0.03");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_rounded(31.1436, 3), "31.144");
}

const char* kMessages =
    "MessageName;total_ns\n"
    "perf_event_paranoid: 4;208003870\n"
    "`TT_SIGNPOST: warm up\nsecond line`;90\n"
    "`TT_DNN_DEVICE_OP: \"Matmul\", 77, 3, false, 1027 ->\n"
    "{\"attributes\":{\"grid\":\"{[(x=0,y=0)]}\"},\"device_id\":3,\"global_call_count\":1027,\"op_code\":"
    "\"Matmul\",\"op_hash\":77,"
    "\"op_type\":\"tt_dnn_device\",\"program_cache_hit\":false,\"input_tensors\":[{\"dtype\":\"BFLOAT16\","
    "\"layout\":\"TILE\","
    "\"shape\":{\"W\":\"1[1]\",\"X\":\"64[60]\",\"Y\":\"32[32]\",\"Z\":\"1[1]\"},\"storage_type\":{\"device_"
    "id\":0,\"memory_config\":"
    "{\"buffer_type\":\"L1\",\"memory_layout\":\"Height_sharded\"}}}],\"output_tensors\":[],\"performance_"
    "model\":"
    "{\"ideal_ns\":400,\"compute_ns\":300,\"bandwidth_ns\":400,\"input_bws\":[1.5],\"output_bws\":[]}}`;100\n"
    "TT_METAL_TRACE_BEGIN: 3, 5;110\n"
    "`TT_DNN_DEVICE_OP: \"Matmul\", 77, 3, true, 2051`;120\n"
    "TT_METAL_TRACE_END: 3, 5;130\n"
    "TT_METAL_TRACE_REPLAY: 3, 5;500\n"
    "TT_METAL_TRACE_REPLAY: 3, 5;700\n"
    "MLIR_OP_LOCATION;loc(\"f.py:1:id(0)\");800\n"
    "`TT_DNN_DEVICE_OP: \"Matmul\", 77, 3, true, 3075`;810\n"
    "`TT_DNN_DEVICE_OP: \"Matmul\", 99, 3, true, 4099`;820\n"
    "`TT_DNN_DEVICE_OP: \"Cut\", 1, 3, false, 5123 ->\n{\"attributes\":`;830\n";

HostLog host_log() {
  HostLog log;
  std::istringstream data(kMessages), times(
                                          "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_"
                                          "time_ns,thread,special_parent_text\n"
                                          "TT_DNN_DEVICE_OP,a.cpp,1,,\"id:1027\",95,20,1,\n"
                                          "CompileProgram,a.cpp,1,,,96,7,1,id:1027\n"
                                          "TT_DNN_DEVICE_OP,a,b.cpp,1,,\"id:2051\",1,1,1,\n"
                                          "TT_DNN_DEVICE_OP,a.cpp,1,,\"id:3075\",805,20,1,\n");
  read_ops_data(data, "data.csv", log);
  read_ops_times(times, "times.csv", log);
  return log;
}

TEST(ReportHost, reads_messages_traces_and_signposts) {
  const HostLog log = host_log();
  ASSERT_EQ(log.ops.size(), 3u);
  EXPECT_EQ(log.ops[0].call_count, 1027u);
  EXPECT_EQ(log.ops[0].start_ns, 95u);
  ASSERT_EQ(log.ops[0].child_count, 1u);
  EXPECT_EQ(log.children[log.ops[0].children].ns, 7u);
  EXPECT_FALSE(log.ops[0].trace_id.has_value());
  EXPECT_EQ(log.ops[1].trace_id, 5u);
  EXPECT_EQ(log.ops[1].cache_hit, true);
  EXPECT_EQ(log.infos->notes_at(log.ops[2].notes).location, "loc(\"f.py:1:id(0)\")");
  ASSERT_EQ(log.signposts.size(), 1u);
  EXPECT_EQ(log.signposts[0].header, "warm up");
  EXPECT_EQ(log.signposts[0].message, "second line");
  EXPECT_EQ(log.replays_ns.at({3, 5}), (std::vector<uint64_t>{500, 700}));
  std::string remarks;
  for (const std::string& n : log.remarks) remarks += n + "\n";
  EXPECT_TRUE(log.damaged);
  for (const char* part : {"no JSON that can be read", "not described before", "comma in a path", "in line "})
    EXPECT_NE(remarks.find(part), std::string::npos) << part << " is not in\n" << remarks;
}

// Tracy keeps 64 KiB of a message: a recording that is whole may hold such an op.
TEST(ReportHost, json_that_tracy_cut_is_no_damage) {
  for (const size_t bytes : {size_t{100}, size_t{65'500}}) {
    HostLog log;
    std::istringstream in("MessageName;total_ns\n`TT_DNN_DEVICE_OP: \"A\", 1, 0, 1 ->\n{\"a\": \"" +
                          std::string(bytes, 'x') + "`;5\n");
    read_ops_data(in, "data.csv", log);
    ASSERT_EQ(log.remarks.size(), 1u);
    EXPECT_EQ(log.damaged, bytes == 100) << log.remarks[0];
    EXPECT_EQ(log.remarks[0].find("64 KiB") != std::string::npos, bytes > 65'000) << log.remarks[0];
  }
}

TEST(ReportSignposts, the_near_name_is_the_one_meant) {
  const std::vector<std::string> names{"start", "stop", "start"};
  EXPECT_NO_THROW(need_signpost("", 1, names));
  EXPECT_NO_THROW(need_signpost("start", 2, names));
  const auto said = [&](const std::string& wish, size_t times, const std::vector<std::string>& all) {
    try {
      need_signpost(wish, times, all);
    } catch (const UnknownName& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(said("stop", 2, names).find("needs it twice"), std::string::npos);
  EXPECT_NE(said("stars", 1, names).find("did you mean 'start'?"), std::string::npos);
  EXPECT_NE(said("entirely else", 1, names).find("the first of the 3 is 'start'"), std::string::npos);
  EXPECT_NE(said("start", 1, {}).find("no signposts at all"), std::string::npos);
}

// A hit flag written as a number was taken for the device of the form without a flag: the op vanished.
TEST(ReportHost, cached_ops_with_a_numeric_hit_flag_vanished) {
  const std::string first(kMessages, std::strstr(kMessages, "TT_METAL_TRACE_BEGIN") - kMessages);
  struct {
    const char* fields;
    std::optional<bool> hit;
    bool known;
  } const cases[] = {
      {"77, 3, 1, 2048", true, true},      {"77, 3, 0, 2048", false, true},
      {"77, 3, True, 2048", true, true},   {"77, 3, false, 2048", false, true},
      {"77, 3, 2048", std::nullopt, true}, {"77, 3, maybe, 2048", std::nullopt, false},
      {"77, 3, 1, 1, 2048", {}, false},    {"3, 2048", {}, false},
      {"77, 3, 1, -2048", {}, false},
  };
  for (const auto& c : cases) {
    HostLog log;
    std::istringstream data(first + "`TT_DNN_DEVICE_OP: \"Mat, mul\", " + c.fields + "`;120\n");
    read_ops_data(data, "data.csv", log);
    ASSERT_EQ(log.ops.size(), c.known ? 2u : 1u) << c.fields;
    EXPECT_EQ(log.remarks.empty(), c.known) << c.fields;
    if (!c.known) continue;
    EXPECT_EQ(log.ops[1].call_count, 2048u) << c.fields;
    EXPECT_EQ(log.ops[1].device, 3u) << c.fields;
    EXPECT_EQ(log.ops[1].cache_hit, c.hit) << c.fields;
  }
}

DeviceRow device_op(uint32_t id, uint64_t start, uint64_t ns, std::optional<uint32_t> session = {}) {
  DeviceRow r;
  r.call_count = id;
  r.device = 3;
  r.arch = "blackhole";
  r.cores = 8;
  r.available_cores = 110;
  r.firmware_start = start;
  r.firmware_end = start + ns + 200;
  r.firmware_ns = ns + 200;
  r.kernel_start = start + 100;
  r.kernel_end = start + 100 + ns;
  r.kernel_ns = ns;
  r.gap_ns = 12;
  if (session) r.trace_id = 5, r.session = session;
  return r;
}

std::string cell(const Cells& cells, size_t row, const std::string& column) {
  const auto at = std::find(cells.header.begin(), cells.header.end(), column);
  return at == cells.header.end() ? "no such column"
                                  : cells.rows[row][static_cast<size_t>(at - cells.header.begin())];
}

// Marks of a workload without Tracy were in no row: there was no op's zone to place them by.
TEST(ReportJoin, signposts_without_host_ops_are_placed_by_the_time_of_device_rows) {
  HostLog host;
  host.signposts = {{"late", "", 30, 1030}, {"early", "why", 0, 1000}};
  ResultOptions options;
  options.raw_ns = [](uint32_t, uint64_t cycles) { return std::optional(990 + cycles); };
  JoinSummary summary;
  const DeviceRows rows{device_op(2, 50, 5), device_op(1, 20, 5)};
  const Cells cells = join_results(rows, host, options, summary);
  ASSERT_EQ(cells.rows.size(), 4u);
  const char* const codes[] = {"early", "", "late", ""};
  const char* const starts[] = {"0", "10", "30", "40"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cell(cells, i, "OP CODE"), codes[i]) << i;
    EXPECT_EQ(cell(cells, i, "HOST START TS"), starts[i]) << i;
  }
  EXPECT_EQ(cell(cells, 0, "ATTRIBUTES"), "why");
  EXPECT_EQ(cells.device[1], 1u);
  // A row without a time on the host's clock: the device's rows as they were.
  options.raw_ns = [](uint32_t, uint64_t cycles) {
    return cycles > 30 ? std::nullopt : std::optional<uint64_t>(cycles);
  };
  const Cells alone = join_results(rows, host, options, summary);
  EXPECT_EQ(alone.rows.size(), 2u);
  EXPECT_EQ(cell(alone, 0, "OP CODE"), "no such column");
}

TEST(ReportJoin, a_missing_device_row_leaves_cells_empty_and_replays_are_rows) {
  JoinSummary summary;
  const Cells cells = join_results({device_op(1027, 1000, 500), device_op(2051, 5000, 600, 1),
                                    device_op(2051, 9000, 610, 2), device_op(9219, 1, 5)},
                                   host_log(), {true, false, {}}, summary);
  ASSERT_EQ(cells.rows.size(), 5u);  // signpost, op, two replays, one without device rows
  EXPECT_EQ(cell(cells, 0, "OP CODE"), "warm up");
  EXPECT_EQ(cell(cells, 0, "ATTRIBUTES"), "second line");
  EXPECT_EQ(cell(cells, 1, "DEVICE KERNEL DURATION [ns]"), "500");
  EXPECT_EQ(cell(cells, 1, "ATTRIBUTES"), "{'grid': '{[(x=0;y=0)]}'}");
  EXPECT_EQ(cell(cells, 1, "INPUT_0_X_PAD[LOGICAL]"), "64[60]");
  EXPECT_EQ(cell(cells, 1, "INPUT_0_MEMORY"), "DEV_0_L1_HEIGHT_SHARDED");
  EXPECT_EQ(cell(cells, 1, "PM FPU UTIL (%)"), "60.0");
  EXPECT_EQ(cell(cells, 1, "PM REQ I BW"), "[1.5]");
  EXPECT_EQ(cell(cells, 1, "PROGRAM CACHE HIT"), "False");
  EXPECT_EQ(cell(cells, 1, "CompileProgram_TT_HOST_FUNC [ns]"), "7");
  EXPECT_EQ(cell(cells, 3, "METAL TRACE REPLAY SESSION ID"), "2");
  EXPECT_EQ(cell(cells, 3, "DEVICE KERNEL DURATION [ns]"), "610");
  EXPECT_EQ(cell(cells, 4, "GLOBAL CALL COUNT"), "3075");
  EXPECT_EQ(cell(cells, 4, "DEVICE KERNEL DURATION [ns]"), "");
  EXPECT_EQ(cell(cells, 4, "LOC"), "loc(\"f.py:1:id(0)\")");
  EXPECT_EQ(cell(cells, 1, "LOC"), "loc(unknown)");
  EXPECT_EQ(summary.without_device, 1u);
  EXPECT_EQ(summary.without_host, 1u);
  EXPECT_EQ(sentences(summary).size(), 3u);
}

TEST(ReportJoin, ops_captured_into_a_trace_without_a_replay_are_counted_and_no_rows) {
  JoinSummary summary;
  const Cells cells = join_results({device_op(1027, 1000, 500)}, host_log(), {}, summary);
  for (size_t i = 0; i < cells.rows.size(); ++i) EXPECT_NE(cell(cells, i, "GLOBAL CALL COUNT"), "2051");
  EXPECT_EQ(summary.captured, 1u);
  EXPECT_NE(sentences(summary)[1].find("captured into a trace"), std::string::npos);
}

Cells table(const std::string& text) {
  Cells cells;
  std::vector<Fields> rows = rows_of(text);
  cells.header = rows.front();
  for (size_t i = 1; i < rows.size(); ++i) cells.rows.push_back(rows[i]);
  return cells;
}

constexpr const char* kHead =
    "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,MATH FIDELITY,CORE COUNT,HOST START TS,DEVICE FW "
    "START CYCLE,"
    "DEVICE FW END CYCLE,OP TO OP LATENCY [ns],DEVICE FW DURATION [ns],DEVICE KERNEL DURATION "
    "[ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,"
    "INPUT_0_X,INPUT_0_DATATYPE,INPUT_0_MEMORY,INPUT_1_W,INPUT_1_Z,INPUT_1_Y,INPUT_1_X,INPUT_1_DATATYPE,"
    "INPUT_1_MEMORY,OUTPUT_0_W,"
    "OUTPUT_0_Z,OUTPUT_0_Y,OUTPUT_0_X,OUTPUT_0_DATATYPE,OUTPUT_0_MEMORY\n";

std::string matmul(const char* fidelity, const char* ns, const char* gap = "100", const char* start = "10") {
  return std::string("Matmul,tt_dnn_device,1024,0,,") + fidelity + ",64," + start + ",,," + gap + ",," + ns +
         ",1,1,32,2048,BFLOAT16,DEV_0_DRAM_INTERLEAVED,1,1,2048,5120,BFLOAT8_B,DEV_0_DRAM_INTERLEAVED,1,1,32,"
         "5120,BFLOAT16,DEV_0_L1_INTERLEAVED\n";
}

TEST(ReportSpill, what_was_appended_reads_back_from_memory_and_from_the_file) {
  std::mt19937 random(3);
  Spill spill(1000);
  std::vector<std::pair<uint64_t, std::string>> all;
  for (int i = 0; i < 3000; ++i) {
    const std::string text(random() % 400, static_cast<char>('a' + i % 26));
    all.emplace_back(spill.append(text), text);
    const auto& [place, want] = all[random() % all.size()];
    ASSERT_EQ(spill.at(place, want.size()), want) << "after " << i;
  }
  for (const auto& [place, want] : all) ASSERT_EQ(spill.at(place, want.size()), want);
}

TEST(ReportSpill, rows_of_a_table_that_fills_the_file_keep_every_field) {
  std::string text = kHead;
  constexpr size_t kRows = 4000;
  for (size_t i = 0; i < kRows; ++i) {
    std::string row = matmul("HiFi2", std::to_string(1000 + i).c_str());
    row.replace(row.find(",,HiFi2"), 2, "," + std::string(1000 + i % 7, 'x') + ",");
    text += row;
  }
  const Cells cells = table(text);
  const OpTable all = op_table(cells, {});
  ASSERT_EQ(all.rows.size(), kRows);
  for (size_t i = kRows; i-- > 0;) {
    const OpRow row = all.rows[i];
    ASSERT_EQ(row.id, i + 2);
    ASSERT_EQ(row.kernel, static_cast<double>(1000 + i));
    ASSERT_EQ(row.attributes.size(), 1000 + i % 7);
    ASSERT_EQ(row.output0.memory, "DEV_0_L1_INTERLEAVED");
    ASSERT_FALSE(row.slowest_x.has_value());
    ASSERT_EQ(cells.rows[i].size(), cells.header.size());
  }
}

TEST(ReportOpsTable, hifi3_has_a_peak_and_a_bad_cell_costs_that_cell_only) {
  const OpReport report =
      make_report(op_table(table(std::string(kHead) + matmul("HiFi3", "50000") + matmul("HiFi2", "5e1x") +
                                 matmul("HiFi2", "-7") + matmul("Wonder", "50000", "nan")),
                           {}),
                  {});
  ASSERT_EQ(report.rows.size(), 4u);
  const double tflops = 2.0 * 32 * 2048 * 5120 / 50000 / 1000;
  EXPECT_NEAR(*report.rows[0].figures.flops_percent, tflops / (74.0 * 4 / 3 / 72 * 64) * 100, 1e-9);
  EXPECT_NEAR(*report.rows[0].figures.dram_gb_s, (32.0 * 2048 * 2 + 2048.0 * 5120) / 50000, 1e-9);
  EXPECT_EQ(report.rows[0].figures.text, "Matmul 32 x 2048 x 5120");
  EXPECT_EQ(report.rows[0].figures.fidelity, "HiFi3 BF16 x BFP8 => BF16");
  EXPECT_FALSE(report.rows[1].figures.tflops.has_value());
  EXPECT_EQ(report.rows[2].device_us, 0.0);
  EXPECT_FALSE(report.rows[3].figures.flops_percent.has_value());
  EXPECT_FALSE(report.rows[3].gap_us.has_value());
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_NE(report.remarks[0].find("2 cells"), std::string::npos) << report.remarks[0];
  EXPECT_NE(report.remarks[0].find("row 3"), std::string::npos) << report.remarks[0];
}

TEST(ReportOpsTable, every_op_has_a_limit_with_its_rule) {
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + matmul("HiFi2", "38000") + matmul("LoFi", "1")), {}), {});
  EXPECT_EQ(report.rows[0].limit.what, "dram");
  EXPECT_NE(report.rows[0].limit.why.find("%"), std::string::npos);
  for (const ReportRow& r : report.rows) EXPECT_FALSE(r.limit.what.empty() || r.limit.why.empty());
}

std::string op(const char* code, const char* type, int start, const char* gap = "0") {
  return std::string(code) + "," + type + ",1024,0,,,1," + std::to_string(start) + ",,," + gap +
         ",,1000,,,,,,,,,,,,,,,,,,\n";
}

TEST(ReportOpsTable, an_empty_default_window_falls_back_and_says_so) {
  const OpTable t = op_table(table(std::string(kHead) + op("first", "signpost", 1) +
                                   op("A", "tt_dnn_device", 2) + op("last", "signpost", 3)),
                             {});
  const OpReport report = make_report(t, {});
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].op.code, "A");
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_NE(report.remarks[0].find("'first'"), std::string::npos) << report.remarks[0];
}

TEST(ReportOpsTable, the_same_signpost_twice_is_a_window_between_both) {
  ReportOptions options;
  options.start_signpost = options.end_signpost = "s";
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + op("X", "tt_dnn_device", 1) + op("s", "signpost", 2) +
                     op("A", "tt_dnn_device", 3) + op("s", "signpost", 4) + op("Y", "tt_dnn_device", 5)),
               {}),
      options);
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].op.code, "A");
}

TEST(ReportOpsTable, equal_keys_keep_their_order) {
  std::string text = kHead;
  for (int i = 0; i < 60; ++i) text += op(("op" + std::to_string(i)).c_str(), "tt_dnn_device", 5);
  ReportOptions options;
  options.merge_devices = false;
  const OpReport report = make_report(op_table(table(text), {}), options);
  for (size_t i = 0; i < 60; ++i) EXPECT_EQ(report.rows[i].op.code, "op" + std::to_string(i));
}

TEST(ReportOpsTable, overlapping_ops_count_once) {
  std::vector<OpRow> ops(2);
  ops[0].kernel = 1000;
  ops[0].firmware = 1200;
  ops[0].firmware_start = 0;
  ops[0].firmware_end = 1200;
  ops[1] = ops[0];
  ops[1].firmware_start = 600;
  ops[1].firmware_end = 1800;
  const Busy busy = busy_time({&ops[0], &ops[1]});
  EXPECT_NEAR(busy.sum_us, 2.0, 1e-9);
  EXPECT_NEAR(busy.busy_us, 1.6, 1e-9);  // 200..1200 and 800..1800
  EXPECT_NEAR(busy.span_us, 1.6, 1e-9);
}

TEST(ReportOpsTable, host_bound_is_said_with_its_rule) {
  const OpReport report = make_report(
      op_table(table(std::string(kHead) + op("A", "tt_dnn_device", 1) + op("B", "tt_dnn_device", 2, "99000")),
               {}),
      {});
  EXPECT_EQ(report.totals.verdict, "host-bound");
  EXPECT_NE(report.totals.verdict_rule.find("70 %"), std::string::npos);
}

TEST(ReportDiff, significance_needs_spread_and_samples) {
  std::string slow = kHead, fast = kHead, one = kHead;
  for (const char* ns : {"1000", "1010", "990"}) fast += matmul("HiFi2", ns);
  for (const char* ns : {"2000", "2010", "1990"}) slow += matmul("HiFi2", ns);
  one += matmul("HiFi2", "1500");
  const RunDiff diff = compare(op_table(table(fast), {}), op_table(table(slow), {}));
  ASSERT_EQ(diff.rows.size(), 1u);
  const DiffRow& r = diff.rows[0];
  EXPECT_NEAR(*r.change_percent, 100, 1e-9);
  ASSERT_TRUE(r.change.has_value());
  EXPECT_TRUE(r.change->low > 90 && r.change->low < 100 && r.change->high > 100 && r.change->high < 110);
  EXPECT_TRUE(r.significant());
  EXPECT_GT(diff.total_change.low, 90);
  const RunDiff same = compare(op_table(table(fast), {}), op_table(table(fast), {}));
  EXPECT_FALSE(same.rows[0].significant());
  EXPECT_FALSE(compare(op_table(table(fast), {}), op_table(table(one), {})).rows[0].change.has_value());
}

TEST(ReportDiff, what_the_clock_cannot_tell_apart_is_not_ranked) {
  std::string a = kHead, b = kHead;
  for (const char* ns : {"1000", "1001", "1002"}) a += matmul("HiFi2", ns);
  for (const char* ns : {"1100", "1101", "1102"}) b += matmul("HiFi2", ns);
  DiffOptions options;
  EXPECT_TRUE(compare(op_table(table(a), {}), op_table(table(b), {}), options).rows[0].significant());
  options.bound_us = 0.2;
  const RunDiff hidden = compare(op_table(table(a), {}), op_table(table(b), {}), options);
  EXPECT_TRUE(hidden.rows[0].within_clock);
  EXPECT_FALSE(hidden.rows[0].significant());
}

TEST(ReportDiff, the_waterfall_adds_up_to_the_difference) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string texts[2] = {kHead, kHead};
    for (std::string& text : texts)
      for (int i = 0; i < 30; ++i)
        text += op(("Op" + std::to_string(random() % 6)).c_str(), "tt_dnn_device", i,
                   std::to_string(random() % 9000).c_str());
    const RunDiff diff = compare(op_table(table(texts[0]), {}), op_table(table(texts[1]), {}));
    double sum = 0;
    for (const WaterfallPart& part : diff.waterfall) sum += part.us;
    EXPECT_NEAR(sum, diff.total_b + diff.gaps_b - diff.total_a - diff.gaps_a, 1e-9);
  }
}

// A median of n drawn samples is at or below the k-th of n values with the probability that at least half of
// n throws hit k of n places.
TEST(ReportDiff, drawn_medians_scatter_as_resampled_ones_do) {
  for (const size_t n : {1u, 2u, 3u, 8u, 51u}) {
    std::mt19937_64 random(n);
    std::vector<double> sorted;
    for (size_t i = 0; i < n; ++i) sorted.push_back(static_cast<double>(i));
    std::vector<double> plain;
    for (size_t draw = 0; draw < Bootstrap::kDraws; ++draw) {
      std::vector<double> sample;
      for (size_t i = 0; i < n; ++i) sample.push_back(sorted[random() % n]);
      plain.push_back(spread(sample).median);
    }
    const std::vector<double> drawn = Bootstrap().medians(sorted);
    const auto share_below = [](const std::vector<double>& all, double limit) {
      return static_cast<double>(
                 std::count_if(all.begin(), all.end(), [&](double v) { return v <= limit; })) /
             static_cast<double>(all.size());
    };
    for (size_t i = 0; i < n; ++i)
      EXPECT_NEAR(share_below(drawn, static_cast<double>(i)), share_below(plain, static_cast<double>(i)),
                  0.06)
          << n << " values, at " << i;
  }
}

TEST(ReportSteps, windows_lie_between_signposts) {
  std::string text = kHead;
  for (int i = 0; i < 5; ++i)
    text += op("step", "signpost", i * 100000 + (i > 0 ? 900000 : 0)) +
            op("A", "tt_dnn_device", i * 100000 + (i > 0 ? 900001 : 1));
  const Steps all = find_steps(op_table(table(text), {}), {});
  ASSERT_EQ(all.steps.size(), 4u);
  EXPECT_FALSE(all.steps[0].counted);  // ten times as long as the others
  EXPECT_NEAR(*all.steps[1].wall_us, 100, 1e-9);
  EXPECT_NEAR(all.steps[1].device_us, 1, 1e-9);
  EXPECT_NEAR(*all.steps[1].overhead_percent(), 99, 1e-9);
  EXPECT_NEAR(*all.steps[1].dispatch_us(), 99, 1e-9);
}

TEST(ReportText, columns_fit_the_width_and_colours_only_where_asked) {
  TextTable t({{"Name", true, 0, 6}, {"Value"}, {"Less", false, 1}});
  t.row({{"\xc3\xbc"
          "berlang und breit",
          Ink::red},
         {"1,000"},
         {"unwichtig"}});
  for (const size_t width : {16u, 30u, 80u}) {
    std::istringstream lines(t.text(width, false));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(shown_width(line), width) << line;
  }
  EXPECT_EQ(t.text(0, false).find('\033'), std::string::npos);
  EXPECT_NE(t.text(0, true).find('\033'), std::string::npos);
  EXPECT_EQ(thousands(-1234567.5, 1), "-1,234,567.5");
}

TEST(ReportHtml, nothing_in_the_data_ends_the_page) {
  const std::string page = html_page("a </title> <b>", {{"name", "</script><!-- \xff"}});
  EXPECT_EQ(page.find("</script><!--"), std::string::npos);
  EXPECT_EQ(page.find("a </title>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  EXPECT_EQ(base64("ttr", 3) + base64("tt", 2) + base64("t", 1), "dHRydHQ=dA==");
}

}  // namespace
}  // namespace ttc::report

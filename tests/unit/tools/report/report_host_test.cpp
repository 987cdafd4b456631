// The host's side, and the table that joins it with the device's rows.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "tools/report/input/signposts.hpp"
#include "tools/report/metal_files/ops_results.hpp"
#include "tools/report/ops/run.hpp"

namespace ttc::report {
namespace {

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
  EXPECT_EQ(log.ops[0].start_ns, 95);
  ASSERT_EQ(log.ops[0].child_count, 1u);
  EXPECT_EQ(log.children[log.ops[0].children].ns, 7u);
  EXPECT_FALSE(log.ops[0].trace_id.has_value());
  EXPECT_EQ(log.ops[1].trace_id, 5u);
  EXPECT_EQ(log.ops[1].cache_hit, true);
  EXPECT_EQ(log.infos->notes_at(log.ops[2].notes).location, "loc(\"f.py:1:id(0)\")");
  ASSERT_EQ(log.signposts.size(), 1u);
  EXPECT_EQ(log.signposts[0].header, "warm up");
  EXPECT_EQ(log.signposts[0].message, "second line");
  EXPECT_EQ(log.replays_ns.at({0, 3, 5}), (std::vector<int64_t>{500, 700}));
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

}  // namespace
}  // namespace ttc::report

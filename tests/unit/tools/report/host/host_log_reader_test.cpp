// A capture's host side as a HostLog: the same as by way of the files that others make of it, and what these do not have.
#include "tools/report/host/host_log_reader.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/host_chunks.hpp"
#include "tools/report/host/tracy_files.hpp"
#include "tools/report/metal_files/joined_rows.hpp"

namespace ttc::report {
namespace {

using collect::EventKind;
using tests::HostChunk;

std::string described(uint32_t id, const std::string& code, uint64_t hash, uint32_t device = 0) {
  const std::string number = std::to_string(id);
  return "`TT_DNN_DEVICE_OP: \"" + code + "\", " + std::to_string(hash) + ", " + std::to_string(device) +
         ", false, " + number + " ->\n{\"global_call_count\": " + number + ", \"op_code\": \"" + code +
         "\", \"op_type\": \"tt_dnn_device\", \"op_hash\": " + std::to_string(hash) +
         ", \"device_id\": " + std::to_string(device) + "}`";
}
std::string cached(uint32_t id, const std::string& code, uint64_t hash, uint32_t device = 0) {
  return "`TT_DNN_DEVICE_OP: \"" + code + "\", " + std::to_string(hash) + ", " + std::to_string(device) +
         ", true, " + std::to_string(id) + "`";
}

template <class To>
void push_run(To& to) {
  HostChunk().source(1, "TT_DNN_DEVICE_OP").source(2, "CompileProgram").source(3, "user's").push_names(to);
  HostChunk()
      .message(1001, "perf_event_paranoid: 4; more")
      .message(1002, "`TT_SIGNPOST: warm up\nsecond line`")
      .add(EventKind::zone_begin, 1, 1010, 1)
      .add(EventKind::zone_text, 1, 0, 0, "id:1024")
      .zone(1, 2, 1011, 1014)
      .message(1015, described(1024, "Matmul", 77))
      .add(EventKind::zone_end, 1, 1020)
      .zone(1, 3, 1021, 1029)
      .push(to, 0);
  HostChunk()
      .message(1030, "TT_METAL_TRACE_BEGIN: 0, 5")
      .zone(1, 1, 1031, 1039, "id:2048")
      .message(1036, cached(2048, "Matmul", 77))
      .message(1040, "TT_METAL_TRACE_END: 0, 5")
      .message(1050, "TT_METAL_TRACE_REPLAY: 0, 5")
      .message(1051, "MLIR_OP_LOCATION;loc(\"f.py;1\")")
      .message(1060, cached(3072, "Matmul", 77))
      .message(1061, cached(4096, "Nothing", 78))
      .message(1062, "TTNN_SESSION_ID:abc")
      .push(to, 1);
}

struct Op {
  uint32_t id, code;
  std::optional<uint32_t> device, trace;
  std::optional<int64_t> start;
  std::optional<uint64_t> took;
  std::string location;
  uint32_t children;
  bool operator==(const Op&) const = default;
};
std::vector<Op> ops_of(const HostLog& log) {
  std::vector<Op> ops;
  for (const HostOp o : log.ops)
    ops.push_back({o.call_count, o.code, o.device, o.trace_id, o.start_ns, o.duration_ns,
                   log.infos->notes_at(o.notes).location, o.child_count});
  return ops;
}

TEST(HostLogReader, gives_what_the_files_give) {
  HostLog direct, by_files;
  HostLogReader reader("run.ttc", direct);
  push_run(reader);
  reader.end();
  TracyFiles files;
  push_run(files);
  files.end();
  std::string data, times;
  files.write_data([&](std::string_view part) { data += part; });
  files.write_times([&](std::string_view part) { times += part; });
  std::istringstream data_in(data), times_in(times);
  read_ops_data(data_in, "data.csv", by_files);
  read_ops_times(times_in, "times.csv", by_files);
  EXPECT_EQ(ops_of(direct), ops_of(by_files));
  ASSERT_EQ(direct.ops.size(), 3u);
  EXPECT_EQ(direct.codes, by_files.codes);
  EXPECT_EQ(direct.child_names, by_files.child_names);
  EXPECT_EQ(direct.replays_ns, by_files.replays_ns);
  EXPECT_EQ(direct.session_ids, by_files.session_ids);
  ASSERT_EQ(direct.signposts.size(), 1u);
  EXPECT_EQ(direct.signposts[0].header, by_files.signposts[0].header);
  EXPECT_EQ(direct.signposts[0].message, "second line");
  EXPECT_EQ(direct.signposts[0].ns, by_files.signposts[0].ns);
  EXPECT_EQ(direct.remarks.size(), by_files.remarks.size());
  EXPECT_EQ(direct.ops[1].trace_id, 5u);
}

DeviceRow device_row(uint32_t chip, uint32_t id, uint64_t begin) {
  DeviceRow row;
  row.device = chip;
  row.call_count = id;
  row.firmware_start = row.kernel_start = begin;
  row.kernel_ns = 10;
  return row;
}

// Call counts begin again in each process: of two that used a chip one after the other, each op had the rows of both.
TEST(HostLogReader, ops_of_processes_that_had_one_chip_in_turn_have_their_own_rows) {
  HostLog log;
  HostLogReader reader("run.ttc", log);
  HostChunk(0)
      .message(1000, described(1024, "First", 1))
      .message(2000, cached(2048, "First", 1))
      .push(reader, 0);
  HostChunk(1)
      .message(1'001'000, described(1024, "Second", 2))
      .message(1'002'000, cached(2048, "Second", 2))
      .push(reader, 1);
  reader.end();
  ASSERT_EQ(log.ops.size(), 4u);
  // Cycles are nanoseconds of CLOCK_MONOTONIC_RAW here.
  const DeviceRows rows{device_row(0, 1024, 50'001), device_row(0, 2048, 52'100),
                        device_row(0, 1024, 2'059'990), device_row(0, 2048, 2'062'500)};
  const RawTime raw = [](uint32_t, uint64_t cycles) { return std::optional(cycles); };
  JoinSummary summary;
  std::vector<std::string> got;
  for (const Joined& j : join(rows, log, raw, summary))
    got.push_back(log.codes[j.op.code] + " " + std::to_string(j.op.call_count) + " row " +
                  std::to_string(j.device));
  EXPECT_EQ(got, (std::vector<std::string>{"First 1024 row 0", "First 2048 row 1", "Second 1024 row 2",
                                           "Second 2048 row 3"}));
  EXPECT_EQ(summary.without_host, 0u);
  // Without a clock each may be of both, and that is counted.
  EXPECT_EQ(join(rows, log, {}, summary).size(), 8u);
  EXPECT_EQ(summary.of_any_process, 4u);
}

// Each of them numbers its chip as device 0.
TEST(HostLogReader, processes_with_chips_of_their_own_have_these) {
  HostLog log;
  HostLogReader reader("run.ttc", log);
  for (uint32_t process = 0; process < 2; ++process) {
    const std::string facts = std::string("p") + '\0' + '\0' + "chips=" + std::to_string(3 + process) + '\0';
    HostChunk(process).add(EventKind::process, 0, 0, 100 + process, facts).push_names(reader);
    HostChunk(process).message(1000, described(1024, "Op", 1)).push(reader, process);
  }
  reader.end();
  ASSERT_EQ(log.ops.size(), 2u);
  JoinSummary summary;
  std::vector<uint32_t> chips;
  for (const Joined& j : join({device_row(3, 1024, 50'000), device_row(4, 1024, 60'000)}, log, {}, summary))
    chips.push_back(*j.op.device);
  EXPECT_EQ(chips, (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(summary.without_device + summary.without_host + summary.of_any_process, 0u);
  EXPECT_EQ(log.processes.at(1), "101 p");
}

}  // namespace
}  // namespace ttc::report

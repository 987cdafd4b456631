// Host ops joined with device rows and zones, against a join in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <tuple>

#include "tools/report/metal_files/joined_rows.hpp"

namespace ttc::report {
namespace {

struct ExpectedRow {
  uint64_t at_ns;
  std::string op_code;  // of a signpost its header
  uint32_t device_row;
  bool operator==(const ExpectedRow&) const = default;
};

std::ostream& operator<<(std::ostream& out, const ExpectedRow& e) {
  return out << e.at_ns << " " << e.op_code << " " << static_cast<int64_t>(e.device_row);
}

// A workload of some ops, with replays: the files of its host, and the rows of its devices.
class JoinWorkload {
 public:
  explicit JoinWorkload(uint64_t seed) : random_(seed) {
    for (const size_t ops = below(60); names_.size() < ops;) add_op();
    if (below(2)) signpost();
    for (uint32_t device = 0; device < 2; ++device)
      for (const uint32_t session : {1u, 2u})
        if (below(2)) replay(device, session);
    for (size_t rows = below(80); rows > 0; --rows) add_row();
  }

  HostLog log() const {
    HostLog log;
    std::istringstream data("MessageName;total_ns\n" + messages_),
        times("name,zone_text,ns_since_start,exec_time_ns,special_parent_text\n" + zones_);
    read_ops_data(data, "data", log);
    read_ops_times(times, "times", log);
    return log;
  }
  const DeviceRows& rows() { return rows_ = DeviceRows(device_); }

  // The join as the format's description has it: op by op, in memory.
  std::vector<ExpectedRow> expected() const {
    std::vector<ExpectedRow> all;
    for (size_t i = 0; i < names_.size(); ++i) {
      std::vector<uint32_t> found, same;
      for (uint32_t row = 0; row < device_.size(); ++row) {
        if (device_[row].device != device_of_[i] || device_[row].call_count != ids_[i]) continue;
        found.push_back(row);
        if (!device_[row].trace_id) same.push_back(row);
      }
      if (!same.empty()) found = same;
      std::stable_sort(found.begin(), found.end(),
                       [&](uint32_t a, uint32_t b) { return device_[a].session < device_[b].session; });
      const auto started = starts_.find(ids_[i]);
      const uint64_t at = started == starts_.end() ? messages_ns_[i] : started->second;
      for (const uint32_t row : found) all.push_back({replayed(row).value_or(at), names_[i], row});
      if (found.empty()) all.push_back({at, names_[i], RowPlace::kNoDevice});
    }
    if (signpost_ns_) all.push_back({*signpost_ns_, "mark", RowPlace::kNoDevice});
    std::stable_sort(all.begin(), all.end(),
                     [](const ExpectedRow& a, const ExpectedRow& b) { return a.at_ns < b.at_ns; });
    return all;
  }
  uint64_t inside_of(uint32_t id) const {
    const auto it = inside_.find(id);
    return it == inside_.end() ? 0 : it->second;
  }

 private:
  uint64_t below(uint64_t n) { return random_() % n; }

  void add_op() {
    const uint32_t id = 1024 * static_cast<uint32_t>(1 + below(20)), device = static_cast<uint32_t>(below(2));
    const std::string name = "op" + std::to_string(names_.size());
    const uint64_t ns = below(500);
    messages_ += "`TT_DNN_DEVICE_OP: \"" + name + "\", 1, " + std::to_string(device) + ", false, " +
                 std::to_string(id) + " ->\n{\"global_call_count\": " + std::to_string(id) +
                 ", \"op_code\": \"" + name +
                 "\", \"op_type\": \"tt_dnn_device\", \"device_id\": " + std::to_string(device) + "}`;" +
                 std::to_string(ns) + "\n";
    names_.push_back(name), ids_.push_back(id), device_of_.push_back(device), messages_ns_.push_back(ns);
    if (below(3)) zone(id);
    if (below(3) == 0) inside(id);
  }
  void zone(uint32_t id) {
    starts_[id] = below(500);
    zones_ += "TT_DNN_DEVICE_OP,id:" + std::to_string(id) + "," + std::to_string(starts_[id]) + ",5,\n";
  }
  void inside(uint32_t id) {
    const uint64_t ns = 1 + below(9);
    inside_[id] += ns;
    zones_ += "Compile,,3," + std::to_string(ns) + ",id:" + std::to_string(id) + "\n";
  }
  void signpost() {
    signpost_ns_ = below(500);
    messages_ += "TT_SIGNPOST: mark;" + std::to_string(*signpost_ns_) + "\n";
  }
  void replay(uint32_t device, uint32_t session) {
    auto& times = replays_[device];
    if (times.size() + 1 != session) return;
    times.push_back(below(500));
    messages_ +=
        "TT_METAL_TRACE_REPLAY: " + std::to_string(device) + ", 7;" + std::to_string(times.back()) + "\n";
  }
  void add_row() {
    DeviceRow row;
    row.device = static_cast<uint32_t>(below(2));
    row.call_count = 1024 * static_cast<uint32_t>(1 + below(24));
    if (below(2)) row.trace_id = 7, row.session = static_cast<uint32_t>(below(3));
    device_.push_back(row);
  }
  std::optional<uint64_t> replayed(uint32_t row) const {
    const DeviceRow& d = device_[row];
    const auto times = replays_.find(d.device);
    if (!d.session || *d.session == 0 || times == replays_.end() || *d.session > times->second.size())
      return {};
    return times->second[*d.session - 1];
  }

  std::mt19937_64 random_;
  std::string messages_, zones_;
  std::vector<std::string> names_;
  std::vector<uint32_t> ids_, device_of_;
  std::vector<uint64_t> messages_ns_;
  std::map<uint32_t, uint64_t> starts_, inside_;
  std::map<uint32_t, std::vector<uint64_t>> replays_;
  std::optional<uint64_t> signpost_ns_;
  std::vector<DeviceRow> device_;
  DeviceRows rows_;
};

std::string code_of(const HostLog& log, const Joined& row) {
  return row.signpost ? row.signpost->header : (*log.infos->at(row.op.info))["op_code"].get<std::string>();
}

TEST(ReportJoin, equals_a_join_in_memory) {
  const uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  for (uint64_t i = 0; i < 300; ++i) {
    JoinWorkload workload(seed + i);
    const HostLog log = workload.log();
    JoinSummary summary;
    std::vector<ExpectedRow> rows;
    for (const Joined row : join(workload.rows(), log, {}, summary)) {
      rows.push_back({static_cast<uint64_t>(row.at_ns), code_of(log, row), row.device});
      uint64_t inside = 0;
      for (uint64_t c = 0; c < row.op.child_count; ++c) inside += log.children[row.op.children + c].ns;
      if (row.signpost) continue;
      EXPECT_EQ(inside, workload.inside_of(row.op.call_count)) << "seed " << seed + i;
    }
    ASSERT_EQ(rows, workload.expected()) << "seed " << seed + i;
    EXPECT_EQ(summary.rows, rows.size());
  }
}

TEST(ReportJoin, notes_of_mlir_are_those_in_front_of_an_op) {
  HostLog log;
  std::string text = "MessageName;total_ns\n";
  const auto op = [](int id) {
    return "`TT_DNN_DEVICE_OP: \"A\", 1, 0, false, " + std::to_string(id) +
           " ->\n{\"global_call_count\": " + std::to_string(id) + "}`;5\n";
  };
  text +=
      op(1) + "MLIR_CONST_EVAL_OP;true\n" + op(2) + op(3) + "MLIR_PROGRAM_METADATA;{\"a\";\"b\"}\n" + op(4);
  std::istringstream in(text);
  read_ops_data(in, "data", log);
  ASSERT_EQ(log.ops.size(), 4u);
  EXPECT_EQ(log.infos->notes_at(log.ops[0].notes).const_eval, "false");
  EXPECT_EQ(log.infos->notes_at(log.ops[1].notes).const_eval, "true");
  EXPECT_EQ(log.ops[1].notes, log.ops[2].notes);
  EXPECT_EQ(log.infos->notes_at(log.ops[3].notes).metadata, "{\"a\";\"b\"}");
  EXPECT_EQ(log.infos->notes_at(log.ops[3].notes).location, "loc(unknown)");
}

}  // namespace
}  // namespace ttc::report

// What the workload's host side said of its ops: tracy_ops_data.csv (messages) and tracy_ops_times.csv
// (zones), as Tracy's csvexport leaves them. tt-metal tools/tracy/process_ops_logs.py.
//
// Messages are read as they come: a device op with its JSON, a cached one that repeats the JSON of its
// program hash, host ops, signposts, begin, end and replay of traces, and the notes of tt-mlir about what
// follows. What cannot be understood is counted with its line and left out; nothing here aborts a report.
#pragma once
#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/report/input/host_infos.hpp"
#include "tools/report/text/records.hpp"

namespace ttc::report {

struct HostOp {
  uint32_t call_count = 0;
  std::optional<uint32_t> device;
  uint64_t info = 0, notes = 0;  // places in HostLog::infos: of its JSON, of what tt-mlir noted
  std::optional<bool> cache_hit;
  std::optional<uint32_t> trace_id;  // recorded while this trace was captured
  uint64_t message_ns = 0;
  std::optional<uint64_t> start_ns, duration_ns;  // of the op's own zone
  // Of named zones inside of it: the first in HostLog::children, and how many there are.
  uint64_t children = 0;
  uint32_t child_count = 0;
};

struct HostChild {
  uint32_t name = 0;  // in HostLog::child_names
  uint64_t ns = 0;    // of all zones of that name
};

struct Signpost {
  std::string header, message;
  uint64_t ns = 0;
  std::optional<uint64_t> raw_ns;  // CLOCK_MONOTONIC_RAW, where a capture has it
};

struct HostLog {
  Records<HostOp> ops;  // as they came
  std::shared_ptr<HostInfos> infos = std::make_shared<HostInfos>();
  Records<HostChild> children;
  std::vector<std::string> child_names;
  std::vector<Signpost> signposts;
  // When a trace was replayed, by device and trace, in order.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint64_t>> replays_ns;
  std::set<std::string> session_ids;  // of messages TTNN_SESSION_ID:ID (2026)
  bool damaged = false;               // a file is cut, or has lines that are none of its kind
  std::vector<std::string> remarks;
  bool empty() const { return ops.empty() && signposts.empty(); }
};

// Each adds to `log`; `name` is for sentences. Throws InputError when the file is none of the kind. `first_chip`: the number that the
// host's device 0 has among the chips of a job of several ranks.
void read_ops_data(std::istream& in, const std::string& name, HostLog& log, uint32_t first_chip = 0);
void read_ops_times(std::istream& in, const std::string& name, HostLog& log);

}  // namespace ttc::report

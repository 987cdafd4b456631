// The workload's host side of its ops: messages and zones, out of a capture of `ttcollect run` (host_log_reader.hpp) or out of
// tracy_ops_data.csv and tracy_ops_times.csv, as Tracy's csvexport leaves them. tt-metal tools/tracy/process_ops_logs.py.
//
// A device op comes with its JSON, a cached one repeats the JSON of its program hash; then there are host ops, signposts, begin, end and
// replay of traces, and the notes of tt-mlir about what follows. What cannot be understood is counted with its line
// and left out; nothing here aborts a report.
#pragma once
#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/report/host/host_infos.hpp"
#include "tools/report/text/records.hpp"

namespace ttc::report {

// Times of the host are nanoseconds since the start of the workload's first process; of others they may be negative.
struct HostOp {
  uint32_t process = 0;  // in HostLog::processes
  uint32_t call_count = 0;
  std::optional<uint32_t> device;  // the chip
  uint32_t code = 0;               // in HostLog::codes
  bool on_device = false;          // its type is tt_dnn_device
  uint64_t info = 0, notes = 0;    // places in HostLog::infos: of its JSON, of what tt-mlir noted
  std::optional<bool> cache_hit;
  std::optional<uint32_t> trace_id;  // recorded while this trace was captured
  int64_t message_ns = 0;
  std::optional<int64_t> raw_ns;  // of the message, CLOCK_MONOTONIC_RAW, where a capture has it
  std::optional<int64_t> start_ns;
  std::optional<uint64_t> duration_ns;  // of the op's own zone
  // The named zones inside of it: the first in HostLog::children, and how many there are.
  uint64_t children = 0;
  uint32_t child_count = 0;
};

struct HostChild {
  uint32_t name = 0;  // in HostLog::child_names
  uint64_t ns = 0;    // of all zones of that name
};

struct Signpost {
  std::string header, message;
  int64_t ns = 0;
  std::optional<int64_t> raw_ns;  // CLOCK_MONOTONIC_RAW, where a capture has it
  uint32_t process = 0;
};

struct HostLog {
  bool keeps_infos = true;  // set before anything is read: the JSON of ops is kept
  Records<HostOp> ops;      // in order of their messages
  std::vector<std::string> codes;
  std::shared_ptr<HostInfos> infos = std::make_shared<HostInfos>();
  Records<HostChild> children;
  std::vector<std::string> child_names;
  std::vector<Signpost> signposts;
  // When a trace was replayed, by process, chip and trace, in order.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<int64_t>> replays_ns;
  std::map<uint32_t, std::string> processes;  // of a capture: what the column of the process shows
  std::set<std::string> session_ids;          // of messages TTNN_SESSION_ID:ID (2026)
  bool damaged = false;                       // a file is cut, or has lines that are none of its kind
  std::vector<std::string> remarks;
  bool empty() const { return ops.empty() && signposts.empty(); }
};

// The numbers of one of several hosts: what its own first process and its own device 0 are in the log.
struct HostNumbers {
  uint32_t first_process = 0, first_chip = 0;
};

// Each adds to `log`; `name` is for sentences. Throws InputError when the file is none of the kind.
void read_ops_data(std::istream& in, const std::string& name, HostLog& log, const HostNumbers& from = {});
void read_ops_times(std::istream& in, const std::string& name, HostLog& log, const HostNumbers& from = {});

}  // namespace ttc::report

// Which rows the joined table has, in its order: host ops with the device's rows of their launches, and signposts.
#pragma once
#include <cstdint>
#include <optional>

#include "tools/report/host/host_ops.hpp"
#include "tools/report/metal_files/launch_rows.hpp"
#include "tools/report/metal_files/row_places.hpp"
#include "tools/report/text/records.hpp"

namespace ttc::report {

struct Joined {
  int64_t at_ns = 0;    // of the host
  uint64_t number = 0;  // of the op as it came; rows of one op by `of_op`, signposts last
  uint32_t of_op = 0;
  uint32_t device = RowPlace::kNoDevice;  // row of the device
  const Signpost* signpost = nullptr;     // not null: the row is this one
  HostOp op;
  std::optional<uint32_t> trace;
};

struct JoinSummary {
  uint64_t host_ops = 0, device_ops = 0, rows = 0, signposts = 0;
  uint64_t without_device = 0;  // host ops whose device cells are empty
  uint64_t without_host = 0;    // device ops that no message names: not in the file when there is a host log
  uint64_t without_time = 0;    // host ops without a zone of their own
  uint64_t captured = 0;        // host ops between begin and end of a trace without a replay: left out
  uint64_t of_any_process = 0;  // device ops that may be of several processes
};

// Rows are in order of time, then as they came. They are sorted on disk: memory does not grow with ops or rows. `host` must stay. `raw_ns`: of
// device rows, for chips that several processes had.
Records<Joined> join(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns,
                     JoinSummary& summary);

}  // namespace ttc::report

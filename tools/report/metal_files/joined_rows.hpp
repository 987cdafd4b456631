// Which rows the joined table has, in its order: host ops with the device's rows of their launches, and signposts.
#pragma once
#include <cstdint>
#include <optional>

#include "tools/report/input/host_ops.hpp"
#include "tools/report/metal_files/ops_results.hpp"
#include "tools/report/text/records.hpp"

namespace ttc::report {

struct Joined {
  uint64_t at_ns = 0;   // of the host
  uint64_t number = 0;  // of the op as it came; rows of one op by `of_op`, signposts last
  uint32_t of_op = 0;
  uint32_t device = Cells::kNoDevice;  // row of the device
  const Signpost* signpost = nullptr;  // not null: the row is this one
  HostOp op;
  std::optional<uint32_t> trace;
};

// By time, then as they came. Sorted on disk: memory does not grow with ops or rows. `host` must stay.
Records<Joined> join(const DeviceRows& device, const HostLog& host, JoinSummary& summary);

}  // namespace ttc::report

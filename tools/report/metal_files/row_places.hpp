// The order of rows where the host named no op.
#pragma once
#include "tools/report/host/host_ops.hpp"
#include "tools/report/metal_files/launch_rows.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/records.hpp"

namespace ttc::report {

struct RowPlace {
  static constexpr uint32_t kNoDevice = ~0u;
  uint32_t row = kNoDevice;  // of the device's rows
  bool has_host_ns = false;
  const Signpost* signpost = nullptr;  // not null: the row is this one
  int64_t host_ns = 0;                 // on the time line of the signposts
};

// Places are in order of device and time. If `raw_ns`, the CLOCK_MONOTONIC_RAW of a chip's cycle, is known of every row: by that
// time, and with the signposts that have it, too.
Records<RowPlace> places_without_ops(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns);

}  // namespace ttc::report

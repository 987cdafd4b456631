// Rows of ops_perf_results*.csv of any year, typed. What a cell does not hold, or holds implausibly, is
// absent; how often that happened is told with the first place. Columns are found by name (tt-metal
// tools/tracy/process_ops_logs.py).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/metal_files/ops_results.hpp"

namespace ttc::report {

using Number = std::optional<double>;

struct Tensor {
  Number w, z, y, x;  // padded
  std::string layout, datatype, memory;
};

struct OpRow {
  uint64_t id = 0;  // row in its file, the head being 1, as tt-perf-report counts
  std::string code, type, attributes, fidelity, arch;
  std::optional<uint64_t> call_count;
  std::optional<uint32_t> device, trace_id, session;
  Number cores, available_cores;
  Number host_start, host_end, host_duration;       // ns
  Number firmware_start, firmware_end;              // cycles
  Number gap, dm_gap, firmware, kernel, dm_kernel;  // ns
  Number core_min, core_max, core_mean, first_to_last;
  std::array<Number, 6> risc;  // BRISC, NCRISC, TRISC0..2, ERISC; ns
  Number wait_front, reserve_back, dispatch, go_signal;
  Tensor input0, input1, output0;
  std::string compute_sources, data_sources, compute_hash, data_hash, program_hash, cache_hit, location;
  Number pm_ideal, pm_compute, pm_bandwidth, fpu_util;
  Number noc_util, dram_util, congestion;          // of tt-npe
  Number fpu_counter, sfpu_counter, math_counter;  // averages on the full grid, %
  std::optional<uint32_t> slowest_x, slowest_y;

  bool signpost() const { return type.find("signpost") != std::string::npos; }
  bool host() const { return code.find("(torch)") != std::string::npos; }
};

struct OpTable {
  std::vector<OpRow> rows;
  bool has_arch = false, has_worker_cores = false;  // columns of 2025 and later
  bool padded_names = false;                        // columns W_PAD[LOGICAL] instead of W
  std::vector<std::string> remarks;
};

// `lines`: IDs of the rows; empty: numbered from 2. `device_offset` is added to every device id.
OpTable op_table(const Cells& cells, const std::vector<uint64_t>& lines, uint32_t device_offset = 0);

}  // namespace ttc::report

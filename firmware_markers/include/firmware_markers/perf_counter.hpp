// Tensix performance counters, as the firmware reports them around a compute kernel (id 9090).
//
//   Nov 2025   TS_DATA      [63:60] type  [59:32] reference cycles  [31:0] count
//   Apr 2026   TS_DATA      [63:56] type  [55:32] reference cycles  [31:0] count
//   Jun 2026   TS_DATA_16B  first [63:32] reference cycles  [31:0] count; second [7:0] type
//
// Utilisation is count / reference cycles. The form of the packet distinguishes the last one from the others; between
// the first two only the date does. The names of April 2026 are those of June too.
//
// Source: tt-metal tt_metal/tools/profiler/perf_counters.hpp@4f7d16b8 (PR #33109), PR #41021, @00d3c16b (PR
// #46669).
#pragma once
#include <cstdint>
#include <string_view>

#include "firmware_markers/metal_date.hpp"

namespace ttc::markers {

inline constexpr uint16_t kPerfCounterId = 9090;

struct PerfCounter {
  uint16_t type;
  uint32_t reference_cycles;
  uint32_t count;
  std::string_view name;  // empty: a number this table does not have
};

PerfCounter unpack_perf_counter(uint64_t data, MetalDate date);         // TS_DATA
PerfCounter unpack_wide_perf_counter(uint64_t first, uint64_t second);  // TS_DATA_16B

}  // namespace ttc::markers

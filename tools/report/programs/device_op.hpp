// One execution of one program on one device, as its zones show it. Times are cycles of the card's wall
// clock; durations in ns are made from them with the clock of the device, rounded as tt-metal rounds.
//
//   firmware, kernel    first ZONE_START .. last ZONE_END of *-FW, *-KERNEL over all cores and processors
//   kernel_starts       first .. last ZONE_START of *-KERNEL
//   dm_start            first ZONE_START of a data movement kernel
//   riscs               the same as kernel, of one kind of processor
//   cores               per core: first *-KERNEL marker .. last one
//
// Source: tt-metal tools/tracy/cpp_device_analyses.json@92651f8.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "tools/report/zones/lane_events.hpp"

namespace ttc::report {

// Nanoseconds as tt-metal's C++ reports round them. `mhz` must not be 0.
inline uint64_t to_ns(uint64_t cycles, uint32_t mhz) {
  return (cycles * 1000 + mhz / 2) / mhz;
}

struct RiscTimes {
  Range kernel;
  uint64_t sum_cycles = 0;  // of the kernel zones, over the cores that ran one
  uint32_t cores = 0;
};

struct DeviceOp {
  Launch launch;
  uint32_t execution = 0;  // of the same launch, where the log does not number replays: 0, 1, ...
  uint32_t session = 0;    // replay of its trace, from 1; 0: no replay, or not known
  uint16_t cores = 0;      // with a *-FW marker
  uint16_t kernel_cores = 0;
  uint8_t slowest_x = 0, slowest_y = 0;  // core whose kernels took longest
  Range firmware, kernel, kernel_starts, trace_firmware, trace_kernel;
  uint64_t dm_start = std::numeric_limits<uint64_t>::max();
  uint32_t kernel_start_count = 0;
  std::array<RiscTimes, kRiscs - 1> riscs;
  uint64_t core_min = 0, core_max = 0, core_sum = 0;
  uint64_t wait_front = 0, reserve_back = 0;                              // sums over cores
  Range dispatch, go_signal;                                              // on the dispatch cores
  uint64_t dispatch_seen_ns = 0;                                          // as seen_ns, of `dispatch`
  enum class On : uint8_t { none, one, several } dispatch_on = On::none;  // tiles
  uint8_t dispatch_x = 0, dispatch_y = 0;                                 // of the one
  // Gaps to the program before it on this device, in order of kernel starts; -1 not known (op_order.hpp).
  int64_t gap_ns = -1, dm_gap_ns = -1;
  // Cycles that the gaps begin at; 0: no program before it that ended before it and has a clock.
  uint64_t gap_from = 0, dm_gap_from = 0;
  uint64_t seen_ns = 0;   // as FrameEvents has it, of the words that were read last
  uint64_t counters = 0;  // where its metrics are (metal_files/counters.hpp); 0: none

  void add_dispatch(uint8_t x, uint8_t y, const Range& range, uint64_t seen) {
    dispatch.add(range);
    dispatch_seen_ns = std::max(dispatch_seen_ns, seen);
    if (dispatch_on == On::none)
      dispatch_on = On::one, dispatch_x = x, dispatch_y = y;
    else if (dispatch_x != x || dispatch_y != y)
      dispatch_on = On::several;
  }
  Range dm() const { return {dm_start, kernel.end}; }
  double core_mean() const { return kernel_cores ? static_cast<double>(core_sum) / kernel_cores : 0; }
};

}  // namespace ttc::report

// One row of ops_perf_results*.csv of any year, typed. What a cell does not hold, or holds implausibly, is
// absent.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace ttc::report {

using Number = std::optional<double>;

// Absent as soon as one of them is.
inline Number sum_of(const Number& a, const Number& b) {
  return a && b ? Number(*a + *b) : Number();
}

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
  std::string data_source;  // of its device: kFromCapture, kFromLog; empty: the table does not have it
  // Durations in ns and their bounds, by a capture's clock model.
  Number kernel_measured, kernel_measured_bound, gap_measured, gap_measured_bound;
  Number first_to_last_measured, first_to_last_measured_bound, dispatch_measured, dispatch_measured_bound;
  uint64_t kernel_cycles = 0, seen_ns = 0;  // for further durations of the op; 0: there is no clock model
  uint64_t hard_bound = 0;  // 1: kernel_measured_bound is a hard bound, which is mostly milliseconds
  std::string process;      // of the host, where ops of several are in the table

  // ns: the true duration lies within so much of the one that is shown.
  Number kernel_bound() const { return bound_of(kernel, kernel_measured, kernel_measured_bound); }
  Number gap_bound() const { return bound_of(gap, gap_measured, gap_measured_bound); }
  Number first_to_last_bound() const {
    return bound_of(first_to_last, first_to_last_measured, first_to_last_measured_bound);
  }
  Number dispatch_bound() const { return bound_of(dispatch, dispatch_measured, dispatch_measured_bound); }
  bool signpost() const { return type.find("signpost") != std::string::npos; }
  bool host() const { return code.find("(torch)") != std::string::npos; }

 private:
  static Number bound_of(const Number& shown, const Number& measured, const Number& bound) {
    if (!shown || !measured || !bound) return std::nullopt;
    return *bound + (*shown > *measured ? *shown - *measured : *measured - *shown);
  }
};

// Every field in turn: how rows are packed and unpacked. `row` may be const.
template <class Row, class Each>
void each_field(Row& r, Each&& each) {
  const auto all = [&](auto&... fields) { (each(fields), ...); };
  all(r.id, r.code, r.type, r.attributes, r.fidelity, r.arch, r.call_count, r.device, r.trace_id, r.session,
      r.cores, r.available_cores, r.host_start, r.host_end, r.host_duration, r.firmware_start, r.firmware_end,
      r.gap, r.dm_gap, r.firmware, r.kernel, r.dm_kernel, r.core_min, r.core_max, r.core_mean,
      r.first_to_last, r.wait_front, r.reserve_back, r.dispatch, r.go_signal);
  for (auto& risc : r.risc) each(risc);
  for (auto* t : {&r.input0, &r.input1, &r.output0})
    all(t->w, t->z, t->y, t->x, t->layout, t->datatype, t->memory);
  all(r.compute_sources, r.data_sources, r.compute_hash, r.data_hash, r.program_hash, r.cache_hit, r.location,
      r.pm_ideal, r.pm_compute, r.pm_bandwidth, r.fpu_util, r.noc_util, r.dram_util, r.congestion,
      r.fpu_counter, r.sfpu_counter, r.math_counter, r.slowest_x, r.slowest_y, r.data_source, r.process,
      r.kernel_measured, r.kernel_measured_bound, r.gap_measured, r.gap_measured_bound,
      r.first_to_last_measured, r.first_to_last_measured_bound, r.dispatch_measured,
      r.dispatch_measured_bound, r.kernel_cycles, r.seen_ns);
}

}  // namespace ttc::report

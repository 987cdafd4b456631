#include "tools/report/programs/op_order.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ttc::report {
namespace {

// The gap is rounded as tt-metal rounds it, by the clock that the op's own two columns imply; none when it would be
// negative (tt-metal tt_metal/impl/profiler/profiler_analysis.cpp@5cd3a45, writeProgramsPerfResultsToCSV).
int64_t gap(std::optional<uint64_t> previous_end, const Range& own, uint32_t mhz) {
  if (!previous_end) return 0;
  if (own.begin < *previous_end || own.cycles() == 0 || mhz == 0) return -1;
  const double ns_per_cycle =
      static_cast<double>(to_ns(own.cycles(), mhz)) / static_cast<double>(own.cycles());
  return std::llround(static_cast<double>(own.begin - *previous_end) * ns_per_cycle);
}

}  // namespace

void OpOrder::add(const DeviceOp& op) {
  found_.add({op, op.kernel.has_begin() ? op.kernel.begin : op.firmware.begin, number_++});
  if (op.launch.trace_counter >= 0 && op.launch.trace_id < 0)
    replays_[{op.launch.chip, op.launch.host_id}].push_back(op.launch.trace_counter);
}

uint32_t OpOrder::session_of(const Launch& launch) const {
  if (launch.trace_counter < 0) return 0;
  if (launch.trace_id >= 0) return static_cast<uint32_t>(launch.trace_counter);
  const std::vector<int64_t>& all = replays_.at({launch.chip, launch.host_id});
  return static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), launch.trace_counter) - all.begin()) +
         1;
}

DeviceOps OpOrder::ordered(const std::function<uint32_t(uint32_t chip)>& mhz) {
  for (auto& [program, counters] : replays_) {
    std::sort(counters.begin(), counters.end());
    counters.erase(std::unique(counters.begin(), counters.end()), counters.end());
  }
  DeviceOps ops;
  std::optional<uint32_t> chip;
  std::optional<uint64_t> kernel_end, dm_end;  // of the last program that had one
  bool end_has_clock = false, dm_end_has_clock = false;
  found_.drain([&](const Found& found) {
    DeviceOp op = found.op;
    op.session = session_of(op.launch);
    if (chip != op.launch.chip) kernel_end = dm_end = std::nullopt;
    chip = op.launch.chip;
    const uint32_t clock = mhz(op.launch.chip);
    if (op.kernel.whole()) {
      op.gap_ns = gap(kernel_end, op.kernel, clock);
      op.gap_from = op.gap_ns >= 0 && end_has_clock ? kernel_end.value_or(0) : 0;
      kernel_end = op.kernel.end;
      end_has_clock = op.seen_ns != 0;
      if (op.dm().whole()) {
        op.dm_gap_ns = gap(dm_end, op.dm(), clock);
        op.dm_gap_from = op.dm_gap_ns >= 0 && dm_end_has_clock ? dm_end.value_or(0) : 0;
        dm_end = op.kernel.end;
        dm_end_has_clock = op.seen_ns != 0;
      }
    }
    ops.push_back(op);
  });
  return ops;
}

}  // namespace ttc::report

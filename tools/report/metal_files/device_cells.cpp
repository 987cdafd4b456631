#include "tools/report/metal_files/device_cells.hpp"

#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tools/report/text/python_text.hpp"

namespace ttc::report {
namespace {

constexpr const char* kGapColumn = "OP TO OP LATENCY [ns]";
constexpr const char* kDmGapColumn = "OP TO OP LATENCY BR/NRISC START [ns]";

bool has_signed_gap(const DeviceRow& d) {
  return d.kernel_start && d.kernel_ns && *d.kernel_end != *d.kernel_start;
}

// Every column of the device's side with its value: cell(column, std::optional of a number or text).
template <class Cell>
void each_device_cell(const DeviceRow& d, const Cell& cell) {
  cell("GLOBAL CALL COUNT", std::optional(d.call_count));
  cell("DEVICE ID", std::optional(d.device));
  cell("DEVICE ARCH",
       d.arch.empty() ? std::optional<std::string_view>() : std::optional<std::string_view>(d.arch));
  cell("CORE COUNT", d.cores);
  cell("AVAILABLE WORKER CORE COUNT", d.available_cores);
  cell("DEVICE FW START CYCLE", d.firmware_start);
  cell("DEVICE FW END CYCLE", d.firmware_end);
  cell("OP TO OP LATENCY [ns]", d.gap_ns);
  cell("OP TO OP LATENCY BR/NRISC START [ns]", d.dm_gap_ns);
  cell("DEVICE FW DURATION [ns]", d.firmware_ns);
  cell("DEVICE KERNEL DURATION [ns]", d.kernel_ns);
  cell("DEVICE KERNEL DURATION DM START [ns]", d.dm_ns);
  cell("DEVICE KERNEL DURATION PER CORE MIN [ns]", d.core_min_ns);
  cell("DEVICE KERNEL DURATION PER CORE MAX [ns]", d.core_max_ns);
  cell("DEVICE KERNEL DURATION PER CORE AVG [ns]", d.core_mean_ns);
  cell("DEVICE KERNEL FIRST TO LAST START [ns]", d.first_to_last_ns);
  for (size_t i = 0; i < d.risc_ns.size(); ++i) cell(kRiscColumns[i], d.risc_ns[i]);
  cell("DEVICE COMPUTE CB WAIT FRONT [ns]", d.wait_front_ns);
  cell("DEVICE COMPUTE CB RESERVE BACK [ns]", d.reserve_back_ns);
  cell("DISPATCH TOTAL CQ CMD OP TIME [ns]", d.dispatch_ns);
  cell("DISPATCH GO SEND WAIT TIME [ns]", d.go_signal_ns);
  cell("METAL TRACE ID", d.trace_id);
  cell("METAL TRACE REPLAY SESSION ID", d.session);
}

}  // namespace

void put_device(NamedCells& row, const DeviceRow& d) {
  each_device_cell(d, [&row](const char* column, const auto& value) {
    if (!value) return;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(*value)>>)
      row[column] = std::to_string(*value);
    else
      row[column] = *value;
  });
  for (const auto& [name, value] : d.counters) row[name] = python_float(value);
}

void put_signed_gaps(NamedCells& row, const DeviceRow& d, const DeviceRow* previous) {
  if (!has_signed_gap(d)) return;
  const double ns_per_cycle =
      static_cast<double>(*d.kernel_ns) / static_cast<double>(*d.kernel_end - *d.kernel_start);
  const auto gap = [&](const Cycles& start, const Cycles& end) {
    return previous && start && end
               ? std::llround((static_cast<double>(*start) - static_cast<double>(*end)) * ns_per_cycle)
               : 0;
  };
  row[kGapColumn] = std::to_string(gap(d.kernel_start, previous ? previous->kernel_end : Cycles()));
  if (d.dm_start) row[kDmGapColumn] = std::to_string(gap(d.dm_start, previous ? previous->dm_end : Cycles()));
}

void PresentColumns::add(size_t place, const char* column) {
  if (place >= seen_.size()) seen_.resize(place + 1);
  if (seen_[place]) return;
  seen_[place] = true;
  names_.insert(column);
}

void PresentColumns::add(const DeviceRow& d) {
  size_t place = 2;  // behind those of the gaps
  each_device_cell(d, [&](const char* column, const auto& value) {
    if (value) add(place, column);
    ++place;
  });
  if (!has_signed_gap(d)) return;
  add(0, kGapColumn);
  if (d.dm_start) add(1, kDmGapColumn);
}

}  // namespace ttc::report

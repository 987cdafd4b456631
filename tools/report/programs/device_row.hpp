// The device side of one row of a report, in the units of the files: ns and cycles. Made from zones, or read
// back from cpp_device_perf_report.csv. What is absent is an empty cell.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/report/programs/device_op.hpp"
#include "tools/report/text/row_iterator.hpp"
#include "tools/report/zones/duration_clock.hpp"

namespace ttc::report {

using Cycles = std::optional<uint64_t>;

inline constexpr std::array<const char*, kRiscs - 1> kRiscColumns = {
    "DEVICE BRISC KERNEL DURATION [ns]",  "DEVICE NCRISC KERNEL DURATION [ns]",
    "DEVICE TRISC0 KERNEL DURATION [ns]", "DEVICE TRISC1 KERNEL DURATION [ns]",
    "DEVICE TRISC2 KERNEL DURATION [ns]", "DEVICE ERISC KERNEL DURATION [ns]"};

struct DeviceRow {
  uint32_t call_count = 0;
  std::optional<uint32_t> trace_id, session;
  uint32_t device = 0;
  std::string arch, op_name;
  std::optional<uint32_t> cores, available_cores;
  Cycles trace_firmware_ns, trace_kernel_ns, first_to_last_ns;
  Cycles firmware_ns, firmware_start, firmware_end;
  Cycles kernel_ns, kernel_start, kernel_end;
  Cycles dm_ns, dm_start, dm_end;
  std::array<Cycles, kRiscs - 1> risc_ns;
  std::optional<int64_t> gap_ns, dm_gap_ns;
  // Beyond what tt-metal's C++ report has.
  Cycles core_min_ns, core_max_ns, core_mean_ns;
  Cycles wait_front_ns, reserve_back_ns, dispatch_ns, go_signal_ns;
  std::array<Cycles, kRiscs - 1> risc_mean_ns;  // over the cores that ran one
  std::optional<uint32_t> slowest_x, slowest_y;
  std::map<std::string, double> counters;  // by column name
  // Durations by the clock model of a capture; they are no columns of tt-metal's.
  std::optional<Measured> kernel_measured, gap_measured, first_to_last_measured;
  std::optional<Measured> dispatch_measured;  // of dispatch_ns, where it is of one tile
  uint64_t seen_ns = 0;  // of the op, for further questions to the clock; 0: it has no clock
};

// What durations are: cycles at the card's nominal rate, as tt-metal writes them, or time by the host's clock where the clock
// model of a capture knows it.
enum class TimeOf : uint8_t { device, host };

// `clock` may be null.
DeviceRow device_row(const DeviceOp& op, const Device& device, const DurationClock* clock = nullptr,
                     TimeOf time = TimeOf::device);

// Rows that are stored, or rows that are made whenever they are read.
class DeviceRows {
 public:
  using Make = std::function<DeviceRow(size_t)>;
  DeviceRows() = default;
  DeviceRows(std::vector<DeviceRow> rows)  // NOLINT(google-explicit-constructor): is one
      : size_(rows.size()), make_([all = std::move(rows)](size_t i) { return all[i]; }) {}
  DeviceRows(std::initializer_list<DeviceRow> rows) : DeviceRows(std::vector<DeviceRow>(rows)) {}
  DeviceRows(size_t size, Make make) : size_(size), make_(std::move(make)) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  DeviceRow operator[](size_t i) const { return make_(i); }
  RowIterator<DeviceRows, DeviceRow> begin() const { return {this, 0}; }
  RowIterator<DeviceRows, DeviceRow> end() const { return {this, size_}; }

 private:
  size_t size_ = 0;
  Make make_;
};

// cpp_device_perf_report.csv: LF, plain commas, rows by (program, trace, session). tt-metal
// tools/profiler/cpp_device_analyses.json.
void write_cpp_report(const DeviceRows& rows, tools::Output& out);

struct CppReport {
  std::vector<DeviceRow> rows;
  std::vector<std::string> remarks;  // rows that were left out, with line and reason
  bool damaged = false;              // rows were left out, or the end was cut off
};
// `name` is for sentences. Throws InputError when it is no such file.
CppReport read_cpp_report(std::istream& in, const std::string& name);
bool is_cpp_report(const std::string& path);

}  // namespace ttc::report

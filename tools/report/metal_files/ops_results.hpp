// ops_perf_results*.csv: host and device side joined, as tt-metal's process_ops_logs writes it (tt-metal
// tools/tracy/process_ops_logs.py). CRLF, minimal quoting, ',' in a value becomes ';', Python's spelling of
// lists, dicts and booleans.
//
// Nothing aborts: a host op without device rows keeps empty cells, a device op that the host never named is
// counted, and the summary has the count.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/report/host/host_ops.hpp"
#include "tools/report/metal_files/joined_rows.hpp"
#include "tools/report/metal_files/row_places.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/cell_rows.hpp"

namespace ttc::report {

// A table of cells: what ends up in the file, and what the reports of our own read.
struct Cells {
  static constexpr uint32_t kNoDevice = RowPlace::kNoDevice;
  std::vector<std::string> header;
  CellRows rows;
  Records<uint32_t> device{64 << 10};  // of joined rows: which of the device's rows each one has
};

struct ResultOptions {
  bool mlir = false;  // LOC, CONST_EVAL_OP, PROGRAM_METADATA: the shape of tt-torch and ttrt
  // Set if there are no host ops: the table has all columns all the same, with ops named by their program, because
  // tt-perf-report and ttnn-visualizer read no table without them.
  bool every_column = false;
  // CLOCK_MONOTONIC_RAW of a cycle of a chip. Where it is known of every device row, signposts that have that time, too, are rows among those
  // of the device although no host op is there.
  RawTime raw_ns;
};

// A further column where ops of several processes are in one table: PID, program, and rank where it has one.
inline constexpr const char* kProcessColumn = "HOST PROCESS";

// A further column of a table whose devices are not all from one kind of source: of a capture the chips that
// it has, and of the workload's own device log those that no collector reaches.
inline constexpr const char* kSourceColumn = "DEVICE DATA SOURCE";
inline constexpr const char* kFromCapture = "capture";
inline constexpr const char* kFromLog = "workload's device log";
Cells with_source(const Cells& cells, const std::function<std::string(size_t device_row)>& source_of);

// Which rows a table has, in its order. Sorted on disk.
struct RowPlan {
  bool joined = false;  // with ops of the host: `rows`; else `places`
  Records<Joined> rows{64 << 10};
  Records<RowPlace> places{64 << 10};
  JoinSummary summary;
};
// `host` must stay.
RowPlan plan_rows(const DeviceRows& device, const HostLog& host, const RawTime& raw_ns);
// A row of the table on its way to a reader.
struct CellLine {
  std::vector<std::string> cells;
  uint32_t place = Cells::kNoDevice;  // of `device` among the device's rows
  std::optional<DeviceRow> device;    // what the row has of the device's side
};

// The cells of these rows, made one row after another. Host columns only when `host` has ops or signposts that can be placed; else the device-only
// form, in order of device and time. All that it is made of must stay.
class CellLines {
 public:
  using Put = std::function<void(CellLine&)>;  // which may leave another row's memory in it
  CellLines(const RowPlan& plan, const DeviceRows& device, const HostLog& host, const ResultOptions& options);
  const std::vector<std::string>& header() const { return header_; }
  void each(const Put& put) const;

 private:
  void each_of_device(const Put& put) const;
  void each_joined(const Put& put) const;

  const RowPlan& plan_;
  const DeviceRows& device_;
  const HostLog& host_;
  const ResultOptions& options_;
  std::vector<std::string> header_;
  bool several_processes_ = false;
};
// All of them.
Cells cells_of(const RowPlan& plan, const DeviceRows& device, const HostLog& host,
               const ResultOptions& options);
// Both.
Cells join_results(const DeviceRows& device, const HostLog& host, const ResultOptions& options,
                   JoinSummary& summary);
void write_cells(const Cells& cells, tools::Output& out);

// The table as tt-metal wrote it in June 2025: tensors' sides as plain padded numbers in INPUT_0_W ...,
// kernel sizes by processor (BRISC MAX KERNEL SIZE [B] ...), and no column that came later.
Cells columns_of_mid_2025(const Cells& cells);

// Missing data, as sentences; empty if there is none.
std::vector<std::string> sentences(const JoinSummary& summary);

}  // namespace ttc::report

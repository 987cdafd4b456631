// ops_perf_results*.csv: host and device side joined, as tt-metal's process_ops_logs writes it (tt-metal
// tools/tracy/process_ops_logs.py). CRLF, minimal quoting, ',' in a value becomes ';', Python's spelling of
// lists, dicts and booleans.
//
// Nothing aborts: a host op without device rows keeps empty cells, a device op that the host never named is
// counted, and the summary says so.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/pipeline/output.hpp"
#include "tools/report/input/host_ops.hpp"
#include "tools/report/metal_files/row_places.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/cell_rows.hpp"

namespace ttc::report {

struct JoinSummary {
  uint64_t host_ops = 0, device_ops = 0, rows = 0, signposts = 0;
  uint64_t without_device = 0;  // host ops whose device cells are empty
  uint64_t without_host = 0;    // device ops that no message names: not in the file when there is a host log
  uint64_t without_time = 0;    // host ops without a zone of their own
  uint64_t captured = 0;        // host ops between begin and end of a trace without a replay: left out
};

// A table of cells: what ends up in the file, and what the reports of our own read.
struct Cells {
  static constexpr uint32_t kNoDevice = RowPlace::kNoDevice;
  std::vector<std::string> header;
  CellRows rows;
  Records<uint32_t> device{64 << 10};  // of joined rows: which of the device's rows each one has
};

struct ResultOptions {
  bool mlir = false;  // LOC, CONST_EVAL_OP, PROGRAM_METADATA: the shape of tt-torch and ttrt
  // Without host ops: all columns all the same, ops named by their program, because tt-perf-report and
  // ttnn-visualizer read no table without them.
  bool every_column = false;
  // CLOCK_MONOTONIC_RAW of a cycle of a chip. Where it is known of every device row, signposts that have that time, too, are rows among those
  // of the device although no host op is there.
  std::function<std::optional<uint64_t>(uint32_t chip, uint64_t cycles)> raw_ns;
};

// A further column of a table whose devices are not all from one kind of source: of a capture the chips that
// it has, and of the workload's own device log those that no collector reaches.
inline constexpr const char* kSourceColumn = "DEVICE DATA SOURCE";
inline constexpr const char* kFromCapture = "capture";
inline constexpr const char* kFromLog = "workload's device log";
Cells with_source(const Cells& cells, const std::function<std::string(size_t device_row)>& source_of);

// Host columns only when `host` has ops or signposts that can be placed; else the device-only form, in order of device and time.
Cells join_results(const DeviceRows& device, const HostLog& host, const ResultOptions& options,
                   JoinSummary& summary);
void write_cells(const Cells& cells, tools::Output& out);

// The table as tt-metal wrote it in June 2025: tensors' sides as plain padded numbers in INPUT_0_W ...,
// kernel sizes by processor (BRISC MAX KERNEL SIZE [B] ...), and no column that came later.
Cells columns_of_mid_2025(const Cells& cells);

// What was missing, as sentences; empty when nothing was.
std::vector<std::string> sentences(const JoinSummary& summary);

}  // namespace ttc::report

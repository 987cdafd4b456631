// Results of tt-npe on NoC traces, for the joined table: it simulates every op's transfers and prints how much
// of the NoC and of the DRAM's rate they took, and what their congestion cost.
//
// It is run as `npe_analyze_noc_trace_dir.py DIRECTORY -m ROWS -e --compress_timeline_files`, which also
// leaves npe_viz beside the directory, for ttnn-visualizer. Its table has a row for each op and device, named
// by the id of the op in ttnn (run host ID without the 10 bits of the device) and by the trace it was
// replayed from; which device a row is of is not printed. So a launch is filled only where one row and one
// launch have its name.
//
// Source: tt-npe tt_npe/py/util/npe_analyze_noc_trace_dir.py@1021603 (print_stats_summary_table); columns and
// rounding of the report: tt-metal tools/tracy/process_ops_logs.py (append_device_data).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/ops/run.hpp"

namespace ttc::report {

struct NpeRow {
  uint64_t op = 0;                                         // run host ID >> 10
  std::optional<uint64_t> trace;                           // trace id << 32 | replay
  std::optional<double> noc, multicast, dram, congestion;  // %
  std::string ethernet;                                    // by core, as printed
};

// An executable of that name or path, or, when `command` is empty, tt-npe's in $TTC_TOOLS or on the PATH.
// Empty: there is none.
std::string find_npe(const std::string& command);

struct NpeRun {
  std::vector<NpeRow> rows;
  std::string failure;  // why there are none, as a sentence
};
// Waits for it. `traces`: so many it will find in the directory at most.
NpeRun run_npe(const std::string& program, const std::string& directory, size_t traces);

// The table that it printed among other things; nothing when there is none.
std::optional<std::vector<NpeRow>> read_npe_table(std::string_view printed);

struct NpeFilled {
  Cells table;
  size_t launches = 0;   // filled
  size_t ambiguous = 0;  // not filled, because several rows or launches have their name
};
// `run.table` with its columns of tt-npe filled; those that it lacks are added at the end.
NpeFilled fill_npe(const Run& run, const std::vector<NpeRow>& rows);

}  // namespace ttc::report

// The per-op report: rows of a table put into order, cut to a window, merged over devices, with figures,
// shares and verdicts. The rules are those of tt-perf-report 1.2.4 (tt-perf-report
// src/tt_perf_report/perf_report.py) except where tools/ttreport/REPORTS.md lists a difference.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/ops/op_model.hpp"
#include "tools/report/text/record_sort.hpp"

namespace ttc::report {

enum class GroupBy { op, memory, category };

struct ReportOptions {
  std::string start_signpost, end_signpost;
  bool ignore_signposts = false, print_signposts = false;
  std::optional<uint64_t> first_id, last_id;
  bool id_range = false;  // one of the two was given
  std::string arch;       // if the table has none; empty: wormhole
  bool tracing_mode = false, no_host_ops = false, merge_devices = true;
};

struct ReportRow {
  OpRow op;
  Figures figures;
  Number device_us, gap_us, total_percent;
  Number device_bound_us, gap_bound_us;  // the true times lie within so much of them; absent: not known
  std::string bound;                     // DRAM, FLOP, BOTH, SLOW, HOST or empty: tt-perf-report's
  Number imbalance_percent;              // slowest core over the mean, less 100
  Number dispatch_percent;               // of kernel and gap together: what is no kernel
  Number dispatch_percent_bound, first_to_last_bound_us, dispatch_bound_us;
  std::vector<std::string> advice;
  // Ours, for every op; made when they are shown.
  Bound limit() const { return op.signpost() ? Bound() : report::bound(op, figures); }
  Bottleneck waits() const { return op.signpost() ? Bottleneck() : bottleneck(op); }
};

// Rows of a report, each made when it is read: memory does not grow with them.
class ReportRows {
 public:
  // A row of the table, and what differs from it here.
  struct Chosen {
    uint32_t row = 0;
    bool gap = true;                                           // it has one: an op comes before it
    double kernel = std::numeric_limits<double>::quiet_NaN();  // ns: mean of a collective over devices
    double kernel_bound = std::numeric_limits<double>::quiet_NaN();
  };
  ReportRows() = default;
  // `total_us`: of device times and gaps, which shares are taken of.
  ReportRows(OpRows ops, Architecture arch, Records<Chosen> chosen, double total_us);

  size_t size() const { return chosen_.size(); }
  bool empty() const { return chosen_.empty(); }
  ReportRow operator[](size_t i) const;
  RowIterator<ReportRows, ReportRow> begin() const { return {this, 0}; }
  RowIterator<ReportRows, ReportRow> end() const { return {this, size()}; }

 private:
  OpRows ops_;
  Architecture arch_;
  Records<Chosen> chosen_;
  double total_us_ = 0;
};

struct Totals {
  double device_us = 0, gap_us = 0;
  double busy_us = 0;  // overlapping ops counted once
  double span_us = 0;  // first start to last end, over devices the longest
  // The bounds of busy_us and span_us; absent: not known.
  Number busy_bound_us, span_bound_us;
  double overlap_us = 0;  // of the sum, counted more than once
  size_t device_ops = 0, host_ops = 0, signposts = 0;
  std::string verdict, verdict_rule;
};

// `gap_percent` is the share of gaps in kernels and gaps together.
std::string verdict_of(double gap_percent);

struct OpReport {
  Architecture arch;
  ReportRows rows;
  Totals totals;
  size_t devices = 0;
  std::vector<std::string> remarks;  // what was chosen and why, for people
};

// Throws InputError for an architecture that is not known, UnknownName for a signpost that is not there.
OpReport make_report(OpTable table, const ReportOptions& options);

struct StackedRow {
  std::string name;
  std::optional<uint32_t> device;
  double device_us = 0, percent = 0;
  Number bound_us;  // of device_us
  size_t count = 0;
  std::string category;
  Number flops_min, flops_max, flops_mean, flops_deviation, flops_weighted;
};
// The rows in order of device time, longest first.
std::vector<StackedRow> stacked(const OpReport& report, GroupBy by, bool merge_devices, bool no_host_ops);

// The table as tt-perf-report's --csv has it, and columns of our own behind when `extended`.
struct ReportColumns {
  bool advice = true, raw_codes = false, extended = false;
};
std::vector<std::string> report_header(const ReportColumns& columns);
std::vector<std::string> report_line(const ReportRow& row, const ReportColumns& columns);
Cells stacked_cells(const std::vector<StackedRow>& rows, GroupBy by, bool merge_devices);

}  // namespace ttc::report

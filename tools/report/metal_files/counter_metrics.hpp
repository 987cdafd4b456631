// Metrics from the performance counters of a Tensix core: those of tt-metal's report, each with the
// counters it is made of. A metric is computed core by core; the report shows its least, middle, greatest and
// mean value over the cores of a program. A core on which one of the counters is missing, or on which a
// divisor is 0, has no value.
//
//   share         100 * mean of the counts / reference cycles of the first
//   rate          the same as counts per cycle
//   percentage    100 * sum(over) / sum(under); `quotient` without the 100
//   blocked       100 * (sum(over) - sum(under)) / sum(over), at least 0
//   mean_share    mean of 100 * over[i] / under[i]; mean_blocked likewise of the blocked ones
//   spread        100 * (greatest - least) / greatest
//
// A counter named twice counts twice. Several entries of one name are alternatives: a device uses the first
// of them that is of the table's form and for which any of its cores has a value.
//
// Source: tt-metal tools/tracy/perf_counter_analysis.py as of PR #46669 (June 2026), whose counter names the
// firmware markers have; the metrics of HiFi2, HiFi4, LoFi, Math Src, Fidelity Phase and of issued
// instructions by kind from the same file in April 2026, whose counters only logs of that time have.
#pragma once
#include <span>

namespace ttc::report {

enum class MetricShape { share, rate, percentage, quotient, blocked, mean_share, mean_blocked, spread };

// tt-metal computes the joined table and the device-only one by two functions, which since June 2026 take
// another counter for what the second unpacker wrote (compute_perf_counter_metrics and
// compute_device_only_metrics).
enum class TableForm { either, joined, device_only };

struct CounterMetric {
  const char* name;
  const char* unit;  // behind Min, Median, Max and Avg; may be empty
  MetricShape shape;
  const char* over;   // counters, blanks between
  const char* under;  // likewise; empty for share, rate and spread
  // A counter that must not have stayed 0 on the whole device, or null: there it is not wired.
  const char* alive = nullptr;
  // The middle ratio of `under` to `over` on the device must exceed 0.1: else they count unrelated things.
  bool related = false;
  const char* arch = nullptr;  // front of the only architecture on which the counters mean this
  TableForm form = TableForm::either;
};

// The metrics in the order of the report's columns.
std::span<const CounterMetric> counter_metrics();

}  // namespace ttc::report

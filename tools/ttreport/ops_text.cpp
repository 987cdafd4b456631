#include "tools/ttreport/ops_text.hpp"

#include <algorithm>
#include <cstdio>

#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

using namespace report;

constexpr double kHighGapUs = 6.5, kUsualGapUs = 6;

Ink ink_of(const std::string& code) {
  constexpr std::pair<const char*, Ink> kInks[] = {{"(torch)", Ink::red},
                                                   {"Matmul", Ink::magenta},
                                                   {"OptimizedConvNew", Ink::orange},
                                                   {"Conv2d", Ink::orange},
                                                   {"LayerNorm", Ink::cyan},
                                                   {"AllGather", Ink::cyan},
                                                   {"AllReduce", Ink::cyan},
                                                   {"ScaledDotProductAttention", Ink::blue},
                                                   {"CreateHeads", Ink::blue},
                                                   {"ConcatHeads", Ink::blue},
                                                   {"UpdateCache", Ink::blue}};
  for (const auto& [name, ink] : kInks)
    if (code.find(name) != std::string::npos) return ink;
  return Ink::plain;
}

std::string with_unit(const Number& n, int decimals, const char* unit) {
  return n ? thousands(*n, decimals) + " " + unit : "";
}

// Short times keep a decimal.
std::string in_us(const Number& n) {
  return with_unit(n, n.value_or(0) < 10 ? 1 : 0, "\u03bcs");
}

Ink fidelity_ink(const OpRow& op) {
  switch (judge_fidelity(op).verdict) {
    case Fidelity::fine:
      return Ink::green;
    case Fidelity::too_high:
      return Ink::red;
    case Fidelity::too_low:
      return Ink::cyan;
    default:
      return Ink::plain;
  }
}

std::vector<TextCell> text_row(const ReportRow& r, double least_percent, double grid) {
  const Figures& f = r.figures;
  const bool op = !r.op.signpost();
  Ink cores = Ink::plain, dram = Ink::plain, flops = Ink::plain, bound = Ink::plain;
  if (f.cores && *f.cores < 10) cores = Ink::red;
  if (f.cores && *f.cores >= std::max(64.0, r.op.available_cores.value_or(grid))) cores = Ink::green;
  if (r.bound == "DRAM" || r.bound == "BOTH") bound = dram = Ink::green;
  if (r.bound == "FLOP" || r.bound == "BOTH") bound = flops = Ink::green;
  if (r.bound == "SLOW") {
    bound = Ink::yellow;
    (f.dram_percent.value_or(0) > f.flops_percent.value_or(0) ? dram : flops) = Ink::yellow;
  }
  if (r.bound == "HOST") bound = Ink::red;
  const std::string name = op ? f.text : "\u25b8 " + r.op.code;
  std::vector<TextCell> cells{
      {std::to_string(r.op.id)},
      {with_unit(r.total_percent, 1, "%")},
      {r.bound, bound},
      {name, op ? ink_of(f.text) : Ink::bold},
      {r.op.device ? std::to_string(*r.op.device) + (r.op.data_source == kFromLog ? " (log)" : "") : ""},
      {in_us(r.device_us)},
      {in_us(r.gap_us), r.gap_us.value_or(0) > kHighGapUs ? Ink::red : Ink::plain},
      {op && f.cores ? thousands(*f.cores, 0) : "", cores},
      {with_unit(f.dram_gb_s, 0, "GB/s"), dram},
      {with_unit(f.dram_percent, 1, "%"), dram},
      {with_unit(f.tflops, 1, "TFLOPs"), flops},
      {with_unit(f.flops_percent, 1, "%"), flops},
      {f.fidelity, is_matmul(r.op.code) ? fidelity_ink(r.op) : Ink::plain},
      {op ? r.limit.what : ""},
      {r.waits.who},
      {with_unit(r.imbalance_percent, 0, "%"), r.imbalance_percent.value_or(0) > 50 ? Ink::red : Ink::plain},
      {with_unit(r.dispatch_percent, 0, "%"), r.dispatch_percent.value_or(0) > 50 ? Ink::red : Ink::plain}};
  if (r.total_percent && *r.total_percent < least_percent && !r.op.host())
    for (TextCell& c : cells) c.ink = Ink::grey;
  return cells;
}

TextTable op_table_text() {
  return TextTable({{"ID"},
                    {"Total %"},
                    {"Bound", true, 5},
                    {"OP Code", true, 0, 18},
                    {"Device", false, 8},
                    {"Device Time"},
                    {"Op-to-Op Gap", false, 1},
                    {"Cores", false, 3},
                    {"DRAM", false, 9},
                    {"DRAM %", false, 6},
                    {"FLOPs", false, 9},
                    {"FLOPs %", false, 6},
                    {"Math Fidelity", true, 10},
                    {"Limit", true, 4},
                    {"Waits For", true, 7},
                    {"Imbalance", false, 8},
                    {"Not Kernel", false, 8}});
}

// Which rows of a report a table is about.
struct Listed {
  size_t row;
  double share;  // what it is chosen by: of the total, or its time
};

template <class Wanted>
std::vector<Listed> listed(const OpReport& report, Wanted&& wanted) {
  std::vector<Listed> all;
  for (size_t i = 0; i < report.rows.size(); ++i)
    if (const ReportRow r = report.rows[i]; wanted(r)) all.push_back({i, r.total_percent.value_or(0)});
  return all;
}

// Those that take longest, in their order; all where `most` is 0.
std::vector<Listed> longest(std::vector<Listed> rows, size_t most) {
  if (most == 0 || rows.size() <= most) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Listed& a, const Listed& b) { return a.share > b.share; });
  rows.resize(most);
  std::sort(rows.begin(), rows.end(), [](const Listed& a, const Listed& b) { return a.row < b.row; });
  return rows;
}

// "N of M ops ..." where some were left out.
std::string left_out(size_t shown, size_t all, const char* hint) {
  if (shown == all) return "";
  return "The " + std::to_string(shown) + " of " + std::to_string(all) + " that take longest; " + hint + "\n";
}

void table_part(const OpReport& report, const OpsLook& look, const TextSink& put) {
  size_t hidden = 0;
  const auto wanted = [&](const ReportRow& r) {
    const bool small = r.total_percent.value_or(100) < look.least_percent && !r.op.host() && !r.op.signpost();
    hidden += look.hide && small;
    return !(look.hide && small);
  };
  TextTable table = op_table_text();
  const auto put_row = [&](const ReportRow& r) {
    table.row(text_row(r, look.least_percent, report.arch.worker_cores));
  };
  size_t all = 0, shown = 0;
  if (look.rows == 0) {
    for (const ReportRow& r : report.rows)
      if (wanted(r)) put_row(r);
  } else {
    std::vector<Listed> rows = listed(report, wanted);
    all = rows.size();
    rows = longest(std::move(rows), look.rows);
    shown = rows.size();
    for (const Listed& l : rows) put_row(report.rows[l.row]);
  }
  const Totals& t = report.totals;
  table.rule();
  table.row({{""},
             {"100.0 %", Ink::grey},
             {""},
             {std::to_string(t.device_ops) + " device ops, " + std::to_string(t.host_ops) + " host ops, " +
                  std::to_string(t.signposts) + " signposts",
              Ink::grey},
             {""},
             {in_us(t.device_us), Ink::grey},
             {in_us(t.gap_us), Ink::grey}});
  table.write(look.width, look.color, put);
  if (hidden)
    put(std::to_string(hidden) + " ops below " + thousands(look.least_percent, 1) + " % are hidden\n");
  put(left_out(shown, all, "--rows 0 shows all, --csv FILE writes all"));
}

void host_part(const OpReport& report, const OpsLook& look, const TextSink& put) {
  const std::vector<Listed> rows = listed(report, [](const ReportRow& r) { return r.op.host(); });
  if (rows.empty()) return;
  TextTable table = op_table_text();
  for (const Listed& l : longest(rows, look.rows)) table.row(text_row(report.rows[l.row], 0, 64));
  put("\n" + inked("On the host", Ink::bold, look.color) + "\n");
  table.write(look.width, look.color, put);
  put(std::to_string(rows.size()) + " ops run on the host; on the device they need no copies.\n");
}

void gap_part(const OpReport& report, const OpsLook& look, const TextSink& put) {
  double saving = 0;
  std::vector<Listed> rows = listed(report, [&](const ReportRow& r) {
    const bool high = r.gap_us.value_or(0) > kHighGapUs;
    if (high) saving += *r.gap_us - kUsualGapUs;
    return high;
  });
  if (rows.empty()) return;
  const size_t all = rows.size();
  rows = longest(std::move(rows), look.rows);
  TextTable table = op_table_text();
  for (const Listed& l : rows) table.row(text_row(report.rows[l.row], 0, 64));
  const double wall = report.totals.device_us + report.totals.gap_us;
  char line[400];
  std::snprintf(line, sizeof line,
                "%zu ops wait more than %.1f \u03bcs for their start. Replaying a trace could save about %s "
                "(%.1f %%); otherwise see that the host\nruns ahead of the device, and that arguments "
                "which never change are compiled in.\n",
                all, kHighGapUs, in_us(saving).c_str(), wall > 0 ? saving / wall * 100 : 0);
  put("\n" + inked("High op-to-op gap", Ink::bold, look.color) + "\n");
  table.write(look.width, look.color, put);
  put(left_out(rows.size(), all, "--rows 0 shows all") + line);
}

std::string matmul_line(const ReportRow& r) {
  return "ID " + std::to_string(r.op.id) + "  " + r.figures.text + "  " + in_us(r.device_us) + "  " + r.bound;
}

void matmul_part(const OpReport& report, const OpsLook& look, const TextSink& put) {
  std::vector<Listed> rows =
      listed(report, [](const ReportRow& r) { return is_matmul(r.op.code) && !r.op.signpost(); });
  if (rows.empty()) return;
  const size_t all = rows.size();
  rows = longest(std::move(rows), look.rows);
  put("\n" + inked("Matmuls", Ink::bold, look.color) + "\n");
  for (const Listed& l : rows) {
    const ReportRow r = report.rows[l.row];
    const Ink ink = r.total_percent.value_or(0) < look.least_percent ? Ink::grey : Ink::plain;
    put(inked(matmul_line(r), ink, look.color) + "\n");
    for (const std::string& a : r.advice) put(inked("  - " + a, ink, look.color) + "\n");
    if (r.advice.empty()) put(inked("  nothing to change", ink, look.color) + "\n");
  }
  put(left_out(rows.size(), all, "--rows 0 shows all"));
}

// Matmuls that neither DRAM nor FLOPs bound, the longest first: where work on an op pays most.
std::string slow_part(const OpReport& report, const OpsLook& look) {
  std::vector<Listed> rows = listed(report, [](const ReportRow& r) { return r.bound == "SLOW"; });
  if (rows.empty() || look.top_slow == 0) return "";
  for (Listed& l : rows) l.share = report.rows[l.row].device_us.value_or(0);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Listed& a, const Listed& b) { return a.share > b.share; });
  std::string text = "\n" + inked("Slow ops, the longest first", Ink::bold, look.color) + "\n";
  for (size_t i = 0; i < std::min(rows.size(), look.top_slow); ++i) {
    const ReportRow r = report.rows[rows[i].row];
    text += matmul_line(r) + "  DRAM " + with_unit(r.figures.dram_percent, 1, "%") + "  FLOPs " +
            with_unit(r.figures.flops_percent, 1, "%") + "\n";
  }
  if (rows.size() > look.top_slow)
    text += "and " + std::to_string(rows.size() - look.top_slow) + " more; --top-slow N lists N\n";
  return text;
}

}  // namespace

void ops_text(const OpReport& report, const OpsLook& look, const TextSink& put) {
  if (report.rows.empty()) return put("No ops are left to show.\n");
  const Totals& t = report.totals;
  put("Ops on " + report.arch.name + ", " + thousands(report.arch.worker_cores, 0) + " worker cores, " +
      std::to_string(report.devices) + (report.devices == 1 ? " device\n\n" : " devices\n\n"));
  table_part(report, look, put);
  std::string text =
      "\nVerdict: " + inked(t.verdict.empty() ? "nothing to judge" : t.verdict,
                            t.verdict == "device-bound" ? Ink::green : Ink::yellow, look.color);
  if (!t.verdict_rule.empty()) text += " (" + t.verdict_rule + ")";
  text += "\nDevice busy " + thousands(t.busy_us, 1) + " \u03bcs with overlaps counted once";
  if (t.overlap_us > 0.5) text += ", of " + thousands(t.busy_us + t.overlap_us, 1) + " \u03bcs of kernels";
  put(text + "; from first start to last end " + thousands(t.span_us, 1) + " \u03bcs\n");
  if (!look.advice) return;
  host_part(report, look, put);
  gap_part(report, look, put);
  matmul_part(report, look, put);
  put(slow_part(report, look));
}

std::string summary_text(const std::vector<StackedRow>& rows, GroupBy by, bool by_device,
                         const OpsLook& look) {
  std::vector<TextColumn> columns{{"Total %"}, {"Op Code", true, 0, 18}};
  if (by_device) columns.push_back({"Device"});
  columns.push_back({"Device Time Sum"});
  columns.push_back({"Op Count"});
  if (by != GroupBy::category)
    for (const char* name :
         {"Op Category", "Min FLOPs", "Max FLOPs", "Mean FLOPs", "Std FLOPs", "Weighted Mean FLOPs"})
      columns.push_back({name, false, static_cast<int>(columns.size())});
  TextTable table(columns);
  constexpr size_t kMostLines = 60;  // runs without names have a line for every program
  const size_t most = look.rows ? std::min(look.rows, kMostLines) : kMostLines;
  std::vector<StackedRow> sorted(rows.begin(),
                                 rows.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), most)));
  if (by_device)
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const StackedRow& a, const StackedRow& b) { return a.device < b.device; });
  for (const StackedRow& r : sorted) {
    std::vector<TextCell> cells{{with_unit(r.percent, 2, "%")}, {r.name, ink_of(r.name)}};
    if (by_device) cells.push_back({std::to_string(r.device.value_or(0))});
    cells.push_back({with_unit(r.device_us, 2, "\u03bcs")});
    cells.push_back({std::to_string(r.count)});
    if (by != GroupBy::category) {
      cells.push_back({r.category});
      for (const Number& n : {r.flops_min, r.flops_max, r.flops_mean, r.flops_deviation, r.flops_weighted})
        cells.push_back({with_unit(n, 2, "%")});
    }
    table.row(std::move(cells));
  }
  std::string text =
      "\n" + inked("Summary", Ink::bold, look.color) + "\n" + table.text(look.width, look.color);
  if (rows.size() > sorted.size())
    text += "and " + std::to_string(rows.size() - sorted.size()) + " more; --summary-file writes all\n";
  return text;
}

}  // namespace ttc::tools

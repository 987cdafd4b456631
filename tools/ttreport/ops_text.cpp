#include "tools/ttreport/ops_text.hpp"

#include <algorithm>
#include <cstdio>

#include "tools/report/text/row_selection.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/text/time_bounds.hpp"

namespace ttc::tools {
namespace {

using namespace report;

constexpr ptrdiff_t kTimeColumn = 5, kGapColumn = 6;  // of the table of ops
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

// Columns that only some tables have.
struct Extra {
  bool bounds = false;     // of times
  bool processes = false;  // of the host, several of them
};

std::vector<TextCell> text_row(const ReportRow& r, double least_percent, double grid, const Extra& extra) {
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
      {op ? r.limit().what : ""},
      {r.waits().who},
      {with_unit(r.imbalance_percent, 0, "%"), r.imbalance_percent.value_or(0) > 50 ? Ink::red : Ink::plain},
      {with_unit(r.dispatch_percent, 0, "%"), r.dispatch_percent.value_or(0) > 50 ? Ink::red : Ink::plain}};
  if (extra.bounds) {
    cells.insert(cells.begin() + kGapColumn + 1, {written_bound(r.gap_bound_us)});
    cells.insert(cells.begin() + kTimeColumn + 1, {written_bound(r.device_bound_us)});
  }
  if (extra.processes) cells.push_back({r.op.process});
  if (r.total_percent && *r.total_percent < least_percent && !r.op.host())
    for (TextCell& c : cells) c.ink = Ink::grey;
  return cells;
}

TextTable op_table_text(const Extra& extra) {
  std::vector<TextColumn> columns{{"ID"},
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
                                  {"Not Kernel", false, 8}};
  if (extra.bounds) {
    columns.insert(columns.begin() + kGapColumn + 1, {"Gap \u00b1", false, 5});
    columns.insert(columns.begin() + kTimeColumn + 1, {"\u00b1", false, 2});
  }
  if (extra.processes) columns.push_back({"Process", true, 2, 8});
  return TextTable(std::move(columns));
}

// The data of each part of the text, found in one pass over the rows.
struct Parts {
  explicit Parts(const OpsLook& look)
      : table(look.rows), host(look.rows), gaps(look.rows), matmuls(look.rows), slow(look.top_slow) {}
  Selection table, host, gaps, matmuls, slow;
  size_t hidden = 0;
  Extra extra;
  double saving_us = 0;  // of the high gaps, beyond what is usual
};

// The bound of a row's share of the total, in percent: its own time's; the total is the same for all.
Number share_bound(const ReportRow& r) {
  const double us = r.device_us.value_or(0) + r.gap_us.value_or(0);
  const Number bound = r.gap_us ? sum_of(r.device_bound_us, r.gap_bound_us) : r.device_bound_us;
  if (!bound || us <= 0 || !r.total_percent) return std::nullopt;
  return *bound / us * *r.total_percent;
}

Parts parts_of(const OpReport& report, const OpsLook& look) {
  Parts parts(look);
  size_t row = 0;
  for (const ReportRow& r : report.rows) {
    const double share = r.total_percent.value_or(0);
    const Number bound = share_bound(r);
    parts.extra.processes = parts.extra.processes || !r.op.process.empty();
    parts.extra.bounds = parts.extra.bounds || r.device_bound_us;
    const bool small = r.total_percent.value_or(100) < look.least_percent && !r.op.host() && !r.op.signpost();
    if (look.hide && small)
      ++parts.hidden;
    else
      parts.table.add(row, share, bound);
    if (r.op.host()) parts.host.add(row, share);
    if (r.gap_us.value_or(0) > kHighGapUs) {
      parts.saving_us += *r.gap_us - kUsualGapUs;
      parts.gaps.add(row, share, bound);
    }
    if (is_matmul(r.op.code) && !r.op.signpost()) parts.matmuls.add(row, share, bound);
    if (look.top_slow && r.bound == "SLOW") parts.slow.add(row, r.device_us.value_or(0), r.device_bound_us);
    ++row;
  }
  return parts;
}

constexpr const char* kWithinBounds =
    "what is left out may take as long as the last of them, within the bounds of both";

// "N of M ops ..." where some were left out. `within`: chosen_within_bounds().
std::string left_out(const Selection& rows, bool within, const char* hint) {
  if (rows.shown() == rows.all()) return "";
  return "The " + std::to_string(rows.shown()) + " of " + std::to_string(rows.all()) +
         " that take longest; " + (within ? std::string(kWithinBounds) + "; " : "") + hint + "\n";
}

std::string title(const OpReport& report) {
  return "Ops on " + report.arch.name + ", " + thousands(report.arch.worker_cores, 0) + " worker cores, " +
         std::to_string(report.devices) + (report.devices == 1 ? " device\n\n" : " devices\n\n");
}

void put_table(const OpReport& report, const Records<size_t>& rows, const Extra& extra, const OpsLook& look,
               const TextSink& put) {
  TextTable table = op_table_text(extra);
  for (const size_t row : rows)
    table.row(text_row(report.rows[row], look.least_percent, report.arch.worker_cores, extra));
  const Totals& t = report.totals;
  table.rule();
  std::vector<TextCell> sums{{""},
                             {"100.0 %", Ink::grey},
                             {""},
                             {std::to_string(t.device_ops) + " device ops, " + std::to_string(t.host_ops) +
                                  " host ops, " + std::to_string(t.signposts) + " signposts",
                              Ink::grey},
                             {""},
                             {in_us(t.device_us), Ink::grey},
                             {in_us(t.gap_us), Ink::grey}};
  if (extra.bounds) sums.insert(sums.begin() + kTimeColumn + 1, {""});
  table.row(std::move(sums));
  table.write(look.width, look.color, put);
}

std::string hidden_line(const Parts& parts, const OpsLook& look) {
  if (parts.hidden == 0) return "";
  return std::to_string(parts.hidden) + " ops below " + thousands(look.least_percent, 1) + " % are hidden\n";
}

void table_part(const OpReport& report, Parts& parts, const OpsLook& look, const TextSink& put) {
  const bool within = parts.table.chosen_within_bounds();
  put_table(report, parts.table.take_rows(), parts.extra, look, put);
  put(hidden_line(parts, look));
  put(left_out(parts.table, within, "--rows 0 shows all, --csv FILE writes all"));
}

// Two lines, without colours.
std::string verdict_text(const Totals& t) {
  std::string text = "Verdict: " + (t.verdict.empty() ? std::string("nothing to judge") : t.verdict);
  if (!t.verdict_rule.empty()) text += " (" + t.verdict_rule + ")";
  const auto bound = [](const Number& us) {
    return us ? " (\u00b1 " + written_bound(us) + ")" : std::string();
  };
  text += "\nDevice busy " + thousands(t.busy_us, 1) + " \u03bcs" + bound(t.busy_bound_us) +
          " with overlaps counted once";
  if (t.overlap_us > 0.5) text += ", of " + thousands(t.busy_us + t.overlap_us, 1) + " \u03bcs of kernels";
  return text + "; from first start to last end " + thousands(t.span_us, 1) + " \u03bcs" +
         bound(t.span_bound_us) + "\n";
}

// The verdict follows the first colon.
std::string with_ink(std::string text, const Totals& t, const OpsLook& look) {
  const size_t at = text.find(": ") + 2;
  const size_t size = t.verdict.empty() ? text.find_first_of("\n(", at) - at : t.verdict.size();
  return text.replace(
      at, size,
      inked(text.substr(at, size), t.verdict == "device-bound" ? Ink::green : Ink::yellow, look.color));
}

void host_part(const OpReport& report, Parts& parts, const OpsLook& look, const TextSink& put) {
  Selection& host = parts.host;
  if (host.all() == 0) return;
  const Extra extra{false, parts.extra.processes};
  TextTable table = op_table_text(extra);
  for (const size_t row : host.take_rows()) table.row(text_row(report.rows[row], 0, 64, extra));
  put("\n" + inked("On the host", Ink::bold, look.color) + "\n");
  table.write(look.width, look.color, put);
  put(left_out(host, false, "--rows 0 shows all"));
  put(std::to_string(host.all()) + " ops run on the host; on the device they need no copies.\n");
}

void gap_part(const OpReport& report, Parts& parts, const OpsLook& look, const TextSink& put) {
  Selection& gaps = parts.gaps;
  if (gaps.all() == 0) return;
  const bool within = gaps.chosen_within_bounds();
  TextTable table = op_table_text(parts.extra);
  for (const size_t row : gaps.take_rows()) table.row(text_row(report.rows[row], 0, 64, parts.extra));
  const double wall = report.totals.device_us + report.totals.gap_us;
  char line[400];
  std::snprintf(line, sizeof line,
                "%zu ops wait more than %.1f \u03bcs for their start. Replaying a trace could save about %s "
                "(%.1f %%); otherwise see that the host\nruns ahead of the device, and that arguments "
                "which never change are compiled in.\n",
                gaps.all(), kHighGapUs, in_us(parts.saving_us).c_str(),
                wall > 0 ? parts.saving_us / wall * 100 : 0);
  put("\n" + inked("High op-to-op gap", Ink::bold, look.color) + "\n");
  table.write(look.width, look.color, put);
  put(left_out(gaps, within, "--rows 0 shows all") + line);
}

std::string matmul_line(const ReportRow& r) {
  return "ID " + std::to_string(r.op.id) + "  " + r.figures.text + "  " + in_us(r.device_us) + "  " + r.bound;
}

void matmul_part(const OpReport& report, Selection& matmuls, const OpsLook& look, const TextSink& put) {
  if (matmuls.all() == 0) return;
  put("\n" + inked("Matmuls", Ink::bold, look.color) + "\n");
  const bool within = matmuls.chosen_within_bounds();
  for (const size_t row : matmuls.take_rows()) {
    const ReportRow r = report.rows[row];
    const Ink ink = r.total_percent.value_or(0) < look.least_percent ? Ink::grey : Ink::plain;
    put(inked(matmul_line(r), ink, look.color) + "\n");
    for (const std::string& a : r.advice) put(inked("  - " + a, ink, look.color) + "\n");
    if (r.advice.empty()) put(inked("  nothing to change", ink, look.color) + "\n");
  }
  put(left_out(matmuls, within, "--rows 0 shows all"));
}

// Matmuls that neither DRAM nor FLOPs bound, the longest first: where work on an op pays most.
void slow_part(const OpReport& report, Selection& slow, const OpsLook& look, const TextSink& put) {
  if (slow.all() == 0) return;
  put("\n" + inked("Slow ops, the longest first", Ink::bold, look.color) + "\n");
  const bool within = slow.chosen_within_bounds();
  SharedRank rank;
  for (const size_t row : slow.take_longest_first()) {
    const ReportRow r = report.rows[row];
    const bool shared = rank.shares(r.device_us.value_or(0), r.device_bound_us);
    put((shared ? "= " : "") + matmul_line(r) + "  DRAM " + with_unit(r.figures.dram_percent, 1, "%") +
        "  FLOPs " + with_unit(r.figures.flops_percent, 1, "%") + "\n");
  }
  if (slow.all() > slow.shown())
    put("and " + std::to_string(slow.all() - slow.shown()) + " more; " +
        (within ? std::string(kWithinBounds) + "; " : "") + "--top-slow N lists N\n");
  put(rank.legend());
}

}  // namespace

void ops_text(const OpReport& report, const OpsLook& look, const TextSink& put) {
  if (report.rows.empty()) return put("No ops are left to show.\n");
  put(title(report));
  Parts parts = parts_of(report, look);
  table_part(report, parts, look, put);
  put("\n" + with_ink(verdict_text(report.totals), report.totals, look));
  if (!look.advice) return;
  host_part(report, parts, look, put);
  gap_part(report, parts, look, put);
  matmul_part(report, parts.matmuls, look, put);
  slow_part(report, parts.slow, look, put);
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
  const bool bounds =
      std::any_of(rows.begin(), rows.end(), [](const StackedRow& r) { return r.bound_us.has_value(); });
  const auto behind_sum = static_cast<ptrdiff_t>(by_device ? 4 : 3);
  if (bounds) columns.insert(columns.begin() + behind_sum, {"\u00b1", false, 2});
  TextTable table(columns);
  SharedRank rank;
  constexpr size_t kMostLines = 60;  // runs without names have a line for every program
  const size_t most = look.rows ? std::min(look.rows, kMostLines) : kMostLines;
  std::vector<StackedRow> sorted(rows.begin(),
                                 rows.begin() + static_cast<ptrdiff_t>(std::min(rows.size(), most)));
  if (by_device)
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const StackedRow& a, const StackedRow& b) { return a.device < b.device; });
  for (const StackedRow& r : sorted) {
    const bool shared = !by_device && rank.shares(r.device_us, r.bound_us);
    std::vector<TextCell> cells{{(shared ? "= " : "") + with_unit(r.percent, 2, "%")},
                                {r.name, ink_of(r.name)}};
    if (by_device) cells.push_back({std::to_string(r.device.value_or(0))});
    cells.push_back({with_unit(r.device_us, 2, "\u03bcs")});
    cells.push_back({std::to_string(r.count)});
    if (by != GroupBy::category) {
      cells.push_back({r.category});
      for (const Number& n : {r.flops_min, r.flops_max, r.flops_mean, r.flops_deviation, r.flops_weighted})
        cells.push_back({with_unit(n, 2, "%")});
    }
    if (bounds) cells.insert(cells.begin() + behind_sum, {written_bound(r.bound_us)});
    table.row(std::move(cells));
  }
  std::string text = "\n" + inked("Summary", Ink::bold, look.color) + "\n" +
                     table.text(look.width, look.color) + rank.legend();
  if (rows.size() > sorted.size())
    text += "and " + std::to_string(rows.size() - sorted.size()) + " more; --summary-file writes all\n";
  return text;
}

namespace {

size_t lines_of(const std::string& text, size_t width) {
  size_t lines = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const size_t columns = shown_width(text.substr(at, end - at));
    lines += width && columns > width ? (columns + width - 1) / width : 1;
    at = end + 1;
  }
  return lines;
}

// Broken at spaces into lines of at most `width` columns.
std::string wrapped(const std::string& text, size_t width) {
  std::string out = text;
  size_t line = 0, space = std::string::npos;
  for (size_t at = 0; at < out.size(); ++at) {
    if (out[at] == '\n') {
      line = at + 1;
      space = std::string::npos;
    } else if (out[at] == ' ') {
      space = at;
    } else if (space != std::string::npos && shown_width(out.substr(line, at + 1 - line)) > width) {
      out[space] = '\n';
      line = space + 1;
      space = std::string::npos;
    }
  }
  return out;
}

// Names what a page leaves out, and the option that shows it.
std::string not_on_page(const Parts& parts, size_t shown, size_t groups_left, const OpsLook& look) {
  std::string text = shown < parts.table.all() ? "These " + std::to_string(shown) + " of " +
                                                     std::to_string(parts.table.all()) + " ops take longest. "
                                               : "";
  std::string list;
  const auto add = [&](const Selection& rows, const char* what) {
    if (look.advice && rows.all())
      list += (list.empty() ? "" : ", ") + std::to_string(rows.all()) + " " + what;
  };
  add(parts.host, "ops on the host");
  add(parts.gaps, "high gaps");
  add(parts.matmuls, "matmuls with advice");
  add(parts.slow, "slow ops");
  if (groups_left) list += (list.empty() ? "" : ", ") + std::to_string(groups_left) + " lines of the summary";
  if (!list.empty()) text += "Not on this page: " + list + ". ";
  return text + "--rows 0 prints all, --csv FILE writes it\n";
}

}  // namespace

void ops_page(const OpReport& report, const OpsSummary& summary, const OpsLook& look, const TextSink& put) {
  const auto put_all = [&](const OpsLook& all, const TextSink& to) {
    ops_text(report, all, to);
    if (!summary.rows.empty()) to(summary_text(summary.rows, summary.by, summary.by_device, all));
  };
  OpsLook all = look;
  all.rows = 0;
  if (report.rows.size() < look.page) {
    OpsLook plain = all;
    plain.color = false;
    std::string text;
    put_all(plain, [&](std::string_view part) { text += part; });
    if (lines_of(text, look.width) <= look.page) return put_all(all, put);
  }
  constexpr size_t kLeast = 3, kAroundTable = 6, kAroundSummary = 5;
  OpsLook bounded = look;
  bounded.rows = look.page;
  Parts parts = parts_of(report, bounded);
  const std::string verdict = "\n" + wrapped(verdict_text(report.totals), look.width);
  const size_t around =
      kAroundTable + lines_of(verdict, look.width) + (parts.hidden ? 1 : 0) +
      lines_of(wrapped(not_on_page(parts, 0, summary.rows.size(), look), look.width), look.width);
  const size_t room = look.page > around + kLeast ? look.page - around : kLeast;
  size_t ops = std::min(room, parts.table.all()), groups = 0;
  if (!summary.rows.empty()) {
    // A third for the summary, or what the ops leave.
    const size_t share = std::max(room / 3, room - ops);
    if (share > kAroundSummary) groups = std::min(share - kAroundSummary, summary.rows.size());
    if (groups) ops = std::min(ops, room - kAroundSummary - groups);
  }
  put(title(report));
  put_table(report, parts.table.take_rows(ops), parts.extra, look, put);
  put(hidden_line(parts, look));
  put(with_ink(verdict, report.totals, look));
  if (groups) {
    bounded.rows = groups;
    put(summary_text(summary.rows, summary.by, summary.by_device, bounded));
  }
  put(wrapped(not_on_page(parts, ops, summary.rows.size() - groups, look), look.width));
}

}  // namespace ttc::tools

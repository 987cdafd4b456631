// ttreport ops: the per-op table. Options are named as tt-perf-report names them.
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/stacked_picture.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/ttreport/input_options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

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
  if (f.cores && *f.cores >= grid) cores = Ink::green;
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
      {r.op.device ? std::to_string(*r.op.device) : ""},
      {with_unit(r.device_us, r.device_us.value_or(0) < 10 ? 1 : 0, "\u03bcs")},
      {with_unit(r.gap_us, r.gap_us.value_or(0) < 10 ? 1 : 0, "\u03bcs"),
       r.gap_us.value_or(0) > kHighGapUs ? Ink::red : Ink::plain},
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

class OpsReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, run_options_);
    command.get_option("--from")->description(
        command.get_option("--from")->get_description() +
        ".\nSeveral tables of ops are several hosts: their devices are numbered on");
    command.add_option("--start-signpost", options_.start_signpost,
                       "show what follows the first signpost of this name");
    command.add_option("--end-signpost", options_.end_signpost,
                       "up to the first signpost of this name; the second, when it is the start's as well");
    command.add_flag("--ignore-signposts", options_.ignore_signposts, "show the whole table");
    command.add_flag("--print-signposts", options_.print_signposts, "keep signposts within the window");
    command.add_option("--min-percentage", least_percent_, "grey out what takes less")->capture_default_str();
    command.add_option("--id-range", id_range_, "A-B, A- or -B, by the row in the file (ID)");
    command.add_option("--arch", options_.arch,
                       "wormhole, blackhole, bh20 or n1, where the table does not say");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
    command.add_option("--csv", csv_, "write the table there, as tt-perf-report does; - is standard output");
    command.add_option("--json", json_, "write rows, totals and verdicts there; - is standard output");
    command.add_flag("--extended", extended_,
                     "with --csv: also the columns that tt-perf-report does not have");
    command.add_flag("--no-advice", no_advice_, "the table only");
    command.add_flag("--tracing-mode", options_.tracing_mode,
                     "do not sort by host time, which replays do not have");
    command.add_flag("--raw-op-codes", raw_codes_, "a further column with the name alone");
    command.add_flag("--no-host-ops", options_.no_host_ops, "leave (torch) ops out");
    command.add_flag("--no-summary,--no-stacked-report", no_summary_, "no summary by op");
    command.add_option("--group-by", group_by_, "summary by op, memory of input 0, or category")
        ->check(CLI::IsMember({"op", "memory", "category"}))
        ->capture_default_str();
    command.add_flag_callback(
        "--no-stack-by-in0", [this] { group_by_ = "op"; }, "the same as --group-by op");
    command.add_flag("--classic-colors", classic_, "picture of the summary without colours by category");
    command.add_option(
        "--summary-file,--stacked-csv", summary_file_,
        "write the summary there, as BASE.csv and BASE.png (default with --csv: its name with _stacked)");
    command.add_flag("--no-merge-devices", no_merge_, "keep devices apart");
  }

  int run() override {
    if (!parse_id_range())
      return say(ReportExit::kUsage,
                 "'" + id_range_ + "' is no range of IDs; give A-B, A- or -B, such as 5-10");
    options_.merge_devices = !no_merge_;
    const std::string summary = summary_base();
    refuse_outputs_over_inputs(run_options_, {csv_, json_});
    if (!summary.empty()) refuse_outputs_over_inputs(run_options_, {summary + ".csv", summary + ".png"});
    int code = ReportExit::kOk;
    OpTable table = read(code);
    const OpReport report = make_report(table, options_);
    const bool to_stdout = csv_ == "-" || json_ == "-";
    if (!csv_.empty()) {
      Output out(csv_, false);
      write_cells(report_cells(report, !no_advice_, raw_codes_, extended_), out);
      out.commit();
    }
    if (!json_.empty()) {
      Output out(json_, false);
      out.append(program::json_text(as_json(report), 1) + "\n");
      out.commit();
    }
    if (csv_.empty() && !to_stdout) print(report);
    if (!no_summary_) write_summary(report, to_stdout);
    for (const std::string& n : report.remarks) say(ReportExit::kOk, n);
    return code;
  }

 private:
  bool parse_id_range() {
    if (id_range_.empty()) return true;
    std::string text;
    for (const char c : id_range_)
      if (c != ',') text += c;
    const size_t dash = text.find('-');
    if (dash == std::string::npos || text.find('-', dash + 1) != std::string::npos || text == "-")
      return false;
    const auto number = [](std::string_view part, std::optional<uint64_t>& out) {
      if (part.empty()) return true;
      uint64_t value = 0;
      const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
      out = value;
      return error == std::errc{} && end == part.data() + part.size();
    };
    options_.id_range = true;
    return number(std::string_view(text).substr(0, dash), options_.first_id) &&
           number(std::string_view(text).substr(dash + 1), options_.last_id);
  }

  OpTable read(int& code) {
    if (run_options_.from.size() > 1 && is_table(run_options_.from[0])) return read_hosts();
    const Run run = read_with_progress(run_options_);
    code = tell(run);
    return table_of(run);
  }

  static bool is_table(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::string line;
    return in && std::getline(in, line) && line.find("OP CODE,") != std::string::npos;
  }

  OpTable read_hosts() {
    OpTable all;
    uint32_t offset = 0;
    uint64_t row = 0;
    for (const std::string& path : run_options_.from) {
      std::vector<uint64_t> lines;
      const Cells cells = read_cells(path, lines, all.remarks);
      for (uint64_t& id : lines) id += row;
      row = lines.empty() ? row : lines.back() - 1;  // one head for all of them
      OpTable one = op_table(cells, lines, offset);
      for (const OpRow& r : one.rows)
        if (r.device) offset = std::max(offset, *r.device + 1);
      one.remarks.insert(one.remarks.begin(), all.remarks.begin(), all.remarks.end());
      one.rows.insert(one.rows.begin(), std::make_move_iterator(all.rows.begin()),
                      std::make_move_iterator(all.rows.end()));
      all = std::move(one);
    }
    return all;
  }

  void print(const OpReport& report) {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    const auto width = static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0));
    if (report.rows.empty()) {
      std::printf("No ops are left to show.\n");
      return;
    }
    TextTable table = op_table_text();
    for (const ReportRow& r : report.rows)
      table.row(text_row(r, least_percent_, std::max(64.0, report.arch.worker_cores)));
    const Totals& t = report.totals;
    table.rule();
    table.row({{""},
               {"100.0 %", Ink::grey},
               {""},
               {std::to_string(t.device_ops) + " device ops, " + std::to_string(t.host_ops) + " host ops, " +
                    std::to_string(t.signposts) + " signposts",
                Ink::grey},
               {""},
               {thousands(t.device_us, 0) + " \u03bcs", Ink::grey},
               {thousands(t.gap_us, 0) + " \u03bcs", Ink::grey}});
    std::string text = "Ops on " + report.arch.name + ", " + thousands(report.arch.worker_cores, 0) +
                       " worker cores, " + std::to_string(report.devices) +
                       (report.devices == 1 ? " device\n\n" : " devices\n\n") + table.text(width, color);
    text += "\nVerdict: " + inked(t.verdict.empty() ? "nothing to judge" : t.verdict,
                                  t.verdict == "device-bound" ? Ink::green : Ink::yellow, color);
    if (!t.verdict_rule.empty()) text += " (" + t.verdict_rule + ")";
    text += "\nDevice busy " + thousands(t.busy_us, 1) + " \u03bcs with overlaps counted once";
    text +=
        t.overlap_us > 0.5 ? ", of " + thousands(t.busy_us + t.overlap_us, 1) + " \u03bcs of kernels" : "";
    text += "; from first start to last end " + thousands(t.span_us, 1) + " \u03bcs\n";
    std::fputs(text.c_str(), stdout);
    if (!no_advice_) print_advice(report, color, width);
  }

  void print_advice(const OpReport& report, bool color, size_t width) {
    TextTable host = op_table_text(), gaps = op_table_text();
    size_t host_ops = 0, high = 0;
    double saving = 0;
    for (const ReportRow& r : report.rows) {
      if (r.op.host()) host.row(text_row(r, 0, 64)), ++host_ops;
      if (r.gap_us.value_or(0) > kHighGapUs) {
        gaps.row(text_row(r, 0, 64));
        saving += *r.gap_us - kUsualGapUs;
        ++high;
      }
    }
    if (host_ops)
      std::printf("\n%s\n%s%zu ops run on the host; on the device they need no copies.\n",
                  inked("On the host", Ink::bold, color).c_str(), host.text(width, color).c_str(), host_ops);
    if (high) {
      const double wall = report.totals.device_us + report.totals.gap_us;
      std::printf(
          "\n%s\n%s%zu ops wait more than %.1f \u03bcs for their start. Replaying a trace could save about "
          "%s \u03bcs (%.1f %%); "
          "otherwise see that the host\nruns ahead of the device, and that arguments which never change are "
          "compiled in.\n",
          inked("High op-to-op gap", Ink::bold, color).c_str(), gaps.text(width, color).c_str(), high,
          kHighGapUs, thousands(saving, 0).c_str(), wall > 0 ? saving / wall * 100 : 0);
    }
    bool first = true;
    for (const ReportRow& r : report.rows) {
      if (!is_matmul(r.op.code) || r.op.signpost()) continue;
      if (first) std::printf("\n%s\n", inked("Matmuls", Ink::bold, color).c_str());
      first = false;
      const Ink ink = r.total_percent.value_or(0) < least_percent_ ? Ink::grey : Ink::plain;
      std::printf("%s\n", inked("ID " + std::to_string(r.op.id) + "  " + r.figures.text + "  " +
                                    with_unit(r.device_us, 0, "\u03bcs") + "  " + r.bound,
                                ink, color)
                              .c_str());
      for (const std::string& a : r.advice) std::printf("%s\n", inked("  - " + a, ink, color).c_str());
      if (r.advice.empty()) std::printf("%s\n", inked("  nothing to change", ink, color).c_str());
    }
  }

  // Of the files of the summary, which end in .csv and .png; empty: there are none.
  std::string summary_base() const {
    if (no_summary_) return {};
    if (!summary_file_.empty() || csv_.empty() || csv_ == "-") return summary_file_;
    return csv_.substr(0, csv_.ends_with(".csv") ? csv_.size() - 4 : csv_.size()) + "_stacked";
  }

  void write_summary(const OpReport& report, bool quiet) {
    const GroupBy by = group_by_ == "op"         ? GroupBy::op
                       : group_by_ == "category" ? GroupBy::category
                                                 : GroupBy::memory;
    const auto rows = stacked(report, by, !no_merge_, options_.no_host_ops);
    if (rows.empty()) return;
    if (csv_.empty() && !quiet) print_summary(rows, by);
    const std::string base = summary_base();
    if (base.empty()) return;
    Output out(base + ".csv", false);
    Cells cells = stacked_cells(rows, by, !no_merge_);
    std::string line;
    const auto put = [&](const std::vector<std::string>& fields) {
      line.clear();
      for (size_t i = 0; i < fields.size(); ++i) {
        if (i) line += ',';
        append_csv(line, fields[i]);
      }
      out.append(line + "\n");
    };
    put(cells.header);
    for (const auto& row : cells.rows) put(row);
    out.commit();
    draw_stacked(rows, by, !no_merge_, classic_, base + ".png");
  }

  void print_summary(const std::vector<StackedRow>& rows, GroupBy by) {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    std::vector<TextColumn> columns{{"Total %"}, {"Op Code", true, 0, 18}};
    if (no_merge_) columns.push_back({"Device"});
    columns.push_back({"Device Time Sum"});
    columns.push_back({"Op Count"});
    if (by != GroupBy::category)
      for (const char* name :
           {"Op Category", "Min FLOPs", "Max FLOPs", "Mean FLOPs", "Std FLOPs", "Weighted Mean FLOPs"})
        columns.push_back({name, false, static_cast<int>(columns.size())});
    TextTable table(columns);
    std::vector<StackedRow> sorted = rows;
    if (no_merge_)
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const StackedRow& a, const StackedRow& b) { return a.device < b.device; });
    constexpr size_t kMostLines = 60;  // runs without names have a line for every program
    const size_t left = sorted.size() > kMostLines ? sorted.size() - kMostLines : 0;
    sorted.resize(sorted.size() - left);
    for (const StackedRow& r : sorted) {
      std::vector<TextCell> cells{{with_unit(r.percent, 2, "%")}, {r.name, ink_of(r.name)}};
      if (no_merge_) cells.push_back({std::to_string(r.device.value_or(0))});
      cells.push_back({with_unit(r.device_us, 2, "\u03bcs")});
      cells.push_back({std::to_string(r.count)});
      if (by != GroupBy::category) {
        cells.push_back({r.category});
        for (const Number& n : {r.flops_min, r.flops_max, r.flops_mean, r.flops_deviation, r.flops_weighted})
          cells.push_back({with_unit(n, 2, "%")});
      }
      table.row(std::move(cells));
    }
    std::printf("\n%s\n%s", inked("Summary", Ink::bold, color).c_str(),
                table.text(static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0)), color).c_str());
    if (left) std::printf("and %zu more; --summary-file writes all\n", left);
  }

  static json as_json(const OpReport& report) {
    const auto number = [](const Number& n) { return n ? json(*n) : json(nullptr); };
    json rows = json::array();
    for (const ReportRow& r : report.rows)
      rows.push_back({{"id", r.op.id},
                      {"op_code", r.op.code},
                      {"text", r.figures.text},
                      {"signpost", r.op.signpost()},
                      {"device", r.op.device ? json(*r.op.device) : json(nullptr)},
                      {"global_call_count", r.op.call_count ? json(*r.op.call_count) : json(nullptr)},
                      {"total_percent", number(r.total_percent)},
                      {"bound", r.bound},
                      {"device_us", number(r.device_us)},
                      {"gap_us", number(r.gap_us)},
                      {"cores", number(r.figures.cores)},
                      {"dram_gb_s", number(r.figures.dram_gb_s)},
                      {"dram_percent", number(r.figures.dram_percent)},
                      {"tflops", number(r.figures.tflops)},
                      {"flops_percent", number(r.figures.flops_percent)},
                      {"fidelity", r.figures.fidelity},
                      {"limit", r.limit.what},
                      {"limit_rule", r.limit.why},
                      {"waits_for", r.waits.who},
                      {"risc_shares", r.waits.why},
                      {"imbalance_percent", number(r.imbalance_percent)},
                      {"not_kernel_percent", number(r.dispatch_percent)},
                      {"dispatch_us", number(r.op.dispatch ? Number(*r.op.dispatch / 1000) : Number())},
                      {"advice", r.advice}});
    const Totals& t = report.totals;
    return {{"arch", report.arch.name},
            {"worker_cores", report.arch.worker_cores},
            {"devices", report.devices},
            {"totals",
             {{"device_ops", t.device_ops},
              {"host_ops", t.host_ops},
              {"signposts", t.signposts},
              {"device_us", t.device_us},
              {"gap_us", t.gap_us},
              {"busy_us", t.busy_us},
              {"overlap_us", t.overlap_us},
              {"span_us", t.span_us}}},
            {"verdict", t.verdict},
            {"verdict_rule", t.verdict_rule},
            {"rows", std::move(rows)},
            {"remarks", report.remarks}};
  }

  RunOptions run_options_;
  ReportOptions options_;
  std::string id_range_, csv_, json_, group_by_ = "memory", summary_file_;
  double least_percent_ = 0.5;
  bool color_ = false, no_color_ = false, no_advice_ = false, raw_codes_ = false, no_summary_ = false,
       classic_ = false, no_merge_ = false, extended_ = false;
};

}  // namespace

std::unique_ptr<Report> make_ops_report() {
  return std::make_unique<OpsReport>();
}

}  // namespace ttc::tools

// ttreport ops: the per-op table. Options are named as tt-perf-report names them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/option_names.hpp"
#include "tools/report/ops/op_report.hpp"
#include "tools/report/ops/stacked_picture.hpp"
#include "tools/report/ops/table_file.hpp"
#include "tools/report/text/csv_file.hpp"
#include "tools/report/text/make_ahead.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/ttreport/ops_text.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

class OpsReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, run_options_);
    add_time_option(command, run_options_);
    command.get_option("--from")->description(
        command.get_option("--from")->get_description() +
        ".\nSeveral tables of ops are several hosts: their devices are numbered consecutively");
    command
        .add_option("--start-signpost,--signpost", options_.start_signpost,
                    "show what follows the first signpost of this name")
        ->take_last();
    command
        .add_option("--end-signpost", options_.end_signpost,
                    "up to the first signpost of this name; the second, when it is the start's as well")
        ->take_last();
    command.add_flag("--ignore-signposts", options_.ignore_signposts, "show the whole table");
    command.add_flag("--print-signposts", options_.print_signposts, "keep signposts within the window");
    command.add_option("--min-percentage", least_percent_, "grey out what takes less")
        ->capture_default_str()
        ->take_last();
    command.add_flag("--hide", hide_, "leave out what --min-percentage greys");
    command
        .add_option(
            "--rows", rows_,
            "of each printed table, those that take longest; 0: all (default: on a terminal one page, "
            "else all)")
        ->take_last();
    command
        .add_option("--top-slow", top_slow_,
                    "how many matmuls to list that are bound by neither DRAM nor FLOPs")
        ->capture_default_str()
        ->take_last();
    command.add_option("--id-range", id_range_, "A-B, A- or -B, by the row in the file (ID)");
    add_arch_option(command, options_.arch);
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
    command.add_option("--csv", csv_, "write the table there, as tt-perf-report does; - is standard output");
    command.add_option("--json", json_, "write rows, totals and verdicts there; - is standard output");
    command.add_flag("--table", table_, "with --csv or --json: print the table as well");
    command.add_flag("--extended", extended_,
                     "with --csv: also the columns that tt-perf-report does not have");
    command.add_flag("--no-advice", no_advice_, "the table only");
    command.add_flag("--tracing-mode", options_.tracing_mode,
                     "do not sort by host time, which replays do not have");
    command.add_flag("--raw-op-codes", raw_codes_, "a further column with the name alone");
    command.add_flag("--no-host-ops", options_.no_host_ops, "leave (torch) ops out");
    command.add_flag("--no-summary,--no-stacked-report", no_summary_, "no summary by op");
    command.add_option("--group-by", group_by_, "summary by op, memory of input 0 (default), or category")
        ->check(program::one_of({"op", "memory", "category"}))
        ->take_last();
    command.add_flag("--no-stack-by-in0", no_stack_by_in0_,
                     "the same as --group-by op, which takes precedence");
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
    if (group_by_.empty()) group_by_ = no_stack_by_in0_ ? "op" : "memory";
    const std::string summary = summary_base();
    refuse_outputs_over_inputs(run_options_, {csv_, json_});
    if (!summary.empty()) refuse_outputs_over_inputs(run_options_, {summary + ".csv", summary + ".png"});
    int code = ReportExit::kOk;
    OpTable table = read(code);
    try {
      print(make_report(std::move(table), options_));
    } catch (const UnknownName& e) {
      return refuse_name(code, e);
    }
    return code;
  }

 private:
  // Counts the lines of a sentence that stderr has or will have on the same terminal.
  void count_line(const std::string& sentence) {
    const auto columns = static_cast<size_t>(terminal_columns(STDERR_FILENO, 0));
    if (columns == 0) return;
    const size_t width = shown_width(std::string(kTtreport.name) + ": " + sentence);
    said_lines_ += (width + columns - 1) / columns;
  }

  void print(const OpReport& report) {
    const bool to_stdout = csv_ == "-" || json_ == "-";
    if (!csv_.empty()) write_csv(report);
    if (!json_.empty()) write_json(report);
    const OpsSummary found = summary(report);
    if ((csv_.empty() || table_) && !to_stdout) print_table(report, found);
    if (!found.rows.empty()) write_summary(found);
    for (const std::string& n : report.remarks) say(ReportExit::kOk, n);
  }

  void print_table(const OpReport& report, const OpsSummary& summary) {
    const TextSink put = [](std::string_view part) { std::fwrite(part.data(), 1, part.size(), stdout); };
    OpsLook l = look();
    if (const size_t lines = terminal_lines(STDOUT_FILENO); lines && !rows_) {
      // The prompt and stderr share the terminal.
      for (const std::string& remark : report.remarks) count_line(remark);
      l.page = lines > said_lines_ + 1 ? lines - said_lines_ - 1 : 1;
      if (l.width == 0) l.width = 80;
      return ops_page(report, summary, l, put);
    }
    ops_text(report, l, put);
    if (!summary.rows.empty()) put(summary_text(summary.rows, summary.by, summary.by_device, l));
  }

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
    if (run_options_.from.size() > 1 && is_ops_results(run_options_.from[0])) return read_hosts(code);
    run_options_.table = TableAs::typed;
    const Run run = read_with_progress(run_options_);
    OpTable table = table_of(run);
    for (const auto& sentences : {notices(run), table.remarks})
      for (const std::string& sentence : sentences) count_line(sentence);
    code = report_remarks(run, table);
    table.remarks.clear();
    return table;
  }

  OpTable read_hosts(int& code) {
    OpTable all;
    TableRead last;
    for (const std::string& path : run_options_.from) {
      // One head for all of them.
      last = read_table(path, all, last.last_id - 1, last.next_device);
      if (last.damaged) code = ReportExit::kSourceDamaged;
    }
    return all;
  }

  OpsLook look() const {
    OpsLook l;
    l.color = wants_color(STDOUT_FILENO, color_, no_color_);
    l.width = static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0));
    l.least_percent = least_percent_;
    l.hide = hide_;
    l.rows = rows_.value_or(0);
    l.top_slow = top_slow_;
    l.advice = !no_advice_;
    return l;
  }

  // The base name of the summary's files, which end in .csv and .png; empty: there are none.
  std::string summary_base() const {
    if (no_summary_) return {};
    if (!summary_file_.empty() || csv_.empty() || csv_ == "-") return summary_file_;
    return csv_.substr(0, csv_.ends_with(".csv") ? csv_.size() - 4 : csv_.size()) + "_stacked";
  }

  OpsSummary summary(const OpReport& report) const {
    const GroupBy by = group_by_ == "op"         ? GroupBy::op
                       : group_by_ == "category" ? GroupBy::category
                                                 : GroupBy::memory;
    if (no_summary_) return {{}, by, no_merge_};
    return {stacked(report, by, !no_merge_, options_.no_host_ops), by, no_merge_};
  }

  void write_summary(const OpsSummary& summary) const {
    const std::string base = summary_base();
    if (base.empty()) return;
    Output out(base + ".csv", false);
    const Cells cells = stacked_cells(summary.rows, summary.by, !no_merge_);
    out.append(csv_line(cells.header, "\n"));
    for (const auto& row : cells.rows) out.append(csv_line(row, "\n"));
    out.commit();
    draw_stacked(summary.rows, summary.by, !no_merge_, classic_, base + ".png");
  }

  static std::string csv_line(const std::vector<std::string>& fields, const char* end) {
    std::string line;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i) line += ',';
      append_csv(line, fields[i]);
    }
    return line + end;
  }

  template <class Put>
  static void each_row(const OpReport& report, const Put& put) {
    for (ReportRow row : report.rows) put(row);
  }

  void write_csv(const OpReport& report) const {
    const ReportColumns columns{!no_advice_, raw_codes_, extended_};
    Output out(csv_, false);
    out.append(csv_line(report_header(columns), "\r\n"));
    make_ahead<ReportRow>(
        run_options_.threads, [&](const auto& put) { each_row(report, put); },
        [&](const ReportRow& r) { out.append(csv_line(report_line(r, columns), "\r\n")); });
    out.commit();
  }

  // Row by row: a run of any length is never one object in memory.
  void write_json(const OpReport& report) const {
    const std::string whole = program::json_text(totals_as_json(report), 1);
    const std::string_view place = "\"rows\": []";
    const size_t at = whole.find(place) + place.size() - 1;
    Output out(json_, false);
    out.append(whole.substr(0, at));
    std::string before = "\n  ";
    make_ahead<ReportRow>(
        run_options_.threads, [&](const auto& put) { each_row(report, put); },
        [&](const ReportRow& r) {
          out.append(before + program::json_text(as_json(r)));
          before = ",\n  ";
        });
    out.append(whole.substr(at) + "\n");
    out.commit();
  }

  static json number_or_null(const Number& n) { return n ? json(*n) : json(nullptr); }

  static Number in_us(const Number& ns) { return ns ? Number(*ns / 1000) : Number(); }

  static json as_json(const ReportRow& r) {
    const Bound limit = r.limit();
    const Bottleneck waits = r.waits();
    return {{"id", r.op.id},
            {"op_code", r.op.code},
            {"text", r.figures.text},
            {"signpost", r.op.signpost()},
            {"device", r.op.device ? json(*r.op.device) : json(nullptr)},
            {"device_data_source", r.op.data_source.empty() ? json(nullptr) : json(r.op.data_source)},
            {"process", r.op.process.empty() ? json(nullptr) : json(r.op.process)},
            {"global_call_count", r.op.call_count ? json(*r.op.call_count) : json(nullptr)},
            {"total_percent", number_or_null(r.total_percent)},
            {"bound", r.bound},
            {"device_us", number_or_null(r.device_us)},
            {"gap_us", number_or_null(r.gap_us)},
            {"cores", number_or_null(r.figures.cores)},
            {"dram_gb_s", number_or_null(r.figures.dram_gb_s)},
            {"dram_percent", number_or_null(r.figures.dram_percent)},
            {"tflops", number_or_null(r.figures.tflops)},
            {"flops_percent", number_or_null(r.figures.flops_percent)},
            {"fidelity", r.figures.fidelity},
            {"limit", limit.what},
            {"limit_rule", limit.why},
            {"waits_for", waits.who},
            {"risc_shares", waits.why},
            {"imbalance_percent", number_or_null(r.imbalance_percent)},
            {"not_kernel_percent", number_or_null(r.dispatch_percent)},
            {"device_bound_us", number_or_null(r.device_bound_us)},
            {"device_measured_us", number_or_null(in_us(r.op.kernel_measured))},
            {"gap_bound_us", number_or_null(r.gap_bound_us)},
            {"gap_measured_us", number_or_null(in_us(r.op.gap_measured))},
            {"dispatch_us", number_or_null(in_us(r.op.dispatch))},
            {"dispatch_bound_us", number_or_null(r.dispatch_bound_us)},
            {"not_kernel_bound_percent", number_or_null(r.dispatch_percent_bound)},
            {"first_to_last_start_us", number_or_null(in_us(r.op.first_to_last))},
            {"first_to_last_start_bound_us", number_or_null(r.first_to_last_bound_us)},
            {"advice", r.advice}};
  }

  static json totals_as_json(const OpReport& report) {
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
              {"busy_bound_us", number_or_null(t.busy_bound_us)},
              {"overlap_us", t.overlap_us},
              {"span_us", t.span_us},
              {"span_bound_us", number_or_null(t.span_bound_us)}}},
            {"verdict", t.verdict},
            {"verdict_rule", t.verdict_rule},
            {"rows", json::array()},
            {"remarks", report.remarks}};
  }

  RunOptions run_options_;
  ReportOptions options_;
  std::string id_range_, csv_, json_, group_by_, summary_file_;
  double least_percent_ = 0.5;
  std::optional<size_t> rows_;
  size_t top_slow_ = 10, said_lines_ = 0;
  bool color_ = false, no_color_ = false, no_advice_ = false, raw_codes_ = false, no_summary_ = false,
       classic_ = false, no_merge_ = false, extended_ = false, hide_ = false, table_ = false,
       no_stack_by_in0_ = false;
};

}  // namespace

std::unique_ptr<Report> make_ops_report() {
  return std::make_unique<OpsReport>();
}

}  // namespace ttc::tools

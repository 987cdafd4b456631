// ttreport steps: steady-state windows of a run, device against wall clock.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "collector/program/printable.hpp"
#include "tools/report/ops/steps.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/text/time_bounds.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

class StepsReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    add_time_option(command, options_);
    command.add_option("--start-signpost", steps_.start,
                       "where a step begins (default: the name that comes most often)");
    command.add_option("--end-signpost", steps_.end,
                       "where it ends (default: *end to *start, else the next start)");
    skip_ = command.add_option("--skip", steps_.skip,
                               "first steps left out of the summary (default: those that take over one\n"
                               "and a half times the median)");
    command.add_option("--json", json_, "write steps and summary there; - is standard output");
    command.add_flag("--summary", summary_only_, "the summary only");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
  }

  int run() override {
    steps_.skip_given = skip_->count() > 0;
    refuse_outputs_over_inputs(options_, {json_});
    options_.table = TableAs::typed;
    const Run run = read_with_progress(options_);
    const OpTable table = table_of(run);
    const int code = report_remarks(run, table);
    Steps all;
    try {
      all = find_steps(table, steps_);
    } catch (const UnknownName& e) {
      return refuse_name(code, e);
    }
    if (all.steps.empty())
      say(ReportExit::kOk, "there is no step: " + all.how);
    else if (!json_.empty())
      write_json(all);
    else
      print(all);
    return code;
  }

 private:
  struct Measure {
    const char* name;
    Number (*of)(const Step&);
  };
  static constexpr Measure kMeasures[] = {
      {"wall [us]", [](const Step& s) { return s.wall_us; }},
      {"device [us]", [](const Step& s) { return Number(s.device_us); }},
      {"overhead [%]", [](const Step& s) { return s.overhead_percent(); }},
      {"dispatch per op [us]", [](const Step& s) { return s.dispatch_us(); }},
      {"host zones [us]", [](const Step& s) { return s.host_us; }},
      {"ops", [](const Step& s) { return Number(static_cast<double>(s.ops)); }},
  };
  static Spread spread_of(const Steps& all, const Measure& m) {
    std::vector<double> values;
    for (const Step& s : all.steps)
      if (const Number n = s.counted ? m.of(s) : Number(); n) values.push_back(*n);
    return spread(values);
  }

  static TextTable steps_table(const Steps& all) {
    const auto shown = [](const Number& n, int decimals) {
      return n ? thousands(*n, decimals) : std::string();
    };
    const bool bounds = std::any_of(all.steps.begin(), all.steps.end(),
                                    [](const Step& s) { return s.device_bound_us || s.wall_bound_us; });
    constexpr ptrdiff_t kBehindTimes = 4;
    std::vector<TextColumn> columns{{"Step", true, 0, 10},
                                    {"Ops"},
                                    {"Wall \u03bcs"},
                                    {"Device \u03bcs"},
                                    {"Overhead %"},
                                    {"Dispatch \u03bcs/op", false, 1},
                                    {"Host zones \u03bcs", false, 2}};
    if (bounds)
      columns.insert(columns.begin() + kBehindTimes,
                     {{"\u00b1 wall", false, 3}, {"\u00b1 device", false, 3}});
    TextTable table(std::move(columns));
    for (const Step& s : all.steps) {
      const Ink ink = s.counted ? Ink::plain : Ink::grey;
      std::vector<TextCell> cells{{s.name + (s.counted ? "" : " (left out)"), ink},
                                  {std::to_string(s.ops), ink},
                                  {shown(s.wall_us, 1), ink},
                                  {thousands(s.device_us, 1), ink},
                                  {shown(s.overhead_percent(), 1),
                                   s.counted && s.overhead_percent().value_or(0) > 70 ? Ink::red : ink},
                                  {shown(s.dispatch_us(), 2), ink},
                                  {shown(s.host_us, 1), ink}};
      if (bounds)
        cells.insert(cells.begin() + kBehindTimes,
                     {{written_bound(s.wall_bound_us), ink}, {written_bound(s.device_bound_us), ink}});
      table.row(std::move(cells));
    }
    return table;
  }

  // True if, of the counted steps, the longest and the shortest may have taken the same time.
  static bool within_bounds(const Steps& all) {
    const Step *least = nullptr, *most = nullptr;
    for (const Step& s : all.steps) {
      if (!s.counted) continue;
      if (!least || s.device_us < least->device_us) least = &s;
      if (!most || s.device_us > most->device_us) most = &s;
    }
    if (!least || least == most) return false;
    const Number bounds = sum_of(least->device_bound_us, most->device_bound_us);
    return bounds && most->device_us - least->device_us <= *bounds;
  }

  void print(const Steps& all) const {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    const auto width = static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0));
    if (!summary_only_) std::printf("%s\n", steps_table(all).text(width, color).c_str());
    TextTable summary({{"", true}, {"Steps"}, {"Mean"}, {"Median"}, {"Min"}, {"Max"}, {"Std", false, 1}});
    for (const Measure& m : kMeasures) {
      const Spread s = spread_of(all, m);
      if (s.count)
        summary.row({{m.name},
                     {std::to_string(s.count)},
                     {thousands(s.mean, 2)},
                     {thousands(s.median, 2)},
                     {thousands(s.least, 2)},
                     {thousands(s.most, 2)},
                     {thousands(s.deviation, 2)}});
    }
    std::printf("%s\nIn this report %s.\n", summary.text(width, color).c_str(),
                program::printable(all.how).c_str());
    const Spread overhead = spread_of(all, kMeasures[2]);
    if (overhead.count)
      std::printf(
          "Verdict: %s (the median step spends %.1f %% of its wall time off the device; over 70 %% is "
          "host-bound, over 30 %% partly)\n",
          overhead.median > 70   ? "host-bound"
          : overhead.median > 30 ? "partly host-bound"
                                 : "device-bound",
          overhead.median);
    if (within_bounds(all))
      std::printf("The steps' device times differ by no more than the bounds of two of them.\n");
    if (!all.warning.empty()) std::printf("Warning: %s.\n", all.warning.c_str());
  }

  void write_json(const Steps& all) const {
    const auto number = [](const Number& n) { return n ? json(*n) : json(nullptr); };
    json steps = json::array(), summary = json::object();
    for (const Step& s : all.steps)
      steps.push_back({{"name", s.name},
                       {"counted", s.counted},
                       {"ops", s.ops},
                       {"cache_hits", s.cache_hits},
                       {"cache_misses", s.cache_misses},
                       {"wall_us", number(s.wall_us)},
                       {"device_us", s.device_us},
                       {"wall_bound_us", number(s.wall_bound_us)},
                       {"device_bound_us", number(s.device_bound_us)},
                       {"overhead_percent", number(s.overhead_percent())},
                       {"dispatch_us_per_op", number(s.dispatch_us())},
                       {"host_us", number(s.host_us)}});
    for (const Measure& m : kMeasures) {
      const Spread s = spread_of(all, m);
      summary[m.name] = {{"count", s.count}, {"mean", s.mean}, {"median", s.median},
                         {"min", s.least},   {"max", s.most},  {"std", s.deviation}};
    }
    Output out(json_, false);
    const json whole{{"how", all.how},
                     {"warning", all.warning.empty() ? json(nullptr) : json(all.warning)},
                     {"summary", std::move(summary)},
                     {"steps", std::move(steps)}};
    out.append(program::json_text(whole, 1) + "\n");
    out.commit();
  }

  RunOptions options_;
  StepOptions steps_;
  CLI::Option* skip_ = nullptr;
  std::string json_;
  bool summary_only_ = false, color_ = false, no_color_ = false;
};

}  // namespace

std::unique_ptr<Report> make_steps_report() {
  return std::make_unique<StepsReport>();
}

}  // namespace ttc::tools

// ttreport diff A B: what got slower, and whether the samples prove it.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/report/diff/run_diff.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/report/text/time_bounds.hpp"
#include "tools/report/zones/clock_bounds.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

// total>5%, gaps>10%, any>10%: what may not grow by more.
struct Condition {
  std::string of;
  double percent = 0;
};

std::optional<Condition> parse_condition(const std::string& text) {
  Condition c;
  char name[16] = {}, rest[4] = {};
  const int got = std::sscanf(text.c_str(), " %15[a-z] > %lf %3s", name, &c.percent, rest);
  c.of = name;
  if (got < 2 || (got == 3 && std::string(rest) != "%") || c.percent < 0 ||
      (c.of != "total" && c.of != "gaps" && c.of != "any"))
    return std::nullopt;
  return c;
}

class DiffReport : public Report {
 public:
  void options(CLI::App& command) override {
    command.add_option("a", a_, "the run before: any input of `ttreport ops`")->required();
    command.add_option("b", b_, "the run after")->required();
    command
        .add_option(
            "--fail-if", fail_if_,
            "exit code 1 when total>P% (kernel time of the run), gaps>P% (between ops), or any>P% (the "
            "median\n"
            "of an op): when the whole interval of the growth is above P; an op with one sample has none "
            "and\n"
            "goes by its size; may be repeated")
        ->check([](const std::string& text) {
          return parse_condition(text)
                     ? std::string()
                     : "'" + text + "' is no condition; give one such as total>5% or any>10%";
        });
    command.add_option("--alpha", alpha_, "intervals hold with probability 1 - ALPHA (bootstrap)")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command.add_option("--top", top_, "how many ops, and parts of the waterfall; 0: all")
        ->capture_default_str();
    add_time_option(command, time_);
    command.add_option("--json", json_, "write the comparison there; - is standard output");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
    command.footer("Exit codes: those of ttreport, and 1 when a condition of --fail-if holds.");
  }

  int run() override {
    RunOptions first = time_, second = time_;
    first.table = second.table = TableAs::typed;
    first.from = {a_};
    second.from = {b_};
    refuse_outputs_over_inputs(first, {json_});
    refuse_outputs_over_inputs(second, {json_});
    ClockBounds clocks_a, clocks_b;
    const Run a = read_with_progress(first, {{&clocks_a}, {}, {}, {}}),
              b = read_with_progress(second, {{&clocks_b}, {}, {}, {}});
    DiffOptions options;
    options.alpha = alpha_;
    const OpTable before = table_of(a), after = table_of(b);
    options.bound_us = bound_us(a_, clocks_a, before) + bound_us(b_, clocks_b, after);
    const RunDiff diff = compare(before, after, options);
    if (!json_.empty())
      write_json(diff);
    else
      print(diff);
    const int code = std::max(report_remarks(a, before), report_remarks(b, after));
    for (const std::string& text : fail_if_)
      if (const std::string why = holds(diff, *parse_condition(text)); !why.empty()) {
        std::string sentence = text;
        say(ReportExit::kOk, sentence.append(" holds: ").append(why));
        return ReportExit::kConditionHolds;
      }
    return code;
  }

 private:
  static Number growth(double before, double after) {
    return before > 0 ? Number((after / before - 1) * 100) : Number();
  }

  // The bound of a duration that has none of its own: one cycle by rounding, and what the clock model of a capture leaves open for half
  // of the run; the other half may hold the tail, which has no later sample. A bound above a microsecond is useless for durations, which
  // are then cycles of one card.
  static double bound_us(const std::string& source, const ClockBounds& clocks, const OpTable& ops) {
    constexpr double kMostNs = 1000;
    double bound_ns = 0;
    bool needed = false;
    for (const OpRow& op : ops.rows) needed = needed || (op.kernel && (!op.kernel_measured || op.hard_bound));
    if (!needed) return 0;
    for (const auto& [chip, stretches] : clocks.chips()) {
      const double ns = ClockBounds::bound_of_share(stretches, 0.5);
      if (ns <= kMostNs)
        bound_ns = std::max(bound_ns, ns);
      else
        say(ReportExit::kOk,
            source + ": the clock of chip " + std::to_string(chip) + " is known within " +
                thousands(ns / 1000, 0) +
                " \u03bcs only, as of a short run; its ops are compared by the card's cycles");
    }
    return (bound_ns + 1) / 1000;
  }

  // Why the condition holds; empty: it does not.
  std::string holds(const RunDiff& diff, const Condition& c) const {
    char text[160];
    if (c.of != "any") {
      const bool total = c.of == "total";
      const Number grown = total ? growth(diff.total_a, diff.total_b) : growth(diff.gaps_a, diff.gaps_b);
      const Interval& change = total ? diff.total_change : diff.gaps_change;
      if (!grown || change.low <= c.percent) return "";
      std::snprintf(text, sizeof text, "it grew by %.2f %%, at least by %.2f %%", *grown, change.low);
      return text;
    }
    for (const DiffRow& r : diff.rows) {
      if (!r.change_percent || r.within_clock) continue;
      if ((r.strict ? r.strict->low : *r.change_percent) <= c.percent) continue;
      std::snprintf(text, sizeof text, " grew by %.2f %%", *r.change_percent);
      std::string why = r.signature + text;
      std::snprintf(text, sizeof text, ", at least by %.2f %%", r.strict ? r.strict->low : 0);
      return why + (r.strict ? text : " (one sample)");
    }
    return "";
  }

  static std::string with_sign(double value, int decimals) {
    return (value > 0 ? "+" : "") + thousands(value, decimals);
  }

  static std::string word_of(const DiffRow& r) {
    return !r.a.count        ? "new"
           : !r.b.count      ? "gone"
           : r.within_clock  ? "within clock bound"
           : !r.change       ? "one sample"
           : r.significant() ? "significant"
                             : "within spread";
  }

  void print(const RunDiff& diff) const {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    const auto width = static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0));
    std::fputs(ops_table(diff).text(width, color).c_str(), stdout);
    const auto line = [&](const char* what, double before, double after, const Number& bound_a,
                          const Number& bound_b, const Interval& change) {
      const Number g = growth(before, after);
      std::printf("%s: %s -> %s \u03bcs", what, thousands(before, 1).c_str(), thousands(after, 1).c_str());
      if (bound_a && bound_b)
        std::printf(", \u00b1 %s and \u00b1 %s", written_bound(bound_a).c_str(),
                    written_bound(bound_b).c_str());
      if (g)
        std::printf(" (%s %%, from %s to %s)", with_sign(*g, 2).c_str(), with_sign(change.low, 2).c_str(),
                    with_sign(change.high, 2).c_str());
      std::printf("\n");
    };
    line("\nKernels", diff.total_a, diff.total_b, diff.total_bound_a, diff.total_bound_b, diff.total_change);
    line("Gaps", diff.gaps_a, diff.gaps_b, diff.gaps_bound_a, diff.gaps_bound_b, diff.gaps_change);
    std::printf("\nFrom A to B, by op\n%s", waterfall_table(diff).text(width, color).c_str());
  }

  static constexpr ptrdiff_t kBehindMedians = 5;  // columns

  TextTable ops_table(const RunDiff& diff) const {
    std::vector<TextColumn> columns{
        {"Change"},        {"from", false, 2},       {"to", false, 2},      {"A \u03bcs"},
        {"B \u03bcs"},     {"\u00b1A", false, 4},    {"\u00b1B", false, 4}, {"n A", false, 5},
        {"n B", false, 5}, {"Total \u0394 \u03bcs"}, {"", true, 2},         {"Op", true, 0, 24}};
    const bool bounds = std::any_of(diff.rows.begin(), diff.rows.end(), [](const DiffRow& r) {
      return r.median_bound_a.has_value() || r.median_bound_b.has_value();
    });
    if (bounds)
      columns.insert(columns.begin() + kBehindMedians, {{"bound A", false, 3}, {"bound B", false, 3}});
    TextTable table(std::move(columns));
    size_t shown = 0;
    for (const DiffRow& r : diff.rows) {
      if (top_ && shown++ == top_) break;
      const double change = r.change_percent.value_or(0);
      const Ink ink = !r.change_percent              ? Ink::yellow
                      : r.change && !r.significant() ? Ink::grey
                      : change > 1                   ? Ink::red
                      : change < -1                  ? Ink::green
                                                     : Ink::plain;
      const std::string word = word_of(r);
      std::vector<TextCell> cells{{r.change_percent ? with_sign(change, 1) + " %" : word, ink},
                                  {r.change ? with_sign(r.change->low, 1) : ""},
                                  {r.change ? with_sign(r.change->high, 1) : ""},
                                  {r.a.count ? thousands(r.a.median, 2) : ""},
                                  {r.b.count ? thousands(r.b.median, 2) : ""},
                                  {r.a.count > 1 ? thousands(r.a.deviation, 2) : ""},
                                  {r.b.count > 1 ? thousands(r.b.deviation, 2) : ""},
                                  {std::to_string(r.a.count)},
                                  {std::to_string(r.b.count)},
                                  {with_sign(r.total_b - r.total_a, 1)},
                                  {word, ink},
                                  {r.signature}};
      if (bounds)
        cells.insert(cells.begin() + kBehindMedians,
                     {{written_bound(r.median_bound_a)}, {written_bound(r.median_bound_b)}});
      table.row(std::move(cells));
    }
    return table;
  }

  TextTable waterfall_table(const RunDiff& diff) const {
    TextTable table(
        {{"\u0394 \u03bcs"}, {"Then \u03bcs"}, {"Part", true}, {"", true, 2}, {"Op", true, 0, 24}});
    double level = diff.total_a + diff.gaps_a, others = 0;
    table.row({{""}, {thousands(level, 1)}, {"A"}, {""}, {"kernels and gaps"}});
    size_t shown = 0, left = 0;
    for (const WaterfallPart& part : diff.waterfall) {
      if (top_ && shown == top_) {
        others += part.us;
        ++left;
        continue;
      }
      ++shown;
      level += part.us;
      const bool within = part.within_bounds(diff.rows[part.row]);
      table.row({{with_sign(part.us, 1), within        ? Ink::grey
                                         : part.us > 0 ? Ink::red
                                                       : Ink::green},
                 {thousands(level, 1)},
                 {to_string(part.kind)},
                 {within ? "within bounds" : "", Ink::grey},
                 {diff.rows[part.row].signature}});
    }
    if (left)
      table.row({{with_sign(others, 1)},
                 {thousands(level + others, 1)},
                 {""},
                 {""},
                 {std::to_string(left) + " smaller parts"}});
    table.row({{""}, {thousands(diff.total_b + diff.gaps_b, 1)}, {"B"}, {""}, {"kernels and gaps"}});
    return table;
  }

  void write_json(const RunDiff& diff) const {
    const auto side = [](const Spread& s, double total) {
      return json{{"count", s.count},  {"mean_us", s.mean}, {"median_us", s.median}, {"std_us", s.deviation},
                  {"min_us", s.least}, {"max_us", s.most},  {"total_us", total}};
    };
    const auto pair = [](const Number& a, const Number& b) {
      const auto one = [](const Number& n) { return n ? json(*n) : json(nullptr); };
      return json::array({one(a), one(b)});
    };
    json rows = json::array();
    for (const DiffRow& r : diff.rows)
      rows.push_back({{"signature", r.signature},
                      {"op_code", r.code},
                      {"a", side(r.a, r.total_a)},
                      {"b", side(r.b, r.total_b)},
                      {"change_percent", r.change_percent ? json(*r.change_percent) : json(nullptr)},
                      {"change_interval_percent",
                       r.change ? json::array({r.change->low, r.change->high}) : json(nullptr)},
                      {"gap_us", {r.gaps_a, r.gaps_b}},
                      {"median_bound_us", pair(r.median_bound_a, r.median_bound_b)},
                      {"within_clock_bound", r.within_clock},
                      {"significant", r.significant()}});
    json parts = json::array();
    for (const WaterfallPart& part : diff.waterfall)
      parts.push_back(
          {{"part", to_string(part.kind)}, {"signature", diff.rows[part.row].signature}, {"us", part.us}});
    Output out(json_, false);
    const json all{{"kernel_us", {diff.total_a, diff.total_b}},
                   {"gap_us", {diff.gaps_a, diff.gaps_b}},
                   {"kernel_bound_us", pair(diff.total_bound_a, diff.total_bound_b)},
                   {"gap_bound_us", pair(diff.gaps_bound_a, diff.gaps_bound_b)},
                   {"kernel_change_interval_percent", {diff.total_change.low, diff.total_change.high}},
                   {"gap_change_interval_percent", {diff.gaps_change.low, diff.gaps_change.high}},
                   {"waterfall", std::move(parts)},
                   {"ops", std::move(rows)}};
    out.append(program::json_text(all, 1) + "\n");
    out.commit();
  }

  RunOptions time_;  // --time
  std::string a_, b_, json_;
  std::vector<std::string> fail_if_;
  double alpha_ = 0.05;
  size_t top_ = 30;
  bool color_ = false, no_color_ = false;
};

}  // namespace

std::unique_ptr<Report> make_diff_report() {
  return std::make_unique<DiffReport>();
}

}  // namespace ttc::tools

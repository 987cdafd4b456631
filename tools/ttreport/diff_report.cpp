// ttreport diff A B: what got slower, and whether that can be said.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/report/ops/run_diff.hpp"
#include "tools/report/text/progress.hpp"
#include "tools/report/text/text_table.hpp"
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
            "exit code 1 when total>P% (kernel time of the run), gaps>P% (between ops), or any>P% (an op "
            "whose\n"
            "mean grew by more, and significantly where there is more than one sample); may be repeated")
        ->check([](const std::string& text) {
          return parse_condition(text)
                     ? std::string()
                     : "'" + text + "' is no condition; give one such as total>5% or any>10%";
        });
    command.add_option("--alpha", alpha_, "a difference is significant when chance brings it less often")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command.add_option("--top", top_, "how many ops; 0: all")->capture_default_str();
    command.add_option("--json", json_, "write the comparison there; - is standard output");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
    command.footer("Exit codes: those of ttreport, and 1 when a condition of --fail-if holds.");
  }

  int run() override {
    RunOptions first, second;
    first.from = {a_};
    second.from = {b_};
    refuse_outputs_over_inputs(first, {json_});
    refuse_outputs_over_inputs(second, {json_});
    const Run a = read_with_progress(first), b = read_with_progress(second);
    const RunDiff diff = compare(table_of(a), table_of(b));
    if (!json_.empty())
      write_json(diff);
    else
      print(diff);
    const int code = std::max(tell(a), tell(b));
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

  std::string holds(const RunDiff& diff, const Condition& c) const {
    char text[96];
    if (c.of != "any") {
      const bool total = c.of == "total";
      const Number grown = total ? growth(diff.total_a, diff.total_b) : growth(diff.gaps_a, diff.gaps_b);
      if (!grown || *grown <= c.percent) return "";
      std::snprintf(text, sizeof text, "it grew by %.2f %%", *grown);
      return text;
    }
    for (const DiffRow& r : diff.rows)
      if (r.change_percent && *r.change_percent > c.percent && (!r.p_value || r.significant(alpha_))) {
        std::snprintf(text, sizeof text, " grew by %.2f %%", *r.change_percent);
        return r.signature + text;
      }
    return "";
  }

  void print(const RunDiff& diff) const {
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    TextTable table({{"Change"},
                     {"A \u03bcs"},
                     {"B \u03bcs"},
                     {"\u00b1A", false, 4},
                     {"\u00b1B", false, 4},
                     {"n A", false, 5},
                     {"n B", false, 5},
                     {"Total \u0394 \u03bcs"},
                     {"p", false, 3},
                     {"", true, 2},
                     {"Op", true, 0, 24}});
    const auto with_sign = [](double value, int decimals) {
      return (value > 0 ? "+" : "") + thousands(value, decimals);
    };
    size_t shown = 0;
    for (const DiffRow& r : diff.rows) {
      if (top_ && shown++ == top_) break;
      const bool sure = r.significant(alpha_);
      const double change = r.change_percent.value_or(0);
      const Ink ink = !r.change_percent    ? Ink::yellow
                      : r.p_value && !sure ? Ink::grey
                      : change > 1         ? Ink::red
                      : change < -1        ? Ink::green
                                           : Ink::plain;
      const std::string word = !r.a.count   ? "new"
                               : !r.b.count ? "gone"
                               : !r.p_value ? "one sample"
                               : sure       ? "significant"
                                            : "within spread";
      char p[32] = "";
      if (r.p_value) std::snprintf(p, sizeof p, "%.3g", *r.p_value);
      table.row({{r.change_percent ? with_sign(change, 1) + " %" : word, ink},
                 {r.a.count ? thousands(r.a.mean, 2) : ""},
                 {r.b.count ? thousands(r.b.mean, 2) : ""},
                 {r.a.count > 1 ? thousands(r.a.deviation, 2) : ""},
                 {r.b.count > 1 ? thousands(r.b.deviation, 2) : ""},
                 {std::to_string(r.a.count)},
                 {std::to_string(r.b.count)},
                 {with_sign(r.total_b - r.total_a, 1)},
                 {p},
                 {word, ink},
                 {r.signature}});
    }
    std::fputs(table.text(static_cast<size_t>(terminal_columns(STDOUT_FILENO, 0)), color).c_str(), stdout);
    const auto line = [&](const char* what, double before, double after) {
      const Number g = growth(before, after);
      std::printf("%s: %s -> %s \u03bcs%s\n", what, thousands(before, 1).c_str(), thousands(after, 1).c_str(),
                  g ? (" (" + with_sign(*g, 2) + " %)").c_str() : "");
    };
    line("\nKernels", diff.total_a, diff.total_b);
    line("Gaps", diff.gaps_a, diff.gaps_b);
  }

  void write_json(const RunDiff& diff) const {
    const auto side = [](const Spread& s, double total) {
      return json{{"count", s.count},  {"mean_us", s.mean}, {"median_us", s.median}, {"std_us", s.deviation},
                  {"min_us", s.least}, {"max_us", s.most},  {"total_us", total}};
    };
    json rows = json::array();
    for (const DiffRow& r : diff.rows)
      rows.push_back({{"signature", r.signature},
                      {"op_code", r.code},
                      {"a", side(r.a, r.total_a)},
                      {"b", side(r.b, r.total_b)},
                      {"change_percent", r.change_percent ? json(*r.change_percent) : json(nullptr)},
                      {"p_value", r.p_value ? json(*r.p_value) : json(nullptr)},
                      {"significant", r.significant(alpha_)}});
    Output out(json_, false);
    const json all{{"kernel_us", {diff.total_a, diff.total_b}},
                   {"gap_us", {diff.gaps_a, diff.gaps_b}},
                   {"ops", std::move(rows)}};
    out.append(program::json_text(all, 1) + "\n");
    out.commit();
  }

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

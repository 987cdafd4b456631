// ttreport summary: a run in a few lines, as `ttcollect run` prints it. With --follow it is made while the capture is still written.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "collector/program/json_text.hpp"
#include "tools/report/ops/run_summary.hpp"
#include "tools/report/zones/marker_bounds.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;
using json = nlohmann::ordered_json;

class SummaryReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    add_time_option(command, options_);
    command.add_option("--start-signpost,--signpost", window_.start_signpost,
                       "what follows the first signpost of this name");
    command.add_option("--end-signpost", window_.end_signpost, "up to the first signpost of this name");
    command.add_flag("--else-all", window_.else_all,
                     "the whole run where there is no such signpost, or no op in between");
    command.add_flag(
        "--follow", options_.follow_files,
        "read a capture while it is written, and print the summary when its writer has ended it");
    command.add_option("--json", json_, "write the figures there; - is standard output");
  }

  int run() override {
    refuse_outputs_over_inputs(options_, {json_});
    options_.table = TableAs::none;
    MarkerBounds markers;
    RunListeners listeners;
    listeners.zones.push_back(&markers);
    listeners.on_clock = [&](std::shared_ptr<const DurationClock> clock) {
      markers.measure_with(std::move(clock));
    };
    const Run run =
        options_.follow_files ? read_run(options_, listeners) : read_with_progress(options_, listeners);
    if (run.kind == InputKind::ops_results)
      return say(ReportExit::kUsage,
                 options_.from[0] + " is a finished table of ops; `ttreport ops` reads it");
    const int code = report_remarks(run);
    RunSummary summary;
    try {
      summary = summarize(run, window_);
    } catch (const UnknownName& e) {
      return refuse_name(code, e);
    }
    for (const std::string& sentence : summary.remarks) say(ReportExit::kOk, sentence);
    if (!json_.empty()) write_json(summary, markers);
    if (json_ != "-") std::fputs((text_of(summary) + text_of(markers)).c_str(), stdout);
    return code;
  }

 private:
  static json figure(const Number& n) { return n ? json(*n) : json(nullptr); }
  static json json_of(const MarkerBounds& b) {
    if (b.markers() == 0) return nullptr;
    const auto share = [&](uint64_t markers) {
      return static_cast<double>(markers) / static_cast<double>(b.markers());
    };
    json widest = nullptr;
    if (const auto w = b.widest())
      widest = {{"device", w->chip}, {"at_s", w->at_s}, {"bound_ns", w->bound_ns}, {"why", w->why}};
    return {{"count", b.markers()},
            {"conditional_share", share(b.conditional())},
            {"hard_share", share(b.hard())},
            {"none_share", share(b.none())},
            {"other_clock_share", share(b.other_clock())},
            {"conditional_bound_ns_p50", figure(b.conditional_bound_ns(0.5))},
            {"conditional_bound_ns_p99", figure(b.conditional_bound_ns(0.99))},
            {"widest_conditional", std::move(widest)}};
  }
  void write_json(const RunSummary& s, const MarkerBounds& markers) const {
    const auto sums = [](const std::map<std::string, RunSummary::Sum>& all) {
      json list = json::array();
      for (const auto& [name, sum] : all)
        list.push_back(
            {{"name", name}, {"device_us", sum.us}, {"bound_us", figure(sum.bound())}, {"count", sum.count}});
      return list;
    };
    json slowest = json::array();
    for (const RunSummary::Single& one : s.slowest)
      slowest.push_back({{"op", one.what},
                         {"process", one.process},
                         {"device_us", one.us},
                         {"bound_us", figure(one.bound_us)}});
    const json whole{{"ops", s.ops},
                     {"devices", s.devices},
                     {"device_us", s.device_us},
                     {"device_bound_us", figure(s.device_bound_us)},
                     {"gap_us", s.gap_us},
                     {"verdict", s.verdict},
                     {"by_op", sums(s.by_op)},
                     {"by_process", sums(s.by_process)},
                     {"slowest", std::move(slowest)},
                     {"slowest_within_bounds", s.slowest_within_bounds},
                     {"marker_bounds", json_of(markers)},
                     {"warning", s.warning.empty() ? json(nullptr) : json(s.warning)}};
    Output out(json_, false);
    out.append(program::json_text(whole, 1) + "\n");
    out.commit();
  }

  RunOptions options_;
  SummaryWindow window_;
  std::string json_;
};

}  // namespace

std::unique_ptr<Report> make_summary_report() {
  return std::make_unique<SummaryReport>();
}

}  // namespace ttc::tools

// ttreport timeline: a window of time as a picture, the same as `ttexport --format svg`.
#include <CLI/CLI.hpp>

#include "collector/program/output_guard.hpp"
#include "tools/output/output.hpp"
#include "tools/pipeline/host_times.hpp"
#include "tools/pipeline/log_frames.hpp"
#include "tools/pipeline/pipeline.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/report/input/op_names.hpp"
#include "tools/ttreport/report.hpp"
#include "tools/viewers/earliest.hpp"
#include "tools/viewers/svg_timeline.hpp"
#include "tools/viewers/timeline.hpp"

namespace ttc::tools {
namespace {

class TimelineReport : public Report {
 public:
  void options(CLI::App& command) override {
    command
        .add_option("--from,input", from_,
                    "live:NAME, FILE.ttc, a device log or a directory of firmware memory; comma lists")
        ->required()
        ->expected(1)
        ->take_all();
    command.add_option(
        "--window", window_,
        "begin after the earliest marker, and length: 2ms,100us; or op:17, zone:NAME#3, step:2;\n"
        "without it the first program");
    command.add_option("--chip", chip_, "one chip only")->check(CLI::NonNegativeNumber);
    command.add_option("--output,-o", output_, "SVG file, complete or absent; - is standard output")
        ->capture_default_str();
  }

  int run() override {
    const auto window = parse_window(window_);
    if (!window) return say(ReportExit::kUsage, "--window " + window_ + " is no window; " + kWindowForms);
    program::refuse_output_over_input(output_, named_sources(from_));
    Filter filter;
    if (chip_ >= 0) filter.chip = static_cast<uint32_t>(chip_);
    FormatOptions options;
    find_window(*window, from_, 0, filter, options);
    const NamedSources named = sorted_sources(from_);
    std::unique_ptr<Source> source = std::make_unique<NoSource>();
    if (!named.others.empty()) source = open_source(named.others, false);
    Output out(output_, false);
    Timeline timeline(std::make_unique<SvgTimeline>(out, options));
    std::vector<std::string> name_remarks;
    report::add_op_names(from_, timeline.op_names(), name_remarks);
    Pipeline pipeline(filter, false, options.metal_date, HostClock::raw);
    for (std::vector<uint64_t> chunk; source->next(chunk) == Source::Next::chunk;)
      pipeline.push(chunk, timeline);
    pipeline.finish(timeline);
    LogFrames frames(filter);
    frames.play_beside(pipeline, true, named.logs, timeline);
    timeline.end();
    const auto complaints = source->complaints();
    const bool whole = complaints.empty() && !frames.damaged() && pipeline.complaint().empty();
    const int code = whole ? ReportExit::kOk : ReportExit::kSourceDamaged;
    const bool absent = chip_ >= 0 && pipeline.markers() == 0 && frames.markers() == 0;
    if (!absent || !whole) out.commit();
    for (const std::string& c : complaints) say(code, c);
    for (const std::string& r : source->remarks()) say(code, r);
    for (const std::string& n : frames.remarks()) say(code, n);
    for (const std::string& n : timeline.remarks()) say(code, n);
    for (const std::string& n : name_remarks) say(code, n);
    if (absent)
      return say(whole ? ReportExit::kUsage : code,
                 "--chip: there is no marker of chip " + std::to_string(chip_) + " in this source");
    return code;
  }

 private:
  std::vector<std::string> from_;
  std::string window_, output_ = "-";
  int chip_ = -1;
};

}  // namespace

std::unique_ptr<Report> make_timeline_report() {
  return std::make_unique<TimelineReport>();
}

}  // namespace ttc::tools

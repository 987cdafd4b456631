// ttreport heatmap: the chip's grid, as text or as a picture.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "collector/program/option_names.hpp"
#include "tools/report/draw/core_heat.hpp"
#include "tools/report/text/text_table.hpp"
#include "tools/ttreport/options.hpp"

namespace ttc::tools {
namespace {

using namespace report;

class HeatmapReport : public Report {
 public:
  void options(CLI::App& command) override {
    add_input_options(command, options_);
    command
        .add_option("--of", what_,
                    "time (in kernels), wait (in programs, without running), imbalance (longer than the\n"
                    "mean core), start (later than the first core)")
        ->check(program::one_of({"time", "wait", "imbalance", "start"}))
        ->capture_default_str();
    command.add_option("--program", program_, "one program only, by its GLOBAL CALL COUNT");
    command.add_option("-o,--output", output_, "picture: FILE.png or FILE.svg; without it text");
    command.add_flag("--color", color_, "colours also into a file or pipe");
    command.add_flag("--no-color", no_color_, "no colours; NO_COLOR does the same");
  }

  int run() override {
    HeatMap map(program_);
    RunListeners listeners;
    listeners.zones.push_back(&map);
    listeners.programs.push_back([&](const auto& op, auto cores) { map.program(op, cores); });
    listeners.on_clock = [&](std::shared_ptr<const DurationClock> clock) {
      map.measure_with(std::move(clock));
    };
    options_.prefer_zones = options_.want_clock = true;
    refuse_outputs_over_inputs(options_, {output_});
    const Run run = read_with_progress(options_, listeners);
    if (run.kind != InputKind::device)
      return say(ReportExit::kUsage,
                 options_.from[0] + " holds no zones; a heat map is made from a capture or a device log");
    const HeatOf what = what_ == "time"        ? HeatOf::time
                        : what_ == "wait"      ? HeatOf::wait
                        : what_ == "imbalance" ? HeatOf::imbalance
                                               : HeatOf::start;
    if (map.chips().empty())  // of a damaged source it is not the question that was wrong
      return say(report_remarks(run) == ReportExit::kOk ? ReportExit::kUsage : ReportExit::kSourceDamaged,
                 program_ ? "no core ran program " + std::to_string(*program_)
                          : std::string("no core ran a kernel"));
    if (!output_.empty()) {
      draw_heat(
          map, what, [&](uint32_t chip) { return run.title(chip); },
          [&](uint32_t chip) { return run.mhz(chip); }, output_);
      return report_remarks(run);
    }
    const bool color = wants_color(STDOUT_FILENO, color_, no_color_);
    for (const auto& [chip, cores] : map.chips())
      std::fputs(heat_text(run.title(chip), cores, what, run.mhz(chip), color).c_str(), stdout);
    return report_remarks(run);
  }

 private:
  RunOptions options_;
  std::string what_ = "time", output_;
  std::optional<uint32_t> program_;
  bool color_ = false, no_color_ = false;
};

}  // namespace

std::unique_ptr<Report> make_heatmap_report() {
  return std::make_unique<HeatmapReport>();
}

}  // namespace ttc::tools

#include "tools/ttreport/options.hpp"

#include <CLI/CLI.hpp>

#include "collector/program/option_names.hpp"
#include "collector/program/option_units.hpp"
#include "collector/program/output_guard.hpp"
#include "collector/program/units.hpp"
#include "tools/report/ops/op_model.hpp"
#include "tools/report/text/progress.hpp"

namespace ttc::tools {

void add_input_options(CLI::App& command, report::RunOptions& o) {
  command
      .add_option(
          "--from,input", o.from,
          "FILE.ttc, live:NAME, a directory of firmware memory, profile_log_device.csv of any year,\n"
          "ops_perf_results*.csv, cpp_device_perf_report.csv, or a report folder. A device log beside a\n"
          "capture brings the chips that the capture does not have")
      ->required();
  command.add_option("--host", o.host,
                     "directory with tracy_ops_data.csv and tracy_ops_times.csv (default: beside the input)");
  command.add_flag("--device-only", o.no_host, "ignore the host's data");
  command
      .add_option("--child-functions", o.children,
                  "A,B: zones of the host in a capture whose time within an op is a column of their own")
      ->delimiter(',');
  program::add_duration_option(command, "--wait",
                               [&o](uint64_t ns) { o.wait_ms = program::milliseconds_of(ns); },
                               "wait up to this long for a live source to appear: 20s", {0});
  program::add_duration_option(
      command, "--for", [&o](uint64_t ns) { o.for_seconds = static_cast<double>(ns) / 1e9; },
      "listen to a live source for this long: 90s (default: what it holds now)");
  command
      .add_option_function<std::string>(
          "--metal-date", [&o](const std::string& text) { o.metal_date = markers::parse_metal_date(text); },
          "YYYY-MM of the workload's tt-metal, for numbers in payloads")
      ->check([](const std::string& text) {
        return markers::parse_metal_date(text)
                   ? std::string()
                   : "'" + text + "' is not a month; give year and month, such as 2026-04";
      });
  command
      .add_option("--threads", o.threads,
                  "of a capture or live source: 1: everything in one thread. From 2 on so many decode what "
                  "the report\n"
                  "takes next, and all but one unpack a capture ahead. The report is the same")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  constexpr program::UnitRange kBudget{1, uint64_t{1} << 40};
  program::add_size_option(command, "--memory", o.budget,
                           "memory for rows before they go to disk (default: 64MiB)", kBudget);
}

void add_time_option(CLI::App& command, report::RunOptions& o) {
  o.want_clock = true;
  command
      .add_option_function<std::string>(
          "--time",
          [&o](const std::string& text) {
            o.time = text == "host" ? report::TimeOf::host : report::TimeOf::device;
          },
          "what durations are: device (default): cycles at the card's nominal rate, as tt-metal writes "
          "them;\n"
          "host: time by the host's clock, from the clock model of a capture")
      ->check(program::one_of({"device", "host"}))
      ->take_last();
}

void add_arch_option(CLI::App& command, std::string& arch) {
  command.add_option("--arch", arch, "wormhole, blackhole, bh20 or n1, if the input does not name it")
      ->take_last()
      ->check([](const std::string& name) {
        return report::architecture(name)
                   ? std::string()
                   : "'" + name +
                         "' is no architecture that peaks are known of; there are wormhole, "
                         "blackhole, bh20 and n1";
      });
}

void refuse_outputs_over_inputs(const report::RunOptions& o, std::initializer_list<std::string> outputs) {
  const std::vector<std::string> inputs = report::input_files(o);
  for (const std::string& output : outputs) program::refuse_output_over_input(output, inputs);
}

report::Run read_with_progress(report::RunOptions& options, const report::RunListeners& listeners) {
  report::Progress bar("reading");
  options.progress = [&bar](double share) { bar(share); };
  report::Run run = report::read_run(options, listeners);
  options.progress = nullptr;
  return run;
}

int refuse_name(int code, const report::UnknownName& e) {
  return say(code == ReportExit::kOk ? ReportExit::kUsage : code, e.what());
}

int report_remarks(const report::Run& run, const report::OpTable& table) {
  const int code = report_remarks(run);
  for (const std::string& sentence : table.remarks) say(ReportExit::kOk, sentence);
  return table.damaged ? ReportExit::kSourceDamaged : code;
}

int report_remarks(const report::Run& run) {
  for (const std::string& sentence : notices(run)) say(ReportExit::kOk, sentence);
  return run.account.damaged ? ReportExit::kSourceDamaged : ReportExit::kOk;
}

}  // namespace ttc::tools

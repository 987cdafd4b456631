#include "tools/ttreport/input_options.hpp"

#include <charconv>

#include "tools/report/text/progress.hpp"

namespace ttc::tools {

bool parse_size(const std::string& text, size_t& bytes) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const unsigned shift = unit.empty() || unit == "B"    ? 0
                         : unit == "K" || unit == "KiB" ? 10
                         : unit == "M" || unit == "MiB" ? 20
                         : unit == "G" || unit == "GiB" ? 30
                                                        : 64;
  if (error != std::errc{} || shift == 64 || number == 0 || number > (uint64_t{1} << 40 >> shift))
    return false;
  bytes = number << shift;
  return true;
}

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
  command.add_flag("--device-only", o.no_host, "leave the host's data aside");
  command.add_option("--wait-ms", o.wait_ms, "wait so long for a live source to appear");
  command
      .add_option("--for", o.for_seconds, "seconds to listen to a live source (default: what it holds now)")
      ->check(CLI::PositiveNumber);
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
      .add_option_function<std::string>(
          "--memory", [&o](const std::string& text) { parse_size(text, o.budget); },
          "for programs whose parts still come (default 64MiB)")
      ->check([](const std::string& text) {
        size_t bytes = 0;
        return parse_size(text, bytes) ? std::string() : "'" + text + "' is no size; give one such as 64MiB";
      });
}

report::Run read_with_progress(report::RunOptions& options, const report::RunListeners& listeners) {
  report::Progress bar("reading");
  options.progress = [&bar](double share) { bar(share); };
  report::Run run = report::read_run(options, listeners);
  options.progress = nullptr;
  return run;
}

int tell(const report::Run& run) {
  for (const std::string& sentence : notices(run)) say(kOk, sentence);
  return run.account.damaged ? kSourceDamaged : kOk;
}

}  // namespace ttc::tools

// ttreport: answers to questions about what was collected. Every report is a subcommand (reports.cpp) in the
// file of its name, which begins with its options; those that all of them share are in options.cpp.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/output.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttreport/report.hpp"

namespace {

using namespace ttc;
using namespace ttc::tools;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 2 wrong usage (also a signpost, zone, program or chip that the source does not have), "
    "3 source cannot be read (no such thing, a needed column is missing, "
    "rows out\nof order that cannot be sorted), 4 source is cut or damaged (rows or cells left out, zones "
    "without their partner and no\n"
    "loss reported there; the report is of what was readable), 5 output failed, 8 anything else (memory, an "
    "error of\n"
    "the system).";

int run(int argc, char** argv) {
  const auto app = program::command_line_of(kTtreport, "Reports on what ttcollect collected.");
  app->footer(kFooter);
  app->require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Report>>> commands;
  for (const ReportEntry& entry : reports()) {
    commands.emplace_back(program::add_command(*app, entry.name, entry.what), entry.make());
    commands.back().second->options(*commands.back().first);
  }
  if (const auto ended = program::parse_command_line(kTtreport, *app, argc, argv)) return *ended;
  try {
    for (const auto& [command, report] : commands)
      if (*command) return report->run();
  } catch (const SourceError& e) {
    return say(ReportExit::kNoSource, e.what());
  } catch (const OutputError& e) {
    return say(ReportExit::kOutput, e.what());
  }
  return ReportExit::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  ttc::program::heap_of_large_pages();
  return ttc::program::run_program(kTtreport, [&] { return run(argc, argv); });
}

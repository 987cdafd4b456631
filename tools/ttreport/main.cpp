// ttreport: answers to questions about what was collected. Every report is a subcommand (reports.cpp).
#include <utility>
#include <vector>

#include "tools/pipeline/output.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttreport/report.hpp"

int main(int argc, char** argv) {
  using namespace ttc::tools;
  CLI::App app("Reports on what ttcollect collected.", "ttreport");
  app.footer(
      "Exit codes: 0 ok, 2 wrong usage, 3 source cannot be read, 4 source is cut or damaged (the report is "
      "of "
      "what was\nreadable), 5 output failed.");
  app.set_version_flag("--version", "ttreport " TTC_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Report>>> commands;
  for (const ReportEntry& entry : reports()) {
    commands.emplace_back(app.add_subcommand(entry.name, entry.what), entry.make());
    commands.back().second->options(*commands.back().first);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  try {
    for (const auto& [command, report] : commands)
      if (*command) return report->run();
  } catch (const SourceError& e) {
    return say(kNoSource, e.what());
  } catch (const OutputError& e) {
    return say(kOutput, e.what());
  }
  return kUsage;
}

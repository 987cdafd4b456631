#include "tools/ttmon/options.hpp"

#include <CLI/CLI.hpp>

#include "collector/program/option_units.hpp"
#include "tools/ttmon/segments.hpp"

namespace ttc::tools {
namespace {

constexpr program::UnitRange kInterval{50'000'000, 3'600'000'000'000};
constexpr program::UnitRange kLooks{100'000, 1'000'000'000};

void add_top(CLI::App& app, MonitorOptions& o) {
  o.top_command = program::add_command(app, "top", "which zones and programs take the time");
  CLI::App& top = *o.top_command;
  top.add_option("name", o.top.from, "live names, or --from (default: every live collector)");
  top.add_option("--from", o.top.from, "live:NAME or FILE.ttc")->expected(1)->take_all();
  top.add_option("--rows", o.top.rows, "of each table")->check(CLI::Range(1u, 1000u))->capture_default_str();
  program::add_duration_option(top, "--interval", o.top.interval_ns,
                               "time between two showings (default: 1s)", kInterval);
  top.add_flag("--once", o.top.once, "of everything there is now, then end");
  top.add_flag("--json", o.top.json, "one JSON object a showing");
}

void add_profilers(CLI::App& app, MonitorOptions& o) {
  o.profilers_command = program::add_command(
      app, "profilers", "profilers on a card that ttcollect does not collect from, observed from outside");
  CLI::App& profilers = *o.profilers_command;
  profilers.add_option("--device,-d", o.profilers.device, "the card, as for ttcollect")->required();
  program::add_duration_option(profilers, "--for", o.profilers.for_ns, "how long (default: 2s)");
  program::add_duration_option(profilers, "--interval", o.profilers.every_ns,
                               "time between two polls (default: 1ms)", kLooks);
  profilers.add_flag("!--no-search", o.profilers.search,
                     "do not read all L1 of tiles for the real-time profiler's ring");
  profilers.add_option("--trace", o.profilers.trace,
                       "write fill, stalls and records to this JSON file, which Perfetto opens");
  profilers.add_flag("--json", o.profilers.json, "one JSON object");
}

}  // namespace

void add_options(CLI::App& app, MonitorOptions& o) {
  app.footer(
      "Exit codes: 0 ok, 2 wrong usage, 3 no such segment or card, 5 standard output or --trace cannot be "
      "written, 8 anything else\n"
      "(memory, an error of the system).\n"
      "On a terminal: h shows the keys. NO_COLOR and TERM=dumb are obeyed; a pipe gets text.");
  app.add_option("name", o.monitor.names,
                 "live names, with or without live: (default: every live collector)");
  app.add_flag("--once", o.monitor.once, "two samples, 0.3 s apart, as text, then end; with --json one");
  app.add_flag("--json", o.monitor.json, "every counter: one JSON object a line, one line a collector");
  app.add_flag("--profilers", o.monitor.profilers,
               "search the cards for other profilers too (key o); reads L1 of all Tensix tiles once");
  program::add_duration_option(app, "--interval", o.monitor.interval_ns,
                               "time between two polls (default: 500ms)", kInterval);
  add_top(app, o);
  add_profilers(app, o);
}

void complete(MonitorOptions& o) {
  for (std::string& name : o.monitor.names)
    if (name.starts_with("live:")) name.erase(0, 5);
  o.shows_top = bool{*o.top_command};
  o.shows_profilers = bool{*o.profilers_command};
  if (!o.shows_top) return;
  if (o.top.from.empty()) o.top.from = all_collectors();
  for (std::string& from : o.top.from)
    if (!from.starts_with("live:") && !from.ends_with(".ttc")) from.insert(0, "live:");
}

}  // namespace ttc::tools

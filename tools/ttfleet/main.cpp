// ttfleet: op rows and commands of many hosts over NATS.
#include <CLI/CLI.hpp>
#include <array>
#include <csignal>

#include "tools/output/output.hpp"
#include "tools/ttfleet/commands.hpp"

namespace {

using namespace ttc;
using Exit = program::FleetExit;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 a rank did not answer or could not do it, 2 wrong usage, 3 no such ring or capture, "
    "or "
    "a spool\n"
    "that cannot be used, 4 the bus cannot be reached or refuses it, 5 output failed, 6 rows remain in the "
    "spool for "
    "the next\n"
    "agent, 8 anything else (memory, an error of the system).";

volatile std::sig_atomic_t stop = 0;

struct Row {
  const char *name, *what;
  void (*add)(CLI::App&, fleet::Options&);
  int (*run)(const fleet::Options&);
};

constexpr std::array kCommands{
    Row{"agent",
        "publish what a collector on this host reads, and execute commands (ttcollect --publish starts one)",
        fleet::add_agent_options, [](const fleet::Options& o) { return fleet::agent_command(o, stop); }},
    Row{"setup", "make the stream that rows are stored in", fleet::add_setup_options, fleet::setup_command},
    Row{"ls", "ranks of a job, with their clocks and accounts", fleet::add_ls_options, fleet::ls_command},
    Row{"watch", "the same again and again, and triggers that fire", fleet::add_watch_options,
        [](const fleet::Options& o) { return fleet::watch_command(o, stop); }},
    Row{"dump", "cut every rank's flight recorder at one instant, and gather the captures",
        fleet::add_dump_options, [](const fleet::Options& o) { return fleet::dump_command(o, stop); }},
    Row{"gather", "fetch the captures of an earlier dump", fleet::add_gather_options,
        [](const fleet::Options& o) { return fleet::gather_command(o, stop); }},
    Row{"trigger", "arm conditions that dump all ranks; without options, those that are armed",
        fleet::add_trigger_options, fleet::trigger_command},
    Row{"report",
        "accounts, ops and cards that hold steps up, of a job on the bus or of captures; also as SQLite",
        fleet::add_report_options, [](const fleet::Options& o) { return fleet::report_command(o, stop); }},
};

int run(int argc, char** argv) {
  const auto app = program::command_line_of(
      fleet::kTtfleet, "Op rows, losses and clocks of many hosts over NATS, and commands to them.");
  app->footer(kFooter);
  app->require_subcommand(1);
  std::array<fleet::Options, kCommands.size()> options;
  std::array<CLI::App*, kCommands.size()> commands{};
  for (size_t i = 0; i < kCommands.size(); ++i) {
    commands[i] = program::add_command(*app, kCommands[i].name, kCommands[i].what);
    kCommands[i].add(*commands[i], options[i]);
  }
  if (const auto ended = program::parse_command_line(fleet::kTtfleet, *app, argc, argv)) return *ended;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, [](int) { stop = 1; });
  try {
    for (size_t i = 0; i < kCommands.size(); ++i)
      if (*commands[i]) return kCommands[i].run(options[i]);
  } catch (const fleet::BusError& e) {
    return program::say(fleet::kTtfleet, Exit::kBus, e.what());
  } catch (const tools::OutputError& e) {
    return program::say(fleet::kTtfleet, Exit::kOutput, e.what());
  }
  return Exit::kOk;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = ttc::program::run_program(ttc::fleet::kTtfleet, [&] { return run(argc, argv); });
  ttc::fleet::end_bus_threads();
  return code;
}

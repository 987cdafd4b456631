// ttdelay: experiments with tt-metal's debug delays.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <string_view>

#include "tools/output/output.hpp"
#include "tools/ttdelay/commands.hpp"
#include "tools/ttdelay/run/folder.hpp"
#include "tools/ttdelay/run/journal.hpp"
#include "tools/ttdelay/run/processes.hpp"

namespace {

using namespace ttc;
using Exit = program::DelayExit;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 all runs were made and some are in no average (report has the reasons), 2 wrong "
    "usage or a "
    "wrong plan,\n"
    "3 no folder of an experiment, or a workload that cannot be started or built, 4 stopped because the card "
    "hung or is\n"
    "not well, 5 output failed, 6 interrupted (the same command continues), 8 anything else (memory, an "
    "error "
    "of the system).";

std::atomic<bool> stop{false};

int run(int argc, char** argv) {
  const auto app = program::command_line_of(
      delay::kTtdelay, "Experiments with tt-metal's debug delays: who waits for whom, and what breaks.");
  app->footer(kFooter);
  app->require_subcommand(1);
  delay::Options options;
  CLI::App* const plan =
      program::add_command(*app, "plan", "the runs of an experiment, in their order, with their environment");
  CLI::App* const make = program::add_command(*app, "run", "make the runs, or those that are not made yet");
  CLI::App* const report = program::add_command(*app, "report", "evaluate the runs");
  delay::add_plan_options(*plan, options);
  delay::Options of_run, of_report;
  delay::add_run_options(*make, of_run);
  delay::add_report_options(*report, of_report);
  char** const end =
      std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (const auto ended =
          program::parse_command_line(delay::kTtdelay, *app, static_cast<int>(end - argv), argv))
    return *ended;
  if (end != argv + argc) options.plan.command.assign(end + 1, argv + argc);
  of_run.plan.command = options.plan.command;
  const auto say = [](int code, const std::exception& e) {
    return program::say(delay::kTtdelay, code, e.what());
  };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, [](int) { stop = true; });
  try {
    if (*plan) return delay::plan_command(options);
    return *make ? delay::run_command(of_run, stop) : delay::report_command(of_report);
  } catch (const delay::PlanError& e) {
    return say(Exit::kUsage, e);
  } catch (const delay::FolderError& e) {
    return say(*make ? Exit::kUsage : Exit::kNoSource, e);
  } catch (const delay::JournalError& e) {
    return say(*make ? Exit::kOutput : Exit::kNoSource, e);
  } catch (const delay::StartError& e) {
    return say(Exit::kNoSource, e);
  } catch (const tools::OutputError& e) {
    return say(Exit::kOutput, e);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ttc::program::run_program(ttc::delay::kTtdelay, [&] { return run(argc, argv); });
}

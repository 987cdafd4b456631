// ttmon: running collectors, straight from their segments; costs them nothing.
#include <csignal>

#include "driver_iface/card.hpp"
#include "shm/reader.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttmon/options.hpp"

namespace {

using namespace ttc;
using tools::kTtmon;

volatile std::sig_atomic_t stop_asked = 0;

int run(int argc, char** argv) {
  const auto app = program::command_line_of(kTtmon, "Shows what collectors and their cards do.");
  tools::MonitorOptions options;
  tools::add_options(*app, options);
  if (const auto ended = program::parse_command_line(kTtmon, *app, argc, argv)) return *ended;
  try {
    tools::complete(options);
    // SA_RESTART is not set: a signal ends a wait at once.
    struct sigaction stop {};
    stop.sa_handler = [](int) { stop_asked = 1; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &stop, nullptr);
    if (options.shows_profilers)
      tools::show_profilers(options.profilers, stop_asked);
    else if (options.shows_top)
      tools::show_top(options.top, stop_asked);
    else
      tools::monitor(options.monitor, stop_asked);
    return tools::MonitorExit::kOk;
  } catch (const shm::SegmentError& e) {
    return program::say(kTtmon, tools::MonitorExit::kNoSource, e.what());
  } catch (const card::OpenError& e) {
    return program::say(kTtmon, tools::MonitorExit::kNoSource, e.what());
  } catch (const tools::TraceError& e) {
    return program::say(kTtmon, tools::MonitorExit::kOutput, e.what());
  } catch (const tools::SourceError& e) {
    return program::say(kTtmon, tools::MonitorExit::kNoSource, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ttc::program::run_program(kTtmon, [&] { return run(argc, argv); });
}

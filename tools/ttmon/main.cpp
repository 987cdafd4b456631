// ttmon: the counters of a running collector, straight from its segment; costs the collector nothing.
#include <csignal>

#include "shm/reader.hpp"
#include "tools/pipeline/source.hpp"
#include "tools/ttmon/options.hpp"

namespace {

using namespace ttc;
using tools::kTtmon;

volatile std::sig_atomic_t stop_asked = 0;

int run(int argc, char** argv) {
  const auto app = program::command_line_of(kTtmon, "Shows the counters of collectors.");
  tools::MonitorOptions options;
  tools::add_options(*app, options);
  if (const auto ended = program::parse_command_line(kTtmon, *app, argc, argv)) return *ended;
  try {
    tools::complete(options);
    std::signal(SIGINT, [](int) { stop_asked = 1; });
    if (options.shows_top)
      tools::show_top(options.top, stop_asked);
    else
      tools::show_counters(options.counters, stop_asked);
    return tools::MonitorExit::kOk;
  } catch (const shm::SegmentError& e) {
    return program::say(kTtmon, tools::MonitorExit::kNoSource, e.what());
  } catch (const tools::SourceError& e) {
    return program::say(kTtmon, tools::MonitorExit::kNoSource, e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ttc::program::run_program(kTtmon, [&] { return run(argc, argv); });
}

// ttcollect: collects device-profiler markers beside a running workload.
#include <malloc.h>

#include "collector/run/run_command.hpp"
#include "collector/ttcollect/capture_commands.hpp"
#include "collector/ttcollect/commands.hpp"
#include "collector/ttcollect/program.hpp"

namespace {

using namespace ttc;
using collect::kTtcollect;

int run(int argc, char** argv) {
  const auto app = program::command_line_of(
      kTtcollect, "Collects device-profiler markers from Tenstorrent cards beside a running workload.");
  collect::CommandLine line;
  collect::add_options(*app, line);
  collect::CaptureCommands capture_commands(*app);
  collect::RunCommand run_command(*app);
  std::vector<char*> words = run_command.without_workload(argc, argv);
  const int count = static_cast<int>(words.size());
  if (const auto ended = program::parse_command_line(kTtcollect, *app, count, words.data())) return *ended;
  if (const auto code = run_command.run()) return *code;
  if (const auto done = capture_commands.run()) return *done;
  return collect::run_command(line);
}

}  // namespace

int main(int argc, char** argv) {
  // Blocks of a capture are given back to the kernel as soon as they are written: left to itself the C
  // library learns to keep such large pieces, and memory would stay at what one slow moment of a disk had
  // needed.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  return ttc::program::run_program(kTtcollect, [&] { return run(argc, argv); });
}

// The command line of ttcollect, but for the commands on captures (capture_commands.hpp).
#pragma once
#include <string>
#include <vector>

#include "collector/ttcollect/capture_options.hpp"
#include "collector/ttcollect/run.hpp"

namespace CLI {
class App;
}

namespace ttc::collect {

struct CommandLine {
  RunOptions run;
  std::vector<std::string> typed_devices;
  TypedCapture capture;
  std::string mode, cpus, link_share, recycle_at = "50%";
  uint64_t idle_ns = 1'000'000, busy_ns = 50'000;
  bool as_json = false;

  CLI::App* list = nullptr;
  bool list_json = false;
  std::string root;

  CLI::App* doctor = nullptr;
  bool doctor_json = false;
  std::string doctor_root;
  int doctor_pid = 0;

  CLI::App* probe = nullptr;
  std::string probed;
  uint32_t samples = 1000;
  bool probe_json = false;

  CLI::App* clean = nullptr;

  CLI::App* selftest = nullptr;
  std::string tested;
  uint64_t test_ns = 300'000'000'000;
  bool selftest_json = false, selftest_list = false, test_until_contradicted = false;
  bool test_reference_timer = false;

  CLI::App* sync = nullptr;
  std::string svg;
};

// `line` outlives the parsing of `app`.
void add_options(CLI::App& app, CommandLine& line);
// Completes line.run. Throws program::UsageError.
void complete(CommandLine& line);

}  // namespace ttc::collect

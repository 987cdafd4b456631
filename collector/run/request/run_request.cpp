#include "collector/run/request/run_request.hpp"

#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "collector/program/program.hpp"

namespace ttc::collect {
namespace {

constexpr const char* kProfiler = "TT_METAL_DEVICE_PROFILER";
constexpr const char* kDirectory = "TT_METAL_PROFILER_DIR";
constexpr const char* kTracyPort = "TRACY_PORT";

// What a Tracy client records of the machine beside context switches, where it may.
constexpr const char* kOtherSysTraces[] = {"TRACY_NO_SAMPLING", "TRACY_NO_SAMPLE_RETIREMENT",
                                           "TRACY_NO_SAMPLE_CACHE", "TRACY_NO_SAMPLE_BRANCH",
                                           "TRACY_NO_VSYNC_CAPTURE"};

constexpr SwitchVariable kSwitches[] = {
    {"--profile-dispatch-cores", "TT_METAL_DEVICE_PROFILER_DISPATCH", "also profile dispatch cores"},
    {"--sync-host-device", "TT_METAL_PROFILER_SYNC",
     "let tt-metal relate clocks itself; our own clock model needs it not"},
    {"--enable-sum-profiling", "TT_METAL_PROFILER_SUM", "sums of repeated zones"},
    {"--no-op-info-cache", "TT_METAL_PROFILER_NO_CACHE_OP_INFO", "full description with every op"},
    {"--device-trace-profiler", "TT_METAL_TRACE_PROFILER", "only replays of traces are recorded"},
    {"--device-memory-profiler", "TT_METAL_MEM_PROFILER", "record buffers of the device"},
    {"--dump-device-data-mid-run", "TT_METAL_PROFILER_MID_RUN_DUMP", "tt-metal reads its logs in between"},
    {"--disable-device-data-dump-to-files", "TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES",
     "tt-metal writes no device log of its own"},
    {"--disable-device-data-push-to-tracy", "TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY",
     "tt-metal sends no device zones to Tracy"},
};

struct CounterGroup {
  const char* name;
  uint32_t bits;
};
// tt-metal tools/tracy/__main__.py, late 2025 to 2026. l1_2 to l1_4 are of Blackhole.
constexpr CounterGroup kCounterGroups[] = {
    {"fpu", 1},     {"pack", 2},  {"unpack", 4}, {"l1_0", 8},   {"l1_1", 16},
    {"instrn", 32}, {"l1_2", 64}, {"l1_3", 128}, {"l1_4", 256}, {"all", 1 + 2 + 4 + 8 + 32},
};

class Planner {
 public:
  Planner(const Environment& given, EnvironmentPlan& plan) : given_(given), plan_(plan) {}

  // `by`: the option that needs it; empty: every run does.
  void want(const std::string& variable, const std::string& value, const std::string& by) {
    const auto there = given_.find(variable);
    if (there == given_.end()) {
      plan_.set.emplace_back(variable, value);
      return;
    }
    if (there->second == value) return;
    plan_.sentences.push_back(variable + "=" + there->second + " is set in the environment and stays; " +
                              (by.empty() ? "a run sets " : by + " would set ") + value);
  }
  void take_away(const std::string& variable, const std::string& why) {
    if (!given_.contains(variable)) return;
    plan_.unset.push_back(variable);
    plan_.sentences.push_back(variable + "=" + given_.at(variable) + " is unset for the workload: " + why);
  }

 private:
  const Environment& given_;
  EnvironmentPlan& plan_;
};

}  // namespace

std::span<const SwitchVariable> switch_variables() {
  return kSwitches;
}

std::vector<std::string> words_to_execute(const std::vector<std::string>& command) {
  std::error_code none;
  if (command.size() != 1 || command[0].find_first_of(" \t\n;|&<>$") == std::string::npos ||
      std::filesystem::exists(command[0], none))
    return command;
  return {"/bin/sh", "-c", command[0]};
}

Environment own_environment() {
  Environment all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return all;
}

void set_range(const std::string& text, RunRequest& request) {
  const auto number = [&](const std::string& part) -> std::optional<uint64_t> {
    if (part.empty()) return std::nullopt;
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size())
      throw program::UsageError("--range " + text + ": '" + part +
                                "' is no number of a step, as in --range 3..5");
    return value;
  };
  const size_t dots = text.find("..");
  if (dots == std::string::npos || text.size() == 2)
    throw program::UsageError("--range " + text + ": it is A..B, A.. or ..B, with numbers of steps");
  request.first_step = number(text.substr(0, dots));
  request.last_step = number(text.substr(dots + 2));
  if (request.first_step && request.last_step && *request.first_step > *request.last_step)
    throw program::UsageError("--range " + text + " ends before it begins");
  if (request.first_step) request.paused = true;
  request.window_of_range = request.start_signpost.empty() && request.end_signpost.empty();
  if (request.first_step && request.start_signpost.empty())
    request.start_signpost = "step_" + std::to_string(*request.first_step) + "_start";
  if (request.last_step && request.end_signpost.empty())
    request.end_signpost = "step_" + std::to_string(*request.last_step) + "_end";
}

uint32_t perf_counter_bits(const std::string& groups) {
  uint32_t bits = 0;
  for (size_t from = 0; from <= groups.size();) {
    const size_t comma = std::min(groups.find(',', from), groups.size());
    const std::string group = groups.substr(from, comma - from);
    const CounterGroup* found = nullptr;
    std::string known;
    for (const CounterGroup& g : kCounterGroups) {
      if (!known.empty()) known.append(", ");
      known.append(g.name);
      if (group == g.name) found = &g;
    }
    if (!found) {
      std::string why = "--profiler-capture-perf-counters: '";
      why.append(group).append("' is no group of counters; there are ").append(known);
      throw program::UsageError(why);
    }
    bits |= found->bits;
    from = comma + 1;
  }
  return bits;
}

EnvironmentPlan plan_environment(const RunRequest& request, const Environment& given,
                                 const std::string& root) {
  EnvironmentPlan plan;
  Planner planner(given, plan);
  planner.take_away(kTracyPort, "several processes cannot share one port, and each finds one by itself");
  if (request.no_device)
    planner.take_away(kProfiler, "--no-device");
  else
    planner.want(kProfiler, "1", {});
  planner.want("TTNN_OP_PROFILER", "1", {});
  planner.want("TT_METAL_PROFILER_TRACE_TRACKING", "1", {});
  if (request.context_switches)
    for (const char* name : kOtherSysTraces) planner.want(name, "1", "--context-switches");
  else
    planner.want("TRACY_NO_SYS_TRACE", "1", {});
  planner.want(kDirectory, root, request.root.empty() ? "" : "-o");
  for (size_t i = 0; i < request.switches.size(); ++i)
    if (request.switches[i]) planner.want(kSwitches[i].variable, "1", kSwitches[i].option);
  if (request.programs_per_core)
    planner.want("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", std::to_string(request.programs_per_core),
                 "--op-support-count");
  if (request.noc_traces) {
    planner.want("TT_METAL_DEVICE_PROFILER_NOC_EVENTS", "1", "--collect-noc-traces");
    planner.want("TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH", root + "/.logs", "--collect-noc-traces");
  }
  if (!request.perf_counters.empty())
    planner.want("TT_METAL_PROFILE_PERF_COUNTERS", std::to_string(perf_counter_bits(request.perf_counters)),
                 "--profiler-capture-perf-counters");
  return plan;
}

std::string artifacts_root(const RunRequest& request, const Environment& given, const std::string& here) {
  std::filesystem::path root = request.root;
  if (root.empty()) root = value_in(given, kDirectory);
  if (root.empty()) {
    const std::string home = value_in(given, "TT_METAL_HOME");
    root = (home.empty() ? std::filesystem::path() : std::filesystem::path(home)) / "generated" / "profiler";
  }
  std::filesystem::path whole = (std::filesystem::path(here) / root).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  return whole.string();
}

}  // namespace ttc::collect

#include "collector/attach/absence.hpp"

#include <cstdlib>

#include "collector/host/process_environment.hpp"

namespace ttc::collect {
namespace {

// The variables that make tt-metal compile the profiler into its kernels. The first two count as set when
// they begin with 1, the third is a number (tt-metal llrt/rtoptions.cpp).
bool switched_on(const Environment& env) {
  return value_in(env, "TT_METAL_DEVICE_PROFILER").starts_with('1') ||
         value_in(env, "TT_METAL_DEVICE_PROFILER_NOC_EVENTS").starts_with('1') ||
         std::strtoul(value_in(env, "TT_METAL_PROFILE_PERF_COUNTERS").c_str(), nullptr, 0) != 0;
}

constexpr const char* kSwitches =
    "TT_METAL_DEVICE_PROFILER=1 (TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1 and TT_METAL_PROFILE_PERF_COUNTERS "
    "switch it on as well)";

std::string not_set_up(const std::string& evidence, int pid) {
  const std::string workload = "the workload (pid " + std::to_string(pid) + ")";
  if (pid <= 0)
    return "the profiler is off or not initialised yet (" + evidence +
           "), and no workload is known on this card; start one with " + kSwitches +
           "; --wait 30s waits for it";
  const auto env = environment_of(pid);
  if (!env)
    return "the profiler is off or not initialised yet (" + evidence + "), and the environment of " +
           workload + " is not ours to read; it must have been started with " + kSwitches +
           "; --wait 30s waits for it";
  if (switched_on(*env))
    return "the profiler is not initialised yet (" + evidence + "), though " + workload +
           " was started with it switched on; --wait 30s waits until its device is open";
  return "the profiler is off (" + evidence + "): " + workload + " was started without " + kSwitches +
         "; start it again with that in its environment, --wait 30s waits for it";
}

}  // namespace

std::string why_absent(const markers::Discovery& refused, const std::string& where, int workload_pid) {
  const std::string evidence = where + ": " + markers::joined(refused.evidence);
  if (refused.known_as == markers::kProfilerOff) return not_set_up(evidence, workload_pid);
  if (!refused.known_as.empty())
    return "what runs there is another profiler or mode, known and not read (" + evidence + ")";
  if (workload_pid <= 0)
    return "the profiler is off or not initialised (" + evidence +
           "), and no workload is known on this card; start one with " + kSwitches +
           ", --wait 30s waits for it. Should one be running, its firmware is not known here: --layout help "
           "lists the "
           "generations that can be named";
  return "unknown firmware, or firmware of before 2026 with its profiler off (" + evidence +
         "); is the workload running with TT_METAL_DEVICE_PROFILER=1? --wait 30s waits for it, --layout help "
         "lists the generations that can be named";
}

std::string workload_unseen(int workload_pid) {
  const std::string who = workload_pid > 0
                              ? "the workload (pid " + std::to_string(workload_pid) + ") cannot be read"
                              : "the workload's process is not visible to this user";
  return who +
         " from here (another user's, or another PID namespace), so its zones have numbers instead of names, "
         "and "
         "its command line and variables are not recorded; --metal-home DIR names the directory of its zone "
         "logs";
}

}  // namespace ttc::collect

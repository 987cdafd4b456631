// Whether what runs can be profiled, and in which mode it runs. Rules of tt-metal: llrt/rtoptions.cpp (what is fatal together),
// impl/profiler (where zone logs are), and for combinations that do not fit the public threads named below.
#include <algorithm>

#include "collector/doctor/findings.hpp"
#include "collector/doctor/look/variables.hpp"

namespace ttc::collect::doctor {
namespace {

bool holds_node(const ProcessState& p) {
  return std::any_of(p.holds.begin(), p.holds.end(),
                     [](const std::string& c) { return c.starts_with("/dev/"); });
}

bool listens(const MachineState& machine, int pid) {
  return std::any_of(machine.listeners.begin(), machine.listeners.end(),
                     [&](const Listener& l) { return l.pid == pid; });
}

// A build without Tracy cannot profile at all.
bool find_no_tracy(const MachineState& machine, const ProcessState& p, Findings& found) {
  if (p.metal_library.empty() || p.tracy_library || listens(machine, p.pid)) return false;
  if (!p.metal_lacks_tracy) return false;
  Finding f = about(p, "built-without-tracy", Weight::stops);
  f.what = "tt-metal of " + who(p) + " is built without Tracy, so it has no device profiler";
  f.evidence = "/proc/" + std::to_string(p.pid) + "/maps: " + p.metal_library +
               ", which holds the refusal of such builds; no Tracy library is mapped, no port of 8086 to "
               "8105 is listened on";
  f.cause = "the build had ENABLE_TRACY=OFF, or was given --disable-profiler";
  f.fix = "build tt-metal with ./build_metal.sh (Tracy is its default since 2025; before: --enable-profiler)";
  found.push_back(std::move(f));
  return true;
}

void find_profiler_off(const ProcessState& p, Findings& found) {
  if (p.metal_library.empty() || !holds_node(p) || !p.environment || profiler_on(*p.environment)) return;
  if (value_in(*p.environment, "TT_METAL_STREAMING_PROFILER").starts_with('1'))
    return;  // a finding of its own
  Finding f = about(p, "profiler-off", Weight::stops);
  f.what = who(p) + " runs without the device profiler";
  f.evidence = held(p) + "; none of the variables that switch it on is in its environment";
  f.cause =
      "the profiler is compiled into kernels when they are built, so it cannot be switched on in a process "
      "that runs";
  f.fix = "start it again with TT_METAL_DEVICE_PROFILER=1";
  found.push_back(std::move(f));
}

void find_other_profilers(const MachineState& machine, const ProcessState& p, Findings& found) {
  const bool streaming = value_in(*p.environment, "TT_METAL_STREAMING_PROFILER").starts_with('1');
  if (streaming && !profiler_on(*p.environment)) {  // with both it is refused (find_exclusions)
    Finding f = about(p, "streaming-profiler", Weight::stops);
    f.what = who(p) + " runs the streaming profiler, which excludes the one that ttcollect reads";
    f.evidence = held(p) + "; TT_METAL_STREAMING_PROFILER=1 in its environment";
    f.cause = "its rings are emptied by relays on the card; a second consumer would corrupt them";
    const auto wormhole = std::find_if(machine.cards.begin(), machine.cards.end(), [&](const CardState& c) {
      return c.function.arch == "wormhole_b0" && c.function.node == f.card;
    });
    if (wormhole != machine.cards.end())
      f.cause += ". On Wormhole it has no relays: no marker is recorded at all";
    f.fix = "start it again with TT_METAL_DEVICE_PROFILER=1 instead of TT_METAL_STREAMING_PROFILER=1";
    found.push_back(std::move(f));
  }
  if (!value_in(*p.environment, "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED").starts_with('1')) return;
  Finding f = about(p, "debug-dump", Weight::stops);
  f.what = who(p) + " runs in debug dump mode, which uses the profiler's buffers for something else";
  f.evidence = held(p) + "; TT_METAL_DEVICE_DEBUG_DUMP_ENABLED=" +
               value_in(*p.environment, "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED") + " in its environment";
  f.cause = "the host reads and resets the buffers all the time, and their words are NoC records";
  f.fix = "start it again without that variable";
  found.push_back(std::move(f));
}

bool any_starts_with(const Environment& environment, const std::string& prefix, const std::string& suffix,
                     std::string& which) {
  for (const auto& [name, value] : environment)
    if (name.starts_with(prefix) && name.ends_with(suffix) && known_variable(name) && !value.empty()) {
      which = name;
      which.append("=").append(value);
      return true;
    }
  return false;
}

void find_exclusions(const ProcessState& p, Findings& found) {
  const Environment& e = *p.environment;
  if (!profiler_on(e)) return;
  std::string print;
  if (any_starts_with(e, "TT_METAL_DPRINT_", "CORES", print)) {
    Finding f = about(p, "profiler-and-dprint", Weight::stops);
    f.what = who(p) + " was started with profiler and debug print, which exclude each other";
    f.evidence = held(p) + "; " + print + " beside the profiler's variable in its environment";
    f.cause =
        "both use the same words of L1; tt-metal ends with \"Cannot enable both debug printing and "
        "profiling\"";
    f.fix = "start it with env -u " + print.substr(0, print.find('='));
    found.push_back(std::move(f));
  }
  if (value_in(e, "TT_METAL_STREAMING_PROFILER").starts_with('1')) {
    Finding f = about(p, "two-profilers", Weight::stops);
    f.what = who(p) + " was started with the streaming and the classic profiler";
    f.evidence = held(p) + "; both variables are in its environment";
    f.cause = "tt-metal refuses the two together";
    f.fix = "start it with env -u TT_METAL_STREAMING_PROFILER";
    found.push_back(std::move(f));
  }
  if (!watcher_on(e)) return;
  Finding f = about(p, "profiler-and-watcher", Weight::spoils);
  f.what = who(p) + " runs with profiler and watcher";
  f.evidence = held(p) + "; TT_METAL_WATCHER=" + value_in(e, "TT_METAL_WATCHER") +
               " beside the profiler's variable in its environment";
  f.cause =
      "it is permitted, but the firmware of both seldom fits (\"region overflowed\"; tt-metal issues "
      "37013, 19857), the watcher polls every core over PCIe and switches DMA off, and times are not those "
      "of a run without it";
  f.fix = "two runs: start this one with env -u TT_METAL_WATCHER";
  found.push_back(std::move(f));
}

void find_replaced_library(const ProcessState& p, Findings& found) {
  if (!p.metal_replaced) return;
  Finding f = about(p, "library-replaced", Weight::spoils);
  f.what = who(p) + " runs a tt-metal library that is no longer there";
  f.evidence = "/proc/" + std::to_string(p.pid) + "/maps: " + p.metal_library + " (deleted)";
  f.cause =
      "tt-metal was built or installed again while it runs; kernels it compiles from now on are of the new "
      "sources";
  f.fix = "start it again";
  found.push_back(std::move(f));
}

// The library is of one tree, and the sources of kernels that it compiles are of another.
void find_other_home(const ProcessState& p, Findings& found) {
  if (p.metal_library.empty() || p.metal_home.empty() || p.metal_library.starts_with(p.metal_home + "/"))
    return;
  Finding f = about(p, "metal-home-differs", Weight::spoils);
  f.what = who(p) + " runs tt-metal of one tree with the kernel sources of another";
  f.evidence = "/proc/" + std::to_string(p.pid) + "/maps: " + p.metal_library + "; " + p.metal_home_from +
               "=" + p.metal_home + " in its environment, which is there";
  f.cause =
      "firmware and kernels are compiled from the sources that the variable names; where the two trees are "
      "of different "
      "versions, layouts of mailbox and profiler differ between host and card";
  f.fix = "start it with env -u " + p.metal_home_from + ", or with the tree that the library is from";
  found.push_back(std::move(f));
}

void find_packages(const ProcessState& p, Findings& found) {
  for (size_t i = 1; i < p.packages.size(); ++i) {
    const auto& [name, version] = p.packages[i];
    const auto& [before, earlier] = p.packages[i - 1];
    if (name != before || version == earlier) continue;
    Finding f = about(p, "package-twice", Weight::spoils);
    f.what = "the interpreter of " + who(p) + " has " + name + " in two versions";
    const auto info = [&package = p.packages[i].first](const std::string& of_version) {
      std::string file = package;
      return file.append("-").append(of_version).append(".dist-info");
    };
    f.evidence = p.packages_at + ": " + info(earlier) + " and " + info(version);
    f.cause =
        "an installation that was cut off or forced over another; which files are of which version is not "
        "known";
    f.fix = "pip uninstall " + name + " until none is left, and install one again";
    found.push_back(std::move(f));
  }
}

void find_nameless_zones(const ProcessState& p, Findings& found) {
  if (p.metal_library.empty() || !holds_node(p) || !profiler_on(*p.environment)) return;
  if (p.zone_log_directory.empty() || p.has_zone_logs) return;
  if (p.kernels.lacks_profiler()) {
    Finding f = about(p, "cached-without-profiler", Weight::spoils);
    f.what = "the kernels that " + who(p) + " found compiled lack the profiler";
    f.evidence = p.kernels.at + ": none of " + std::to_string(p.kernels.kernels) +
                 " kernels has code of the profiler, and none was written in the " +
                 duration_in_words(p.age_s) + " that it runs; no zone_src_locations.log in " +
                 p.zone_log_directory;
    f.cause =
        "they were compiled in a run without the profiler and are taken from the cache (tt-metal issue "
        "24489), "
        "so that only firmware leaves markers";
    f.fix = "start it with TT_METAL_FORCE_JIT_COMPILE=1, or remove " + p.kernels.at;
    found.push_back(std::move(f));
    return;
  }
  Finding f = about(p, "no-zone-names", Weight::advice);
  f.what = who(p) + " has left no names of zones";
  f.evidence = held(p) + " with the profiler on; no zone_src_locations.log in " + p.zone_log_directory;
  f.cause =
      "it has compiled no kernel yet, or all came from a cache, and another directory has their names "
      "(tt-metal "
      "issue 24489)";
  f.fix =
      "when zones stay numbers: start it with TT_METAL_FORCE_JIT_COMPILE=1, or remove its kernel cache "
      "(~/.cache/tt-metal-cache or TT_METAL_CACHE)";
  found.push_back(std::move(f));
}

void find_full_logs(const MachineState& machine, const ProcessState& p, Findings& found) {
  const Environment& e = *p.environment;
  if (p.metal_library.empty() || !holds_node(p) || !profiler_on(e)) return;
  for (const char* emptied_by_host : {"TT_METAL_PROFILER_MID_RUN_DUMP", "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED"})
    if (value_in(e, emptied_by_host).starts_with('1')) return;
  for (const CollectorState& c : machine.collectors)
    if (std::find(p.holds.begin(), p.holds.end(), c.device) != p.holds.end()) return;
  const std::string asked = value_in(e, "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT");
  Finding f = about(p, "log-will-fill", Weight::advice);
  f.what = "no collector empties the logs of " + who(p);
  f.evidence = held(p) + " with the profiler on; no collector runs on the card";
  f.cause = "a core's log holds " + (asked.empty() ? std::string("about 1000") : asked) +
            " programs; later ones are dropped on the card until the workload reads its results";
  f.fix =
      "start it with a larger TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT (4000; 240 bytes a program and core); "
      "or ttcollect --device " +
      p.holds.front().substr(p.holds.front().rfind('/') + 1) +
      " --recycle, which empties them while it runs (it writes to the card)";
  found.push_back(std::move(f));
}

}  // namespace

void find_in_workloads(const MachineState& machine, Findings& found) {
  for (const ProcessState& p : machine.processes) {
    if (!is_workload(machine, p)) continue;
    find_replaced_library(p, found);
    find_other_home(p, found);
    find_packages(p, found);
    if (find_no_tracy(machine, p, found) || !p.environment) continue;
    find_profiler_off(p, found);
    find_other_profilers(machine, p, found);
    find_exclusions(p, found);
    find_nameless_zones(p, found);
    find_full_logs(machine, p, found);
  }
  for (const CollectorState& c : machine.collectors) {
    if (c.dropped_launches == 0) continue;
    Finding f{"log-full", Weight::spoils};
    f.card = c.device;
    f.what = "the card drops launches, because logs on it are full";
    f.evidence = "live:" + c.live_name + " (pid " + std::to_string(c.pid) +
                 "): " + std::to_string(c.dropped_launches) + " launches dropped on the card so far";
    f.cause =
        "a core's log holds TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT programs (1000 unless set) between two "
        "reads of the workload's host";
    f.fix = "collect with --recycle, or start the workload with TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=4000";
    found.push_back(std::move(f));
  }
}

}  // namespace ttc::collect::doctor

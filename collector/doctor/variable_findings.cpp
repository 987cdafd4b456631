// The variables that a running workload was started with. Each rule is one of tt-metal's readers (llrt/rtoptions.cpp, early to late
// 2026): what it does with a name or a value that a person would have meant otherwise.
#include <algorithm>
#include <cctype>

#include "collector/doctor/findings.hpp"
#include "collector/doctor/look/variables.hpp"

namespace ttc::collect::doctor {
namespace {

constexpr size_t kLongestShown = 80;

std::string shown(const std::string& name, const std::string& value) {
  return name + "=" + (value.size() > kLongestShown ? value.substr(0, kLongestShown) + "..." : value);
}

// Writes an assignment for a shell. Names are those of the table; a value may be anything.
std::string setting(const std::string& name, const std::string& value) {
  const bool plain =
      value.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+-") ==
      std::string::npos;
  if (plain) return name + "=" + value;
  std::string quoted;
  for (const char c : value) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return name + "='" + quoted + "'";
}

// Names that no table has. The build that runs may still read one.
void find_names(const ProcessState& p, Findings& found) {
  for (const std::string& name : names_in_question(*p.environment)) {
    const auto& read = p.names_in_library;
    if (std::find(read.begin(), read.end(), name) != read.end()) continue;
    const std::string near(nearest_name(name));
    Finding f = about(p, near.empty() ? "variable-unknown" : "variable-misspelt", Weight::spoils);
    f.what = name;
    f.what += near.empty() ? " is not read by any known program" : " is not read; did you mean " + near + "?";
    f.evidence = held(p) + "; " + shown(name, p.environment->at(name)) + " in its environment; " +
                 (p.names_searched ? p.metal_library + " does not contain the name"
                                   : "not one of the " + std::to_string(known_names().size()) +
                                         " names of tt-metal in 2026 (no library of it was found to search)");
    f.cause = "tt-metal ignores unknown variables without a message";
    f.fix = near.empty() ? "leave it out, or look it up in tt_metal/llrt/rtoptions.cpp of the build that runs"
                         : "start it again with " + setting(near, p.environment->at(name));
    found.push_back(std::move(f));
  }
}

bool off(const std::string& value) {
  std::string lower;
  for (const char c : value) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.empty() || lower == "0" || lower == "false" || lower == "off" || lower == "no";
}

void add_value(const ProcessState& p, const std::string& name, const std::string& what,
               const std::string& cause, const std::string& fix, Findings& found) {
  Finding f = about(p, "variable-ineffective", Weight::spoils);
  f.what = what;
  f.evidence = held(p) + "; " + shown(name, p.environment->at(name)) + " in its environment";
  f.cause = cause;
  f.fix = fix;
  found.push_back(std::move(f));
}

void find_values(const ProcessState& p, Findings& found) {
  for (const auto& [name, value] : *p.environment) {
    const Variable* known = known_variable(name);
    if (!known) continue;
    if (known->reading == Reading::on_if_1 && !value.starts_with('1') && !off(value))
      add_value(p, name, shown(name, value) + " has no effect", "only a value that begins with 1 counts",
                "start it again with " + name + "=1", found);
    else if (known->reading == Reading::on_when_set && off(value))
      add_value(p, name, shown(name, value) + " switches it on, not off",
                "any value counts, 0 and an empty one too", "start it with env -u " + name, found);
    else if (known->needs_profiler && !p.metal_library.empty() && !profiler_on(*p.environment) &&
             !(known->reading == Reading::on_if_1 && off(value)))
      add_value(p, name, name + " has no effect, because the profiler is off",
                "it is read only when the profiler is on",
                "start it again with TT_METAL_DEVICE_PROFILER=1 beside it", found);
  }
}

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

void find_numbers(const ProcessState& p, Findings& found) {
  const Environment& e = *p.environment;
  const std::string count = value_in(e, "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT");
  if (!count.empty() && !is_number(count))
    add_value(p, "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT",
              shown("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", count) + " is no whole number",
              "the digits in front are taken, and without any tt-metal ends with an exception",
              "start it again with TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=4000", found);
  const std::string counters = value_in(e, "TT_METAL_PROFILE_PERF_COUNTERS");
  if (counters.starts_with("0x") || counters.starts_with("0X"))
    add_value(p, "TT_METAL_PROFILE_PERF_COUNTERS",
              shown("TT_METAL_PROFILE_PERF_COUNTERS", counters) + " selects no counters",
              "it is read as a decimal number, which ends at the x",
              "start it again with " + shown("TT_METAL_PROFILE_PERF_COUNTERS",
                                             std::to_string(std::strtoul(counters.c_str(), nullptr, 16))),
              found);
  if (e.count("TT_METAL_NO_RT_PROFILER"))
    add_value(p, "TT_METAL_NO_RT_PROFILER",
              "TT_METAL_NO_RT_PROFILER does not switch the real-time profiler off",
              "no build is known that reads it", "leave it out", found);
}

// The reason why requested debug delays do not take effect; empty: they may.
std::string why_no_delay(const Environment& e) {
  std::string why;
  const auto and_also = [&](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  if (!watcher_on(e))
    and_also(
        "TT_METAL_WATCHER is not set, and without the watcher no delay is compiled in (a release build "
        "prints no message, a debug build ends)");
  for (const char* name : {"TT_METAL_WATCHER_DISABLE_NOC_SANITIZE", "TT_METAL_WATCHER_DISABLE_SANITIZE_NOC"})
    if (e.count(name)) and_also(std::string(name) + " is set, and delays sit in what it leaves out");
  bool any = false;
  for (const char* kind : {"READ", "WRITE", "ATOMIC"})
    for (const char* of : {"_CORES", "_ETH_CORES"}) {
      const std::string name = "TT_METAL_" + std::string(kind) + "_DEBUG_DELAY" + of,
                        value = value_in(e, name);
      if (value == "all" || value == "worker" || value == "dispatch")
        and_also(shown(name, value) +
                 " is understood and leaves the list of cores empty: only coordinates delay");
      any = any || !value.empty();
    }
  if (!any)
    and_also(
        "no core is named: TT_METAL_READ_DEBUG_DELAY_CORES, WRITE_ and ATOMIC_ take logical coordinates");
  return why;
}

void find_delays(const ProcessState& p, Findings& found) {
  const Environment& e = *p.environment;
  const bool asked = std::any_of(e.begin(), e.end(), [](const auto& v) {
    return v.first == "TT_METAL_WATCHER_DEBUG_DELAY" || v.first.find("_DEBUG_DELAY_") != std::string::npos;
  });
  if (!asked) return;
  const std::string cycles = value_in(e, "TT_METAL_WATCHER_DEBUG_DELAY");
  const std::string why = why_no_delay(e);
  if (why.empty() && is_number(cycles) && cycles.find_first_not_of('0') != std::string::npos) return;
  Finding f = about(p, "delay-without-effect", Weight::spoils);
  f.what = "the debug delays of " + who(p) + " have no effect";
  f.evidence = held(p) + "; in its environment";
  for (const auto& [name, value] : e)
    if (name.find("DEBUG_DELAY") != std::string::npos) f.evidence += " " + shown(name, value);
  f.cause = (why.empty() ? "TT_METAL_WATCHER_DEBUG_DELAY is missing or 0" : why) +
            ". The length is in clock cycles, not milliseconds, and comes before NoC reads and writes, not "
            "after kernels";
  f.fix =
      "TT_METAL_WATCHER=120 TT_METAL_WATCHER_DEBUG_DELAY=10000 TT_METAL_READ_DEBUG_DELAY_CORES='(0,0)-(7,7)' "
      "TT_METAL_WRITE_DEBUG_DELAY_CORES='(0,0)-(7,7)' in front of the command, without the profiler: "
      "firmware of both seldom fits";
  found.push_back(std::move(f));
}

// "0,0,1,1" is one core.
void find_core_lists(const ProcessState& p, Findings& found) {
  for (const auto& [name, value] : *p.environment) {
    if (!known_variable(name) || !name.ends_with("CORES") || !name.starts_with("TT_METAL_")) continue;
    if (value.empty() || !std::isdigit(static_cast<unsigned char>(value[0])) ||
        std::count(value.begin(), value.end(), ',') < 2)
      continue;
    add_value(p, name, shown(name, value) + " names one core",
              "without brackets the first two numbers count, and the rest is ignored",
              "lists are written " + name + "='(0,0),(1,1)', ranges '(0,0)-(7,7)'", found);
  }
}

}  // namespace

void find_in_variables(const MachineState& machine, Findings& found) {
  for (const ProcessState& p : machine.processes) {
    if (!p.environment || !is_workload(machine, p)) continue;
    find_names(p, found);
    find_values(p, found);
    find_numbers(p, found);
    find_delays(p, found);
    find_core_lists(p, found);
  }
}

}  // namespace ttc::collect::doctor

#include "run_environment.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "collector/process_environment.hpp"

namespace ttc::collect {
namespace {

constexpr const char* kPrefixes[] = {"TT_",    "TTNN_", "TTMLIR_",   "TTXLA_",      "TTRT_",
                                     "TRACY_", "WH_",   "ARCH_NAME", "MESH_DEVICE", "PJRT_DEVICE"};
constexpr size_t kMostText = 4096;  // of one command or variable

bool wanted(const std::string& name) {
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

// Its arguments, blanks between; empty when it cannot be seen.
std::string command_of(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.substr(0, kMostText);
}

}  // namespace

nlohmann::json run_environment(int workload_pid, const std::optional<card::PciFunction>& place) {
  utsname u{};
  uname(&u);
  nlohmann::json all = {{"collector", "ttcollect " TTC_VERSION},
                        {"host", std::string(u.sysname) + " " + u.release + " " + u.machine}};
  if (place && !place->driver.empty())
    all["driver"] = place->driver + (place->driver_version.empty() ? "" : " " + place->driver_version);
  if (place && !place->firmware.empty()) all["firmware"] = place->firmware;
  if (workload_pid <= 0) return all;
  if (const std::string command = command_of(workload_pid); !command.empty()) all["workload"] = command;
  const auto environment = environment_of(workload_pid);
  if (!environment) return all;
  all["variables"] = nlohmann::json::object();
  for (const auto& [name, value] : *environment)
    if (wanted(name)) all["variables"][name] = value.substr(0, kMostText);
  return all;
}

}  // namespace ttc::collect

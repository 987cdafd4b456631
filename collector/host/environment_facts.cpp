#include "collector/host/environment_facts.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "collector/host/process_environment.hpp"
#include "collector/program/version.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kLongestCommand = 1000;
constexpr size_t kLongestValue = 300;

// One line of it. (Bytes of other processes are no UTF-8 for sure: who writes the JSON replaces what is
// none.)
std::string printable(std::string text, size_t most) {
  if (text.size() > most) text.resize(most);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = c ? '?' : ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return printable(line.substr(line.find(": ") + 2), kLongestValue);
  return {};
}

nlohmann::json host_facts() {
  nlohmann::json host;
  if (utsname name{}; uname(&name) == 0) {
    host["name"] = printable(name.nodename, kLongestValue);
    host["kernel"] = printable(std::string(name.sysname) + " " + name.release, kLongestValue);
    host["machine"] = printable(name.machine, kLongestValue);
  }
  if (const std::string cpu = cpu_model(); !cpu.empty()) host["cpu"] = cpu;
  host["cpus"] = sysconf(_SC_NPROCESSORS_ONLN);
  if (struct sysinfo memory{}; sysinfo(&memory) == 0)
    host["memory_mib"] = static_cast<uint64_t>(memory.totalram) * memory.mem_unit >> 20;
  return host;
}

// What sets up tt-metal and what runs on it. Others may be secrets.
constexpr const char* kOfInterest[] = {"TT_",    "TTNN_", "TTMLIR_",   "TTXLA_",      "TTRT_",
                                       "TRACY_", "WH_",   "ARCH_NAME", "MESH_DEVICE", "PJRT_DEVICE"};
bool of_interest(const std::string& variable) {
  return std::any_of(std::begin(kOfInterest), std::end(kOfInterest),
                     [&](const char* prefix) { return variable.starts_with(prefix); });
}

nlohmann::json workload_facts(int pid) {
  nlohmann::json workload{{"pid", pid}};
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string command(kLongestCommand, '\0');
  file.read(command.data(), static_cast<std::streamsize>(command.size()));
  command.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (!command.empty()) workload["command"] = printable(command, kLongestCommand);
  if (const auto variables = environment_of(pid)) {
    workload["environment"] = nlohmann::json::object();
    for (const auto& [name, value] : *variables)
      if (of_interest(name))
        workload["environment"][printable(name, kLongestValue)] = printable(value, kLongestValue);
  }
  return workload;
}

}  // namespace

nlohmann::json environment_facts(int workload_pid, const std::optional<card::PciFunction>& card) {
  nlohmann::json facts{{"host", host_facts()},
                       {"collector", {{"version", program::version()}, {"pid", getpid()}}}};
  if (workload_pid > 0) facts["workload"] = workload_facts(workload_pid);
  if (!card) return facts;
  facts["pci"] = card->bdf;
  if (!card->driver.empty())
    facts["driver"] = card->driver + (card->driver_version.empty() ? "" : " " + card->driver_version);
  if (!card->firmware.empty()) facts["firmware"] = card->firmware;
  if (!card->serial.empty()) facts["serial"] = card->serial;
  return facts;
}

}  // namespace ttc::collect

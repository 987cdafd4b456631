#include "environment_facts.hpp"

#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "collector/process_environment.hpp"

namespace ttc::collect {
namespace {

using nlohmann::json;

constexpr size_t kLongestCommand = 1000;
constexpr size_t kLongestValue = 300;

// Bytes of other processes are no UTF-8 for sure; JSON is.
std::string printable(std::string text, size_t most) {
  if (text.size() > most) text.resize(most);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = c ? '?' : ' ';
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return printable(line, kLongestValue);
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return printable(line.substr(line.find(": ") + 2), kLongestValue);
  return {};
}

json host_facts() {
  json host;
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

bool of_interest(const std::string& variable) {
  return variable.starts_with("TT_") || variable.starts_with("TTNN_") || variable == "ARCH_NAME";
}

json workload_facts(int pid) {
  json workload{{"pid", pid}};
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string command(kLongestCommand, '\0');
  file.read(command.data(), static_cast<std::streamsize>(command.size()));
  command.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (!command.empty()) workload["command"] = printable(command, kLongestCommand);
  if (const auto variables = environment_of(pid)) {
    workload["environment"] = json::object();
    for (const auto& [name, value] : *variables)
      if (of_interest(name))
        workload["environment"][printable(name, kLongestValue)] = printable(value, kLongestValue);
  }
  return workload;
}

}  // namespace

json environment_facts(int workload_pid, const std::optional<card::PciFunction>& card) {
  json facts{{"host", host_facts()}, {"collector", {{"version", TTC_VERSION}, {"pid", getpid()}}}};
  if (workload_pid > 0) facts["workload"] = workload_facts(workload_pid);
  if (!card) return facts;
  facts["pci"] = card->bdf;
  if (const std::string version = first_line_of("/sys/module/tenstorrent/version"); !version.empty())
    facts["driver"] = version;
  if (!card->firmware.empty()) facts["firmware"] = card->firmware;
  if (!card->serial.empty()) facts["serial"] = card->serial;
  return facts;
}

}  // namespace ttc::collect

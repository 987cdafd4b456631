#include "driver_iface/kmd/kmd_node.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "driver_iface/card.hpp"

namespace ttc::card::kmd {
namespace {

constexpr std::string_view kDirectory = "/dev/tenstorrent/";
constexpr std::string_view kClass = "/sys/class/tenstorrent/tenstorrent!";

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Node node_at(uint32_t ordinal) {
  return {ordinal, std::string(kDirectory) + std::to_string(ordinal)};
}

std::optional<Node> node_in(const std::string& path) {
  if (!path.starts_with(kDirectory)) return std::nullopt;
  const auto ordinal = number<uint32_t>(std::string_view(path).substr(kDirectory.size()));
  if (!ordinal) return std::nullopt;
  return node_at(*ordinal);
}

std::vector<uint32_t> ordinals(System& system) {
  std::vector<uint32_t> found;
  for (const std::string& name : system.entries(std::string(kDirectory.substr(0, kDirectory.size() - 1))))
    if (const auto n = number<uint32_t>(name)) found.push_back(*n);
  std::sort(found.begin(), found.end());
  return found;
}

// The PCI address of the function behind a node: where its class directory's device link leads.
std::optional<std::string> pci_of(System& system, const Node& node) {
  const auto path = system.resolved(class_path(node, "device"));
  if (!path) return std::nullopt;
  return path->substr(path->rfind('/') + 1);
}

std::string name_of_process(System& system, int pid) {
  auto name = system.read_text("/proc/" + std::to_string(pid) + "/comm");
  if (!name) return {};
  while (!name->empty() && name->back() == '\n') name->pop_back();
  return " (" + *name + ")";
}

// Windows held by each process, by the driver's own list, which only root may read.
std::map<int, unsigned> windows_held(System& system, const Node& node) {
  std::map<int, unsigned> held;
  const auto text =
      system.read_text("/sys/kernel/debug/tenstorrent/" + std::to_string(node.ordinal) + "/mappings");
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int pid = 0;
    if (words >> pid && line.find(" TLB-alloc ") != std::string::npos) ++held[pid];
  }
  return held;
}

}  // namespace

bool names_a_node(const std::string& spec) {
  return spec.starts_with("/") || spec.starts_with("pci:") || number<uint32_t>(spec);
}

Node node_of(System& system, const std::string& spec) {
  if (const auto ordinal = number<uint32_t>(spec)) return node_at(*ordinal);
  if (spec.starts_with("pci:")) {
    const std::string address = spec.substr(4);
    for (const uint32_t n : ordinals(system))
      if (pci_of(system, node_at(n)) == address) return node_at(n);
    throw OpenError(spec + ": no node of the Tenstorrent driver belongs to PCI function " + address +
                    "; `ttcollect list` shows what is there, and the form is pci:0000:01:00.0");
  }
  const auto path = system.resolved(spec);
  if (!path)
    throw OpenError(spec +
                    ": there is no such node; `ttcollect list` shows what is there, and without the driver "
                    "(modprobe tenstorrent) there is none");
  if (const auto node = node_in(*path)) return *node;
  throw OpenError(spec + ": this is not a node of the Tenstorrent driver, so it was not opened; those are " +
                  std::string(kDirectory) + "N and " + std::string(kDirectory) + "by-id/...");
}

std::vector<std::string> present_nodes(System& system) {
  std::vector<std::string> specs;
  for (const uint32_t n : ordinals(system)) {
    const auto pci = pci_of(system, node_at(n));
    specs.push_back(pci ? "pci:" + *pci : std::to_string(n));
  }
  std::sort(specs.begin(), specs.end());
  return specs;
}

std::string class_path(const Node& node, const char* attribute) {
  return std::string(kClass) + std::to_string(node.ordinal) + "/" + attribute;
}

std::optional<std::string> attribute(System& system, const Node& node, const char* name) {
  auto text = system.read_text(class_path(node, name));
  while (text && !text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
  if (text && text->empty()) return std::nullopt;
  return text;
}

std::string sensors(System& system, const Node& node) {
  const std::string all = class_path(node, "device/hwmon");
  const std::vector<std::string> found = system.entries(all);
  return found.empty() ? std::string() : all + "/" + found.front();
}

std::vector<int> holders(System& system, const Node& node) {
  std::vector<int> pids;
  std::istringstream lines(
      system.read_text("/proc/driver/tenstorrent/" + std::to_string(node.ordinal) + "/pids").value_or(""));
  for (int pid; lines >> pid;)
    if (pid != getpid() && std::find(pids.begin(), pids.end(), pid) == pids.end()) pids.push_back(pid);
  return pids;
}

std::string holders_text(System& system, const Node& node) {
  const std::vector<int> pids = holders(system, node);
  if (pids.empty()) return "the driver does not list the holders";
  const auto held = windows_held(system, node);
  std::string text = pids.size() == 1 ? "pid " : "pids ";
  for (const int pid : pids) {
    if (pid != pids.front()) text += ", ";
    if (pid == 0) {
      text += "0 (of another pid namespace)";
      continue;
    }
    text += std::to_string(pid) + name_of_process(system, pid);
    if (const auto it = held.find(pid); it != held.end())
      text += " with " + std::to_string(it->second) + " windows";
  }
  return text;
}

}  // namespace ttc::card::kmd

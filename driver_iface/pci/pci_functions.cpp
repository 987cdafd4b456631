#include "driver_iface/pci_functions.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "driver_iface/pci/kernel_file.hpp"
#include "driver_iface/pci/node_users.hpp"
#include "driver_iface/pci/pci_scan.hpp"

namespace ttc::card {
namespace {

namespace fs = std::filesystem;

constexpr uint16_t kVendor = 0x1E52;  // tt-kmd enumerate.c
constexpr const char* kDriver = "tenstorrent";

const char* arch_of(uint16_t device_id) {
  switch (device_id) {
    case 0x401E:
      return "wormhole_b0";
    case 0xB140:
      return "blackhole";
    case 0xFACA:
      return "grayskull";
    default:
      return "";
  }
}

// What could not be read, by reason, so that one cause is reported once.
class Hidden {
 public:
  void add(const std::string& what, int error) {
    by_error_[error] += (by_error_[error].empty() ? "" : ", ") + what;
  }
  void add_to(std::vector<std::string>& hidden) const {
    for (const auto& [error, what] : by_error_) hidden.push_back(what + " (" + reason(error) + ")");
  }

 private:
  static std::string reason(int error) {
    if (error == ENODATA) return "the card is being reset";
    return std::strerror(error);
  }
  std::map<int, std::string> by_error_;
};

// An attribute that may not exist: older drivers and firmware do not have them all.
std::string attribute(const std::string& directory, const char* name, Hidden& hidden) {
  KernelFile file = read_kernel_file(directory + "/" + name);
  if (!file && !file.missing()) hidden.add(name, file.error);
  return std::move(file.text);
}

std::string by_id_of(const SystemRoots& roots, unsigned ordinal) {
  std::error_code none;  // udev rules of before 2.6.0 make no such directory
  for (const fs::directory_entry& entry : fs::directory_iterator(roots.dev + "/tenstorrent/by-id", none))
    if (link_target_name(entry.path().string()) == std::to_string(ordinal))
      return entry.path().filename().string();
  return {};
}

// The ordinal of the node the driver made for a function.
std::optional<unsigned> ordinal_of(const SystemRoots& roots, const std::string& bdf) {
  constexpr std::string_view kPrefix = "tenstorrent!";
  std::error_code none;  // no class directory: the driver is not loaded
  for (const fs::directory_entry& entry : fs::directory_iterator(roots.sys + "/class/tenstorrent", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || link_target_name(entry.path().string() + "/device") != bdf) continue;
    return as_number(name.substr(kPrefix.size()));
  }
  return std::nullopt;
}

std::optional<double> temperature_of(const std::string& function, Hidden& hidden) {
  std::error_code none;  // a driver without hwmon
  for (const fs::directory_entry& entry : fs::directory_iterator(function + "/hwmon", none)) {
    const KernelFile file = read_kernel_file(entry.path().string() + "/temp1_input");  // in 1/1000 degree
    if (const auto milli = as_number(file.text)) return *milli / 1000.0;
    if (!file && !file.missing()) hidden.add("temperature", file.error);
  }
  return std::nullopt;
}

// The kernel reports "Unknown" and a width of 0 or 255 where the function has no value (pci-sysfs.c).
Link known(Link link) {
  if (link.speed.starts_with("Unknown")) link.speed.clear();
  if (link.width == "0" || link.width == "255") link.width.clear();
  return link;
}

void read_link(const std::string& function, PciFunction& f, Hidden& hidden) {
  f.link = known(
      {attribute(function, "current_link_speed", hidden), attribute(function, "current_link_width", hidden)});
  f.best_link =
      known({attribute(function, "max_link_speed", hidden), attribute(function, "max_link_width", hidden)});
  const std::string node = attribute(function, "numa_node", hidden);
  if (const auto number = as_number(node)) f.numa_node = static_cast<int>(*number);
  f.local_cpus = attribute(function, "local_cpulist", hidden);
}

// What the driver publishes. Each read is one of the chip, done by the driver.
void read_driver(const SystemRoots& roots, const std::string& function, PciFunction& f, Hidden& hidden) {
  const std::string own = roots.sys + "/class/tenstorrent/tenstorrent!" + std::to_string(*f.ordinal);
  f.driver_version = attribute(roots.sys + "/module/tenstorrent", "version", hidden);
  f.firmware = attribute(own, "tt_fw_bundle_ver", hidden);
  f.serial = attribute(own, "tt_serial", hidden);
  f.asic_id = attribute(own, "tt_asic_id", hidden);
  f.board = attribute(own, "tt_card_type", hidden);
  if (f.board.empty() && !f.serial.empty())
    f.board = board_of_serial(std::strtoull(f.serial.c_str(), nullptr, 16));
  f.aiclk_mhz = as_number(attribute(own, "tt_aiclk", hidden));
  f.temperature_c = temperature_of(function, hidden);
}

// `users` null: only the card's place.
PciFunction describe(const SystemRoots& roots, const ScannedFunction& scanned, const NodeUsers* users) {
  PciFunction f;
  f.bdf = scanned.bdf();
  f.device_id = scanned.device_id;
  f.arch = arch_of(scanned.device_id);
  const std::string function = roots.sys + "/bus/pci/devices/" + f.bdf;
  f.driver = link_target_name(function + "/driver");
  Hidden hidden;
  read_link(function, f, hidden);
  if (f.driver == kDriver) f.ordinal = ordinal_of(roots, f.bdf);
  if (f.ordinal) {
    f.node = "/dev/tenstorrent/" + std::to_string(*f.ordinal);
    f.by_id = by_id_of(roots, *f.ordinal);
    if (users) read_driver(roots, function, f, hidden);
    if (users) f.openers = users->of(*f.ordinal, f.hidden);
    f.umd_owner_pid = umd_owner(roots, *f.ordinal, f.hidden);
  }
  hidden.add_to(f.hidden);
  return f;
}

void add_remarks(PciFunction& f) {
  if (f.arch == "grayskull") f.remarks.push_back("Grayskull is not supported, by driver 2.x neither");
  if (f.arch.empty()) f.remarks.push_back("a device id that is unknown to this version");
  if (f.driver.empty())
    f.remarks.push_back("no driver is bound, so it is not read; load tt-kmd (modprobe tenstorrent)");
  else if (f.driver != kDriver)
    f.remarks.push_back("bound to " + f.driver + " instead of tt-kmd, so it is not read");
  else if (!f.ordinal)
    f.remarks.push_back(
        "the driver has no node for it; the kernel log has the reason why it gave up on this card");
  if (f.board.starts_with("n300"))
    f.remarks.push_back(
        "its second chip is no PCI function and cannot be read without writing to this one; it is not "
        "collected from");
  const auto narrower = [](const std::string& now, const std::string& best) {
    return !now.empty() && !best.empty() && std::atof(now.c_str()) < std::atof(best.c_str());
  };
  if (narrower(f.link.speed, f.best_link.speed) || narrower(f.link.width, f.best_link.width))
    f.remarks.push_back("the link runs below its best; reads are slower for it");
}

}  // namespace

SystemRoots roots_below(const std::string& directory) {
  return {directory + "/sys", directory + "/proc", directory + "/dev"};
}

std::string board_of_serial(uint64_t board_id) {
  switch (board_id >> 36 & 0xfffff) {
    case 0x14:
      return "n300";
    case 0x18:
      return "n150";
    case 0x35:
      return "galaxy-wormhole";
    case 0x36:
      return "p100";
    case 0x40:
      return "p150a";
    case 0x41:
      return "p150b";
    case 0x42:
      return "p150c";
    case 0x43:
      return "p100a";
    case 0x44:
      return "p300b";
    case 0x45:
      return "p300a";
    case 0x46:
      return "p300c";
    case 0x47:
      return "galaxy-blackhole";
    default:
      return {};
  }
}

std::vector<PciFunction> tenstorrent_functions(const SystemRoots& roots, Detail detail) {
  const std::vector<ScannedFunction> scanned = scan_pci(roots.sys, kVendor);
  std::vector<PciFunction> functions;
  if (scanned.empty()) return functions;
  std::optional<NodeUsers> users;
  if (detail == Detail::everything) users.emplace(roots);
  unsigned chip = 0;
  for (const ScannedFunction& s : scanned) {
    functions.push_back(describe(roots, s, users ? &*users : nullptr));
    if (functions.back().ordinal) functions.back().chip = chip++;
    add_remarks(functions.back());
  }
  return functions;
}

}  // namespace ttc::card

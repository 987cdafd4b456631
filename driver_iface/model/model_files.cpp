// The files that a driver shows, and the model's queries for tests.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "driver_iface/model/model_chip.hpp"

namespace ttc::card::kmd {

std::optional<std::string> DriverModel::read_text(const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (const auto& c : chips_) {
    if (!c->present) continue;
    const std::string n = std::to_string(c->options.ordinal);
    const std::string attributes = "/sys/class/tenstorrent/tenstorrent!" + n + "/";
    if (path == attributes + "tt_card_type")
      return (c->options.card_type.empty() ? std::string(c->page->board) : c->options.card_type) + "\n";
    if (path == attributes + "tt_aiclk") return std::to_string(c->page->aiclk_mhz) + "\n";
    if (path == attributes + "device/hwmon/hwmon3/temp1_input") return "48500\n";
    if (path == attributes + "device/hwmon/hwmon3/power1_input") return "21750000\n";
    if (path == attributes + "tt_asic_id" && !c->options.asic_id.empty()) return c->options.asic_id + "\n";
    if (path == "/proc/driver/tenstorrent/" + n + "/pids" && c->at_least(5)) {
      std::map<uint64_t, int> newest;
      for (const auto& [fd, d] : descriptors_)
        if (d->chip == c.get()) newest[~d->number] = d->pid;
      std::string text;
      for (const auto& [number, pid] : newest) text += std::to_string(pid) + "\n";
      return text;
    }
  }
  if (path.starts_with("/proc/") && path.ends_with("/comm") && path != "/proc/self/comm") return "workload\n";
  return std::nullopt;
}

std::optional<std::string> DriverModel::resolved(const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (const auto& c : chips_) {
    if (!c->present) continue;
    const std::string n = std::to_string(c->options.ordinal);
    const std::string arch = c->arch->name == "blackhole" ? "blackhole-" : "wormhole-";
    if (path == c->path() || path == "/dev/tenstorrent/by-id/" + arch + c->options.asic_id) return c->path();
    if (path == "/sys/class/tenstorrent/tenstorrent!" + n + "/device")
      return "/sys/devices/pci0000:00/" + c->options.pci;
  }
  if (path == "/dev/null") return path;
  return std::nullopt;
}

std::vector<std::string> DriverModel::entries(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& c : chips_)
    if (c->present && directory == "/sys/class/tenstorrent/tenstorrent!" +
                                       std::to_string(c->options.ordinal) + "/device/hwmon")
      return {"hwmon3"};
  if (directory != "/dev/tenstorrent") return names;
  names.emplace_back("by-id");
  for (const auto& c : chips_)
    if (c->present) names.push_back(std::to_string(c->options.ordinal));
  return names;
}

// --- for the tests

DriverModel::State DriverModel::state(uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  Chip& c = chip(ordinal);
  State s;
  for (const auto& [id, fd] : c.owner) s.windows_taken.push_back(id);
  for (const auto& [fd, d] : descriptors_) s.descriptors += d->chip == &c;
  for (const Area& a : areas_) s.mappings += descriptors_.at(a.fd)->chip == &c;
  s.power_messages = c.power;
  s.window_moves = c.window_moves;
  s.hazards = c.hazards;
  return s;
}
std::map<Request, unsigned> DriverModel::asked() {
  const std::lock_guard lock(mutex_);
  return asked_;
}
std::set<int> DriverModel::open_flags() {
  const std::lock_guard lock(mutex_);
  return open_flags_;
}
unsigned DriverModel::bad_unmaps() {
  const std::lock_guard lock(mutex_);
  return bad_unmaps_;
}

}  // namespace ttc::card::kmd

#include "collector/doctor/look/host_reader.hpp"

#include <linux/io_uring.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "collector/doctor/look/entries.hpp"
#include "driver_iface/pci/kernel_file.hpp"

namespace ttc::collect::doctor {
namespace {

namespace fs = std::filesystem;

// The text behind `label` on its line; empty if there is none.
std::string behind(const std::string& text, const std::string& label) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(label)) {
      const size_t begin = line.find_first_not_of(" \t", label.size());
      return begin == std::string::npos ? std::string() : line.substr(begin);
    }
  return {};
}

std::optional<uint64_t> number(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;  // "max", "unlimited"
  return std::strtoull(text.c_str(), nullptr, 10);
}

// 0: it works.
int try_io_uring() {
  io_uring_params params{};
  const long fd = syscall(SYS_io_uring_setup, 1, &params);
  if (fd < 0) return errno;
  close(static_cast<int>(fd));
  return 0;
}

// The directories of this process's cgroup and of those it is in: of version 2, or of a controller of version 1. Inside a container only the
// root is there.
std::vector<std::string> cgroups(const card::SystemRoots& roots, const std::string& controller) {
  std::string own;
  std::istringstream lines(card::read_kernel_file(roots.proc + "/self/cgroup").text);
  for (std::string line; std::getline(lines, line);) {  // 0::/path, 4:cpu,cpuacct:/path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") != std::string::npos) own = line.substr(second + 1);
  }
  const std::string top = roots.sys + "/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
  std::vector<std::string> found;
  for (fs::path path = own; !path.empty() && path != "/"; path = path.parent_path())
    found.push_back(top + path.string());
  found.push_back(top);
  return found;
}

// The limits of this process's group and of those that hold it; the least one counts.
void read_limits(const card::SystemRoots& roots, HostState& host) {
  const auto least = [](auto& kept, auto value) { kept = kept ? std::min(*kept, value) : value; };
  const auto in = [](const std::string& file) { return number(card::read_kernel_file(file).text); };
  const auto memory = [&](const std::string& limit_file, const std::string& used_file) {
    const auto limit = in(limit_file), used = in(used_file);
    if (limit && used) least(host.memory_left, *limit > *used ? *limit - *used : uint64_t{0});
  };
  for (const std::string& group : cgroups(roots, "")) {
    std::istringstream cpu(card::read_kernel_file(group + "/cpu.max").text);
    std::string quota;
    double period = 0;
    if (cpu >> quota >> period && period > 0)
      if (const auto q = number(quota)) least(host.cpu_quota, static_cast<double>(*q) / period);
    memory(group + "/memory.max", group + "/memory.current");
  }
  for (const std::string& group : cgroups(roots, "cpu")) {
    const auto quota = in(group + "/cpu.cfs_quota_us"),
               period = in(group + "/cpu.cfs_period_us");  // -1: no quota
    if (quota && period && *period)
      least(host.cpu_quota, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const std::string& group : cgroups(roots, "memory"))
    memory(group + "/memory.limit_in_bytes", group + "/memory.usage_in_bytes");
  host.memlock =
      number(behind(card::read_kernel_file(roots.proc + "/self/limits").text, "Max locked memory"));
}

void read_cpus(const card::SystemRoots& roots, HostState& host) {
  const auto allowed =
      parse_cpus(behind(card::read_kernel_file(roots.proc + "/self/status").text, "Cpus_allowed_list:"));
  if (allowed) host.allowed = *allowed;
  const std::string all = roots.sys + "/devices/system/cpu/cpu";
  for (const unsigned cpu : host.allowed) {
    const std::string own = all + std::to_string(cpu);
    if (const auto governor = card::read_kernel_file(own + "/cpufreq/scaling_governor"))
      host.governors[governor.text].insert(cpu);
    for (const fs::path& state : entries_of(own + "/cpuidle")) {
      const std::string at = state.string();
      const auto us = card::as_number(card::read_kernel_file(at + "/latency").text);
      if (us && card::read_kernel_file(at + "/disable").text != "1")
        host.idle_us[card::read_kernel_file(at + "/name").text] = *us;
    }
  }
}

// The version that dkms has installed; no value if it has none or several.
std::optional<std::string> installed_driver(const std::string& root) {
  std::vector<std::string> versions;
  for (const fs::path& entry : entries_of(root + "/var/lib/dkms/tenstorrent")) {
    std::error_code gone;
    const std::string name = entry.filename().string();
    if (fs::is_directory(fs::symlink_status(entry, gone)) && name[0] >= '0' && name[0] <= '9')
      versions.push_back(name);
  }
  return versions.size() == 1 ? std::optional(versions.front()) : std::nullopt;
}

}  // namespace

HostState read_host(const card::SystemRoots& roots, const std::string& root) {
  HostState host;
  host.is_live = root.empty();
  struct statvfs shm {};
  if (statvfs((roots.dev + "/shm").c_str(), &shm) == 0) host.shm_free = uint64_t{shm.f_bavail} * shm.f_frsize;
  host.io_uring_disabled = static_cast<int>(
      card::as_number(card::read_kernel_file(roots.proc + "/sys/kernel/io_uring_disabled").text).value_or(0));
  if (host.is_live) host.io_uring_error = try_io_uring();
  if (host.is_live && host.io_uring_error == 0) host.io_uring_disabled = 0;  // 1 leaves it to a group
  read_limits(roots, host);
  read_cpus(roots, host);
  host.installed_driver = installed_driver(root);
  return host;
}

}  // namespace ttc::collect::doctor

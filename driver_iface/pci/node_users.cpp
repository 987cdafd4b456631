#include "driver_iface/pci/node_users.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "driver_iface/pci/kernel_file.hpp"

namespace ttc::card {
namespace {

namespace fs = std::filesystem;

// Node paths as /proc/PID/fd has them, whatever directory this machine's tree is examined through.
constexpr const char* kNodePrefix = "/dev/tenstorrent/";

bool power_aware(const std::string& fdinfo) {
  std::istringstream lines(fdinfo);
  for (std::string key, value; lines >> key >> value;)
    if (key == "flags:") return std::strtoul(value.c_str(), nullptr, 8) & O_APPEND;
  return false;
}

}  // namespace

NodeUsers::NodeUsers(const SystemRoots& roots) : roots_(roots) {
  std::error_code none;  // without /proc no process is found, and of() reports that
  for (const fs::directory_entry& entry : fs::directory_iterator(roots.proc, none))
    if (const auto pid = as_number(entry.path().filename().string()))
      read_process(entry.path().string(), static_cast<int>(*pid));
}

void NodeUsers::read_process(const std::string& process, int pid) {
  std::error_code error;
  fs::directory_iterator descriptors(process + "/fd", error);
  if (error == std::errc::permission_denied) ++closed_to_us_;
  if (error) return;  // otherwise it has ended
  for (; descriptors != fs::directory_iterator(); descriptors.increment(error)) {
    std::error_code gone;  // closed meanwhile
    const std::string target = fs::read_symlink(descriptors->path(), gone).string();
    if (!target.starts_with(kNodePrefix)) continue;
    const auto ordinal = as_number(target.substr(std::strlen(kNodePrefix)));
    if (!ordinal) continue;
    const KernelFile info = read_kernel_file(process + "/fdinfo/" + descriptors->path().filename().string());
    Seen& seen = seen_[*ordinal][pid];
    ++seen.descriptors;
    seen.all_power_aware = seen.all_power_aware && info && power_aware(info.text);
  }
}

// The driver's own list names every process, also those that are not ours (since 2.5.0).
std::map<int, unsigned> NodeUsers::reported_by_driver(unsigned ordinal, bool& reported) const {
  const KernelFile pids =
      read_kernel_file(roots_.proc + "/driver/tenstorrent/" + std::to_string(ordinal) + "/pids");
  reported = static_cast<bool>(pids);
  std::map<int, unsigned> descriptors;
  std::istringstream lines(pids.text);
  for (int pid; lines >> pid;) ++descriptors[pid];
  return descriptors;
}

// The number of windows of each process, from a debug file whose form may change: lines of another form are skipped.
std::map<int, unsigned> NodeUsers::windows_of(unsigned ordinal) const {
  const KernelFile file =
      read_kernel_file(roots_.sys + "/kernel/debug/tenstorrent/" + std::to_string(ordinal) + "/mappings");
  std::map<int, unsigned> windows;
  std::istringstream lines(file.text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    int pid = 0;
    if (columns >> pid && line.find(" TLB-alloc ") != std::string::npos) ++windows[pid];
  }
  return windows;
}

std::vector<Opener> NodeUsers::of(unsigned ordinal, std::vector<std::string>& hidden) const {
  bool reported = false;
  std::map<int, unsigned> descriptors = reported_by_driver(ordinal, reported);
  const auto of_node = seen_.find(ordinal);
  const std::map<int, Seen> nobody;
  const std::map<int, Seen>& seen = of_node == seen_.end() ? nobody : of_node->second;
  if (!reported) {
    for (const auto& [pid, s] : seen) descriptors[pid] = s.descriptors;
    if (closed_to_us_)
      hidden.push_back("the open files of " + std::to_string(closed_to_us_) +
                       " processes of other users: who else has it open (root may read them)");
  }
  const std::map<int, unsigned> windows = windows_of(ordinal);
  std::vector<Opener> openers;
  for (const auto& [pid, count] : descriptors) {
    Opener o;
    o.pid = pid;
    o.descriptors = count;
    if (pid > 0) o.name = read_kernel_file(roots_.proc + "/" + std::to_string(pid) + "/comm").text;
    if (const auto s = seen.find(pid); s != seen.end()) o.observer = s->second.all_power_aware;
    if (const auto w = windows.find(pid); w != windows.end()) o.windows = w->second;
    openers.push_back(std::move(o));
  }
  return openers;
}

// A robust mutex of the platform, a marker, and who locked it last. The mutex's first word is 0 when it is
// free; the owner's ids alone may be of a process that ended.
UmdLock umd_lock(const SystemRoots& roots, unsigned ordinal, std::vector<std::string>& hidden) {
  constexpr size_t kMutexBytes = sizeof(pthread_mutex_t);
  constexpr uint64_t kMarker = 0x5454554d444d5458;
  constexpr uint32_t kWaiters = 0x80000000, kOwnerBits = 0x3fffffff;  // FUTEX_WAITERS, FUTEX_TID_MASK
  const KernelFile file =
      read_binary_file(roots.dev + "/shm/TT_UMD_LOCK.CHIP_IN_USE_" + std::to_string(ordinal) + "_PCIe");
  if (!file) {
    if (!file.missing())
      hidden.push_back(std::string("UMD's lock of the device: whether a workload owns it (") +
                       std::strerror(file.error) + ")");
    return {};
  }
  std::string bytes = file.text;
  bytes.resize(kMutexBytes + 16);  // a shorter file has no marker
  uint32_t word = 0;
  uint64_t marker = 0;
  int32_t ids[2] = {};  // tid, pid
  std::memcpy(&word, bytes.data(), sizeof word);
  std::memcpy(&marker, bytes.data() + kMutexBytes, sizeof marker);
  std::memcpy(ids, bytes.data() + kMutexBytes + sizeof marker, sizeof ids);
  if (marker != kMarker || ids[1] <= 0) return {};
  UmdLock lock;
  lock.taken = (word & kOwnerBits) != 0;
  lock.waited_for = (word & kWaiters) != 0;
  lock.owner_pid = ids[1];
  std::error_code none;  // a process that cannot be found has ended
  lock.owner_lives = fs::exists(roots.proc + "/" + std::to_string(ids[1]), none);
  return lock;
}

int umd_owner(const SystemRoots& roots, unsigned ordinal, std::vector<std::string>& hidden) {
  const UmdLock lock = umd_lock(roots, ordinal, hidden);
  return lock.taken && lock.owner_lives ? lock.owner_pid : 0;
}

}  // namespace ttc::card

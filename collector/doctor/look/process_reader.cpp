#include "collector/doctor/look/process_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "collector/attach/zone_logs.hpp"
#include "collector/doctor/look/entries.hpp"
#include "collector/doctor/look/variables.hpp"
#include "driver_iface/card/fd.hpp"
#include "driver_iface/pci/kernel_file.hpp"

namespace ttc::collect::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNode = "/dev/tenstorrent/";
constexpr const char* kLock = "TT_UMD_LOCK.CHIP_IN_USE_";
// The sentence of rtoptions.cpp that only builds without Tracy have.
constexpr std::string_view kWithoutTracy = "requires a Tracy-enabled build";
// A name of the real-time profiler's interface (tt-metal experimental/realtime_profiler.hpp), among a library's symbols.
constexpr std::string_view kRealTimeProfiler = "IsProgramRealtimeProfilerActive";
constexpr uint64_t kLargestLibrary = uint64_t{4} << 30;

std::string directory_of(const std::string& proc, int pid) {
  return proc + "/" + std::to_string(pid);
}

// Fields of /proc/PID/stat behind the name, which may hold anything. Index 0 is the state (field 3 of proc(5)).
std::vector<std::string> stat_fields(const std::string& text) {
  const size_t behind = text.rfind(')');
  std::vector<std::string> fields;
  if (behind == std::string::npos) return fields;
  std::istringstream rest(text.substr(behind + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

struct Mapping {
  uint64_t begin = 0, end = 0;
  std::string path;
  bool deleted = false;
};
std::vector<Mapping> mappings_of(const std::string& process, bool& readable) {
  std::ifstream maps(process + "/maps");  // megabytes of a large process
  readable = maps.is_open();
  std::vector<Mapping> found;
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos) continue;
    Mapping m;
    char* end = nullptr;
    m.begin = std::strtoull(line.c_str(), &end, 16);
    if (*end == '-') m.end = std::strtoull(end + 1, nullptr, 16);
    m.path = line.substr(path);
    constexpr std::string_view kDeleted = " (deleted)";
    m.deleted = m.path.ends_with(kDeleted);
    if (m.deleted) m.path.resize(m.path.size() - kDeleted.size());
    found.push_back(std::move(m));
  }
  return found;
}

std::string base_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_metal(const std::string& base) {
  return base.starts_with("libtt_metal") && base.find(".so") != std::string::npos;
}
bool is_tracy(std::string base) {
  std::transform(base.begin(), base.end(), base.begin(), [](unsigned char c) { return std::tolower(c); });
  return base.find("tracy") != std::string::npos && base.find(".so") != std::string::npos;
}

// libtracy.so.0.10.0, libTracyClient-0.13.1.so -> 0.10.0, 0.13.1. Empty if the file name has no version.
std::string version_in(const std::string& base) {
  for (size_t at = base.find("0."); at != std::string::npos; at = base.find("0.", at + 1)) {
    if (at != 0 && std::isdigit(static_cast<unsigned char>(base[at - 1]))) continue;
    std::string version = base.substr(at, base.find_first_not_of("0123456789.", at) - at);
    while (version.ends_with('.')) version.pop_back();
    if (version.size() > 2) return version;
  }
  return "";
}

// The directory of Python's packages that something is mapped from.
std::string packages_directory(const std::string& path) {
  for (const std::string_view name : {"/site-packages/", "/dist-packages/"})
    if (const size_t at = path.find(name); at != std::string::npos)
      return path.substr(0, at + name.size() - 1);
  return "";
}

// ttnn-0.62.1.dist-info: a package whose name begins with tt, and its version.
void read_packages(const std::string& process, ProcessState& p) {
  constexpr std::string_view kInfo = ".dist-info";
  std::error_code unreadable;
  for (const fs::path& entry : entries_of(process + "/root" + p.packages_at, unreadable)) {
    const std::string base = entry.filename().string();
    const size_t dash = base.find('-');
    if (!base.starts_with("tt") || !base.ends_with(kInfo) || dash + kInfo.size() >= base.size()) continue;
    p.packages.emplace_back(base.substr(0, dash),
                            base.substr(dash + 1, base.size() - kInfo.size() - dash - 1));
  }
  std::sort(p.packages.begin(), p.packages.end());
}

// tt-metal looks here for the sources of kernels and firmware (llrt/rtoptions.cpp: the first from 2026 on, then the other).
void read_metal_home(const std::string& process, ProcessState& p) {
  if (!p.environment) return;
  for (const char* name : {"TT_METAL_RUNTIME_ROOT", "TT_METAL_HOME"}) {
    const std::string home = value_in(*p.environment, name);
    std::error_code none;
    const std::string root = fs::canonical(process + "/root", none).string();
    std::string seen_there = process + "/root";
    seen_there += home;
    const std::string there = home.starts_with('/') ? fs::canonical(seen_there, none).string() : "";
    if (none || there.empty()) continue;
    p.metal_home = root.size() > 1 && there.starts_with(root) ? there.substr(root.size()) : there;
    p.metal_home_from = name;
    return;
  }
}

// A file of another process, mapped for searching. Empty when it cannot be read.
class SearchedFile {
 public:
  explicit SearchedFile(const std::string& path) {
    const card::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat now {};
    if (fd.get() < 0 || fstat(fd.get(), &now) != 0 || !S_ISREG(now.st_mode) || now.st_size == 0) return;
    if (static_cast<uint64_t>(now.st_size) > kLargestLibrary) return;
    size_ = static_cast<size_t>(now.st_size);
    void* at = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (at != MAP_FAILED) bytes_ = static_cast<const char*>(at);
  }
  ~SearchedFile() {
    if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  }
  SearchedFile(const SearchedFile&) = delete;
  SearchedFile& operator=(const SearchedFile&) = delete;

  explicit operator bool() const { return bytes_ != nullptr; }
  bool holds(std::string_view text) const {
    return bytes_ && memmem(bytes_, size_, text.data(), text.size());
  }

 private:
  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

// Searches the library that the process has mapped; only when a rule needs it.
void search_library(const std::string& process, ProcessState& p) {
  const auto names = p.environment ? names_in_question(*p.environment) : std::vector<std::string>();
  if (p.metal_library.empty() || p.metal_replaced) return;
  const SearchedFile library(process + "/root" + p.metal_library);
  if (!library) return;
  p.has_real_time_profiler = library.holds(kRealTimeProfiler);
  if (p.tracy_library && names.empty()) return;
  p.names_searched = true;
  p.metal_lacks_tracy = !p.tracy_library && library.holds(kWithoutTracy);
  for (const std::string& name : names)
    if (library.holds(name)) p.names_in_library.push_back(name);
}

// A thread that is in futex(2) on a word of the lock's mapping waits for it.
void find_waits(const std::string& process, const std::vector<Mapping>& mappings, ProcessState& p) {
  std::vector<std::pair<Mapping, unsigned>> locks;
  for (const Mapping& m : mappings) {
    const std::string base = base_of(m.path);
    if (!base.starts_with(kLock)) continue;
    const std::string rest = base.substr(std::strlen(kLock));
    if (const auto n = card::as_number(rest.substr(0, rest.find('_')))) locks.emplace_back(m, *n);
  }
  if (locks.empty()) return;
  for (const fs::path& task : entries_of(process + "/task")) {
    std::istringstream call(card::read_kernel_file(task.string() + "/syscall").text);
    long number = -1;
    std::string argument;
    if (!(call >> number >> argument) || number != SYS_futex) continue;
    const uint64_t address = std::strtoull(argument.c_str(), nullptr, 16);
    for (const auto& [m, n] : locks)
      if (address >= m.begin && address < m.end &&
          std::find(p.waits_for_chip.begin(), p.waits_for_chip.end(), n) == p.waits_for_chip.end())
        p.waits_for_chip.push_back(n);
  }
}

void read_mappings(const std::string& process, ProcessState& p) {
  const std::vector<Mapping> mappings = mappings_of(process, p.may_be_read);
  for (const Mapping& m : mappings) {
    const std::string base = base_of(m.path);
    if (is_metal(base)) {
      p.metal_library = m.path;
      p.metal_replaced = p.metal_replaced || m.deleted;
    }
    if (is_tracy(base)) {
      p.tracy_library = true;
      if (p.tracy_version.empty()) p.tracy_version = version_in(base);
    }
    if (p.packages_at.empty()) p.packages_at = packages_directory(m.path);
  }
  find_waits(process, mappings, p);
}

bool maps_a_lock(const std::string& process) {
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(kLock) != std::string::npos) return true;
  return false;
}

// Signals that are ignored, bit 0 being SIGHUP (proc(5)).
bool ignores_hangup(const std::string& process) {
  const std::string status = card::read_kernel_file(process + "/status").text;
  const size_t at = status.find("SigIgn:");
  return at != std::string::npos && (std::strtoull(status.c_str() + at + 7, nullptr, 16) & 1);
}

double age_of(const std::string& proc, const std::string& started_ticks) {
  const double up = std::strtod(card::read_kernel_file(proc + "/uptime").text.c_str(), nullptr);
  const double started = static_cast<double>(std::strtoull(started_ticks.c_str(), nullptr, 10)) /
                         static_cast<double>(sysconf(_SC_CLK_TCK));
  return up > started ? up - started : 0;
}

void read_descriptor(const fs::path& process, int pid, const fs::path& descriptor,
                     const std::set<uint64_t>& socket_inodes, Descriptors& found) {
  std::error_code gone;  // closed meanwhile
  const std::string target = fs::read_symlink(descriptor, gone).string();
  constexpr std::string_view kSocket = "socket:[";
  if (target.starts_with(kSocket)) {
    const uint64_t inode = std::strtoull(target.c_str() + kSocket.size(), nullptr, 10);
    if (!socket_inodes.contains(inode)) return;
    int& owner = found.socket_owner[inode];
    owner = owner == 0 ? pid : std::min(owner, pid);
    return;
  }
  if (!target.starts_with(kNode)) return;
  const auto ordinal = card::as_number(target.substr(std::strlen(kNode)));
  if (!ordinal) return;
  const std::string info = card::read_kernel_file((process / "fdinfo" / descriptor.filename()).string()).text;
  const size_t flags = info.find("flags:");
  const bool exclusive =
      flags != std::string::npos && (std::strtoul(info.c_str() + flags + 6, nullptr, 8) & O_EXCL);
  found.nodes.push_back({pid, *ordinal, exclusive});
}

}  // namespace

Descriptors read_descriptors(const std::string& proc, const std::set<uint64_t>& socket_inodes) {
  Descriptors found;
  for (const fs::path& entry : entries_of(proc)) {
    const auto pid = card::as_number(entry.filename().string());
    if (!pid) continue;
    std::error_code error;
    const std::vector<fs::path> descriptors = entries_of((entry / "fd").string(), error);
    if (error == std::errc::permission_denied) ++found.closed_to_us;
    for (const fs::path& descriptor : descriptors)
      read_descriptor(entry, static_cast<int>(*pid), descriptor, socket_inodes, found);
  }
  return found;
}

char state_of(const std::string& proc, int pid) {
  const auto fields = stat_fields(card::read_kernel_file(directory_of(proc, pid) + "/stat").text);
  return fields.empty() ? '?' : fields[0][0];
}

std::optional<ProcessState> read_process(const std::string& proc, int pid) {
  const std::string process = directory_of(proc, pid);
  const auto fields = stat_fields(card::read_kernel_file(process + "/stat").text);
  constexpr size_t kParent = 1, kSession = 3, kStarted = 19;
  if (fields.size() <= kStarted) return std::nullopt;
  ProcessState p;
  p.pid = pid;
  p.state = fields[0][0];
  p.parent = std::atoi(fields[kParent].c_str());
  p.session = std::atoi(fields[kSession].c_str());
  p.age_s = age_of(proc, fields[kStarted]);
  p.name = card::read_kernel_file(process + "/comm").text;
  p.command = card::read_kernel_file(process + "/cmdline").text;
  // The command line has the name by which the program was called: the kernel calls one that started itself again
  // exe.
  const std::string called = base_of(p.command.substr(0, p.command.find('\0')));
  if (!called.empty()) p.name = called;
  std::replace(p.command.begin(), p.command.end(), '\0', ' ');
  if (p.command.size() > 300) p.command.resize(300);
  std::error_code none;
  p.session_leader_lives = fs::exists(directory_of(proc, p.session), none);
  p.ignores_hangup = ignores_hangup(process);
  p.environment = environment_of(pid, proc);
  read_mappings(process, p);
  p.may_be_read = p.may_be_read && p.environment;
  search_library(process, p);
  read_metal_home(process, p);
  if (!p.packages_at.empty()) read_packages(process, p);
  p.zone_log_directory = zone_log_directory_of(pid, proc);
  p.has_zone_logs = !p.zone_log_directory.empty() && has_zone_logs(p.zone_log_directory);
  if (!p.metal_library.empty() && !p.has_zone_logs && p.environment && profiler_on(*p.environment))
    p.kernels = look_at_kernel_cache(process, *p.environment, p.age_s);
  return p;
}

std::vector<int> mappers_of_locks(const std::string& proc) {
  std::vector<int> pids;
  for (const fs::path& entry : entries_of(proc))
    if (const auto pid = card::as_number(entry.filename().string()))
      if (maps_a_lock(entry.string())) pids.push_back(static_cast<int>(*pid));
  return pids;
}

}  // namespace ttc::collect::doctor

#include "tools/fleet/clock/host_clock.hpp"

#include <fcntl.h>
#include <linux/ptp_clock.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/ranks/clock_points.hpp"
#include "ttcollect/host_time.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ttc::fleet {
namespace {

// Allowance for the age of an answer: chrony's own estimate of the clock worsens by 1 ppm and its skew; ten times as much is
// allowed for.
constexpr uint64_t kAgePpm = 10;
constexpr uint64_t kProgramNs = 1'000'000'000;
constexpr size_t kMostPrinted = 16 << 10;

// A clock's time less RAW, and how long reading took, which counts as error.
struct Compared {
  int64_t minus_raw_ns = 0;
  uint64_t took_ns = 0;
};

Compared realtime() {
  const uint64_t before = collect::raw_now_ns(), utc = collect::host_clock_ns(CLOCK_REALTIME),
                 after = collect::raw_now_ns();
  return {static_cast<int64_t>(utc - (before + (after - before) / 2)), after - before};
}

// The hardware clock between two readings of CLOCK_REALTIME by the kernel.
std::optional<Compared> hardware(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return std::nullopt;
  ptp_sys_offset samples{};
  samples.n_samples = 1;
  const Compared around = realtime();
  const bool read = ioctl(fd, PTP_SYS_OFFSET, &samples) == 0;
  close(fd);
  if (!read) return std::nullopt;
  const auto ns = [](const ptp_clock_time& t) {
    return static_cast<int64_t>(t.sec) * 1'000'000'000 + static_cast<int64_t>(t.nsec);
  };
  const int64_t before = ns(samples.ts[0]), clock = ns(samples.ts[1]), after = ns(samples.ts[2]);
  if (after < before) return std::nullopt;  // CLOCK_REALTIME was set back
  const int64_t middle = before + (after - before) / 2;
  return Compared{clock - middle + around.minus_raw_ns,
                  static_cast<uint64_t>(after - before) + around.took_ns};
}

// The only hardware clock of this host, empty where there is none. With several it is not known which one ptp4l disciplines.
// Hypervisors give their guests one that no ptp4l disciplines.
std::optional<std::string> only_hardware_clock() {
  std::string found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/ptp", error)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "clock_name"), name);
    if (name.starts_with("KVM") || name.starts_with("hyperv") || name.starts_with("vmclock")) continue;
    if (!found.empty()) return std::nullopt;
    found = "/dev/" + entry.path().filename().string();
  }
  return found;
}

}  // namespace

std::string printed_by(const std::vector<std::string>& words, uint64_t most_ns) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string printed;
  const uint64_t until = collect::monotonic_now_ns() + most_ns;
  bool whole = false;
  for (char bytes[1024]; !failed && printed.size() < kMostPrinted;) {
    const uint64_t now = collect::monotonic_now_ns();
    pollfd ready{ends[0], POLLIN, 0};
    if (now >= until || poll(&ready, 1, static_cast<int>((until - now) / 1'000'000 + 1)) <= 0) break;
    const ssize_t got = read(ends[0], bytes, sizeof bytes);
    whole = got == 0;
    if (got <= 0) break;
    printed.append(bytes, static_cast<size_t>(got));
  }
  close(ends[0]);
  if (failed) return {};
  if (!whole) kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? printed : std::string();
}

uint64_t clock_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Clocks of a time namespace have offsets of their own.
  struct stat space {};
  if (stat("/proc/self/ns/time", &space) == 0) id += std::to_string(space.st_ino);
  const uint64_t number = XXH64(id.data(), id.size(), 0);
  return number ? number : 1;
}

void HostClockDiscipline::refresh() {
  if (collect::monotonic_now_ns() < next_ns_) return;
  Reported fresh;
  if (const auto chrony = bound_of_chrony(printed_by({"chronyc", "-c", "-n", "tracking"}, kProgramNs)))
    fresh.scale = kUtcScale, fresh.bound_ns = *chrony;
  const auto ptp = state_of_ptp(
      printed_by({"pmc", "-u", "-b", "0", "GET TIME_STATUS_NP", "GET CURRENT_DATA_SET"}, kProgramNs));
  const auto clock = only_hardware_clock();
  if (ptp && clock && (fresh.scale == kNoScale || ptp->bound_ns < fresh.bound_ns))
    fresh.scale = ptp->grandmaster, fresh.bound_ns = ptp->bound_ns, fresh.hardware_clock = *clock;
  fresh.at_ns = collect::monotonic_now_ns();
  next_ns_ = fresh.at_ns + (fresh.scale == kNoScale ? kRestNs : kEveryNs);
  const std::lock_guard lock(mutex_);
  reported_ = fresh;
}

Discipline HostClockDiscipline::now() const {
  Reported r;
  {
    const std::lock_guard lock(mutex_);
    r = reported_;
  }
  if (r.scale == kNoScale) return {};
  const auto read = r.hardware_clock.empty() ? std::optional(realtime()) : hardware(r.hardware_clock);
  if (!read) return {};
  return {r.scale, read->minus_raw_ns,
          r.bound_ns + read->took_ns + tools::parts_of(collect::monotonic_now_ns() - r.at_ns, kAgePpm)};
}

}  // namespace ttc::fleet

// What a collecting ttcollect holds in memory: real processes, a paced workload on every core, and the
// kernel's own account in /proc/PID/status while it runs. What is mapped from the card and from the ring
// counts as shared; the ring is of the size that the user chose and is taken off.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <thread>

#include "bench/machine.hpp"
#include "shm/segment.hpp"

namespace {

using namespace ttc;
using namespace ttc::bench;

constexpr uint64_t kRingMiB = 32;

// A child that does not outlive this process, however it ends.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Child() {
    if (running()) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool running() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return !ended_;
  }
  int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

// Fields of /proc/PID/status in KiB; empty when it has gone.
std::map<std::string, uint64_t> memory_of(pid_t pid) {
  std::map<std::string, uint64_t> fields;
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string text; std::getline(status, text);)
    if (text.starts_with("Vm") || text.starts_with("Rss"))
      fields[text.substr(0, text.find(':'))] = std::strtoull(text.c_str() + text.find(':') + 1, nullptr, 10);
  return fields;
}

int run(const std::string& bin) {
  const std::string name = "bench-memory-" + std::to_string(getpid());
  const std::string programs = once() ? "20" : "500";
  std::map<std::string, uint64_t> most;
  size_t looks = 0;
  int codes[2];
  {
    Child card({bin + "/ttemu", "--name", name, "--pace", "--cores", "0", "--programs", programs,
                "--host-reads", "every:200", "--wait-observer", "--quiet"});
    Child collector({bin + "/ttcollect", "--device", "emu:" + name, "--wait", "20s", "--ring",
                     std::to_string(kRingMiB) + "MiB", "--quiet"});
    const uint64_t give_up = now_ns() + 100'000'000'000;
    while (collector.running() && now_ns() < give_up) {
      for (const auto& [field, kib] : memory_of(collector.pid())) most[field] = std::max(most[field], kib);
      ++looks;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // sampling another process
    }
    while (!collector.running() && card.running() && now_ns() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool over = !collector.running() && !card.running();
    codes[0] = over ? collector.exit_code() : -1;
    codes[1] = over ? card.exit_code() : -1;
  }
  shm::remove_segment("emu-" + name);
  if (codes[0] != 0 || codes[1] != 0) {
    result("WRONG: ttcollect ended with %d, ttemu with %d", codes[0], codes[1]);
    return 1;
  }
  const auto mib = [&](const char* field) { return static_cast<double>(most[field]) / 1024; };
  const double beyond = mib("VmHWM") - kRingMiB;
  result(
      "%s programs on all cores, ring of %llu MiB, %zu looks: VmHWM %.1f MiB, RssAnon %.1f, RssShmem %.1f "
      "(ring and"
      " card), RssFile %.1f",
      programs.c_str(), static_cast<unsigned long long>(kRingMiB), looks, mib("VmHWM"), mib("RssAnon"),
      mib("RssShmem"), mib("RssFile"));
  result("beyond the ring %.1f MiB %s, ratio of VmHWM to the ring %.2f", beyond,
         judged(beyond, "<=", 64).c_str(), mib("VmHWM") / kRingMiB);
  return 0;
}

}  // namespace

int main() {
  print_machine("memory_bench");
  const std::string bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* program : {"ttemu", "ttcollect"})
    if (access((bin + "/" + program).c_str(), X_OK) != 0) {
      result("skipped: %s/%s is not built", bin.c_str(), program);
      return 0;
    }
  return run(bin);
}

#include "collector/ttcollect/viewer.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr uint64_t kMayTakeNs = 30'000'000'000;

std::string exporter_path() {
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none && std::filesystem::exists(own.parent_path() / "ttexport", none))
    return (own.parent_path() / "ttexport").string();
  return "ttexport";
}

}  // namespace

// A process group of its own: Ctrl-C means the collector, which ends the viewer when the last words are out.
Viewer::Viewer(const std::string& listen, const std::vector<std::string>& live_names) {
  std::vector<std::string> words{
      exporter_path(),         "--format", "tracy", "--listen", listen, "--wait", "10s", "--end-with-parent",
      std::to_string(getpid())};
  for (const std::string& name : live_names) {
    words.emplace_back("--from");
    words.push_back("live:" + name);
  }
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&pid_, argv[0], nullptr, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return;
  pid_ = -1;
  failure_ = "--tracy: " + words[0] + " cannot be started: " + std::strerror(error);
}

Viewer::~Viewer() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string Viewer::end() {
  if (pid_ < 0) return failure_;
  kill(pid_, SIGTERM);
  const uint64_t until = monotonic_now_ns() + kMayTakeNs;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (monotonic_now_ns() > until) return "--tracy: a Tracy server did not take the rest in time";
    constexpr useconds_t kLookAgainUs = 10'000;
    usleep(kLookAgainUs);
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return "--tracy: ttexport, which serves Tracy, has failed" +
         (WIFEXITED(status) ? " (exit code " + std::to_string(WEXITSTATUS(status)) + ")" : std::string());
}

}  // namespace ttc::collect

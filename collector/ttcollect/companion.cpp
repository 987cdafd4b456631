#include "collector/ttcollect/companion.hpp"

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

std::string path_of(const std::string& program) {
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none && std::filesystem::exists(own.parent_path() / program, none))
    return (own.parent_path() / program).string();
  return program;
}

}  // namespace

// A process group of its own: Ctrl-C means the collector, which ends it when the last words are out.
Companion::Companion(std::string option, const std::string& program, std::vector<std::string> words,
                     const std::vector<std::string>& live_names, int well)
    : option_(std::move(option)), program_(path_of(program)), well_(well) {
  words.insert(words.begin(), program_);
  words.insert(words.end(), {"--end-with-parent", std::to_string(getpid())});
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
  failure_ = option_ + ": " + words[0] + " cannot be started: " + std::strerror(error);
}

Companion::~Companion() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string Companion::end() {
  if (pid_ < 0) return failure_;
  kill(pid_, SIGTERM);
  const uint64_t until = monotonic_now_ns() + kMayTakeNs;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (monotonic_now_ns() > until) return option_ + ": what was left was not taken in time";
    constexpr useconds_t kLookAgainUs = 10'000;
    usleep(kLookAgainUs);
  }
  pid_ = -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) return {};  // the run was over before it was ready
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == well_)) return {};
  return option_ + ": " + program_.substr(program_.rfind('/') + 1) + " has failed" +
         (WIFEXITED(status) ? " (exit code " + std::to_string(WEXITSTATUS(status)) + ")" : std::string());
}

}  // namespace ttc::collect

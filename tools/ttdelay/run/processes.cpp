#include "tools/ttdelay/run/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace ttc::delay {
namespace {

namespace fs = std::filesystem;
constexpr auto kPoll = std::chrono::milliseconds(5);

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_words(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    words.push_back(name);
    words.back() += "=" + value;
  }
  return words;
}

bool is_marked(pid_t pid, const std::string& mark) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  const std::string wanted = std::string(kMarkVariable) + "=" + mark;
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(wanted)) return true;
  return false;
}

bool is_zombie(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() || text[end + 2] == 'Z';
}

// The pid may have been reused: the descriptor pins one process, and the mark is checked after it was opened.
void signal_marked(pid_t pid, const std::string& mark, int number) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return;
  if (is_marked(pid, mark)) syscall(SYS_pidfd_send_signal, descriptor, number, nullptr, 0);
  close(descriptor);
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

uint64_t steady_ns() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

pid_t start_process(const Start& start) {
  std::vector<std::string> words = start.words, variables = environment_words(start.environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, start.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_addopen(&files, 2, start.err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words[0].c_str(), &files, &attributes, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw StartError(words[0] + " cannot be started: " + std::strerror(error));
  return pid;
}

std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", none)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size() || pid == getpid()) continue;
    if (is_marked(pid, mark) && !is_zombie(pid)) found.push_back(pid);
  }
  return found;
}

bool end_marked(const std::string& mark, uint64_t grace_ns) {
  std::vector<pid_t> left = marked_processes(mark);
  const bool any = !left.empty();
  for (const pid_t pid : left) signal_marked(pid, mark, SIGTERM);
  const uint64_t until = steady_ns() + grace_ns;
  for (; !left.empty(); left = marked_processes(mark)) {
    if (steady_ns() > until)
      for (const pid_t pid : left) signal_marked(pid, mark, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(
        kPoll);  // processes that are no children of ours have no descriptor to wait for them all
  }
  return any;
}

std::string own_program(const std::string& name) {
  std::error_code none;
  const fs::path beside = fs::read_symlink("/proc/self/exe", none).parent_path() / name;
  return !none && access(beside.c_str(), X_OK) == 0 ? beside.string() : name;
}

Printed run_program_of_ours(const std::string& name, const std::vector<std::string>& arguments) {
  const int out = memfd_create("ttdelay", MFD_CLOEXEC);
  if (out < 0) return {};
  std::vector<std::string> words{own_program(name)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, words[0].c_str(), &files, nullptr, pointers(words).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  Printed printed;
  int status = 0;
  if (error == 0 && waitpid(pid, &status, 0) == pid) {
    printed.code = exit_code_of(status);
    lseek(out, 0, SEEK_SET);
    char buffer[65536];
    for (ssize_t got; (got = read(out, buffer, sizeof buffer)) > 0;)
      printed.out.append(buffer, static_cast<size_t>(got));
  }
  close(out);
  return printed;
}

int run_shell(const std::string& command, uint64_t limit_ns) {
  std::vector<std::string> words{"/bin/sh", "-c", command};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/bin/sh", nullptr, &attributes, pointers(words).data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return 127;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd ends{descriptor, POLLIN, 0};
  const bool in_time = poll(&ends, 1, static_cast<int>(limit_ns / 1'000'000)) > 0;
  if (!in_time) kill(-pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  close(descriptor);
  return in_time ? exit_code_of(status) : -1;
}

}  // namespace ttc::delay

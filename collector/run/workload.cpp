#include "collector/run/workload.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "collector/run/request/run_request.hpp"

namespace ttc::collect {
namespace {

constexpr int kNotExecutable = 126, kNotFound = 127, kBySignal = 128;

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The parent of a process and its state, out of /proc/PID/stat; 0 where it is gone.
pid_t parent_of(const std::string& pid, char& state) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');  // a name may hold anything
  pid_t parent = 0;
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

}  // namespace

Workload::Workload(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGTTOU, SIG_IGN);  // moving the terminal from behind it would stop us
  if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp()) terminal_ = STDIN_FILENO;
  const std::vector<std::string> words = words_to_execute(command);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(environment);
  int failed[2];  // errno of exec; closed by its success
  if (pipe2(failed, O_CLOEXEC) != 0) {
    error_ = StartError{kNotExecutable, std::string("no pipe can be made: ") + std::strerror(errno)};
    return;
  }
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    give_terminal();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGTTOU, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);  // program::run_program ignores it
    environ = envp.data() ? const_cast<char**>(envp.data()) : environ;
    execvp(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failed[1], &error, sizeof error);
    _exit(kNotFound);
  }
  const int fork_error = errno;
  close(failed[1]);
  int error = 0;
  if (pid_ < 0)
    error = fork_error;
  else
    setpgid(pid_, pid_);  // whichever of the two is first
  const bool not_started = pid_ < 0 || read(failed[0], &error, sizeof error) == sizeof error;
  close(failed[0]);
  if (!not_started) return;
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  take_terminal();
  pid_ = -1;
  error_ = StartError{error == ENOENT ? kNotFound : kNotExecutable,
                      words[0] + " cannot be started: " + std::strerror(error) +
                          (error == ENOENT ? "; check the spelling and the PATH" : "")};
}

Workload::~Workload() {
  if (pid_ > 0) take_terminal();
}

void Workload::give_terminal() const {
  if (terminal_ >= 0) tcsetpgrp(terminal_, pid_ > 0 ? pid_ : getpid());
}
void Workload::take_terminal() const {
  if (terminal_ >= 0) tcsetpgrp(terminal_, getpgrp());
}

void Workload::send(int signal) const {
  if (pid_ > 0) kill(-pid_, signal);
}

// Ctrl-Z stops the workload's group and not ours: the shell waits for us.
void Workload::stopped(pid_t pid) {
  if (pid != pid_ || terminal_ < 0) return;
  take_terminal();
  raise(SIGSTOP);
  if (tcgetpgrp(terminal_) == getpgrp()) give_terminal();  // not in the background (bg)
  send(SIGCONT);
}

void Workload::look(const std::vector<pid_t>& others) {
  // The workload's children alone are waited for: waitpid(-1) would reap those that other code waits for.
  std::vector<pid_t> children = left(others);
  if (!exit_code_ && std::find(children.begin(), children.end(), pid_) == children.end())
    children.push_back(pid_);
  bool alive = false;
  for (const pid_t child : children) {
    int status = 0;
    const pid_t got = waitpid(child, &status, WNOHANG | WUNTRACED);
    if (got != child) {
      alive = alive || got == 0;
      continue;
    }
    if (WIFSTOPPED(status)) {
      alive = true;
      stopped(child);
      continue;
    }
    if (child != pid_) continue;
    end_signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit_code_ = end_signal_ ? kBySignal + end_signal_ : WEXITSTATUS(status);
    take_terminal();
  }
  // What ended just now may have left orphans, which are children of ours since then.
  if (!alive && exit_code_) over_ = left(others).empty();
}

std::vector<pid_t> Workload::left(const std::vector<pid_t>& others) {
  std::vector<pid_t> children;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    char state = 0;
    if (parent_of(name, state) != getpid()) continue;
    const pid_t pid = std::atoi(name.c_str());
    if (std::find(others.begin(), others.end(), pid) == others.end()) children.push_back(pid);
  }
  return children;
}

}  // namespace ttc::collect

#include "collector/run/report/helper_program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>

namespace ttc::collect {
namespace {

constexpr int kNoProgram = 127, kSignalled = 128;

std::string path_of(const std::string& name) {
  std::error_code none;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none && std::filesystem::exists(own.parent_path() / name, none))
    return (own.parent_path() / name).string();
  return name;
}

}  // namespace

HelperProgram::HelperProgram(const std::string& name, const std::vector<std::string>& arguments, Output out,
                             Output err) {
  if (out == Output::kept) out_ = memfd_create("out", MFD_CLOEXEC);
  if (err == Output::kept) err_ = memfd_create("err", MFD_CLOEXEC);
  std::vector<std::string> words{path_of(name)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kNoProgram);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(nothing, STDIN_FILENO);
    if (out_ >= 0) dup2(out_, STDOUT_FILENO);
    if (err_ >= 0) dup2(err_, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(kNoProgram);
  }
  close(nothing);
  if (pid_ < 0) code_ = kNoProgram;
}

HelperProgram::~HelperProgram() {
  if (running()) {
    kill(pid_, SIGKILL);
    wait();
  }
  for (const int descriptor : {out_, err_})
    if (descriptor >= 0) close(descriptor);
}

void HelperProgram::keep(int status) {
  code_ = WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

bool HelperProgram::running() {
  if (code_) return false;
  int status = 0;
  const pid_t got = waitpid(pid_, &status, WNOHANG);
  if (got == pid_)
    keep(status);
  else if (got < 0 && errno == ECHILD)
    code_ = kNoProgram;
  return !code_;
}

void HelperProgram::ask_to_end() const {
  if (!code_) kill(pid_, SIGTERM);
}

bool HelperProgram::tend(unsigned ms) {
  sigset_t blocked, waited;
  sigemptyset(&blocked);
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  sigemptyset(&waited);
  sigaddset(&waited, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (sigismember(&blocked, number) == 1) sigaddset(&waited, number);
  if (!running()) return false;
  const timespec limit{ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
  const int number = sigtimedwait(&waited, nullptr, &limit);
  if (number <= 0 || number == SIGCHLD) return running();
  kill(pid_, broken_off_ ? SIGKILL : SIGTERM);
  broken_off_ = true;
  return running();
}

int HelperProgram::wait() {
  constexpr unsigned kLookAgainMs = 20;  // for a caller that has not blocked SIGCHLD
  while (tend(kLookAgainMs)) {
  }
  return *code_;
}

std::string HelperProgram::read_back(int descriptor) {
  std::string text;
  if (descriptor < 0) return text;
  char part[1 << 14];
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor, part, sizeof part, at);
    if (got <= 0) return text;
    text.append(part, static_cast<size_t>(got));
    at += got;
  }
}

}  // namespace ttc::collect

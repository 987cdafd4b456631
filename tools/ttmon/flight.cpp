#include "tools/ttmon/flight.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ttc::tools {
namespace {

// Beside this program, or on the path.
std::string collector_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "ttcollect";
  return !error && std::filesystem::exists(beside, error) ? beside.string() : "ttcollect";
}

// The last line that is not empty.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
}

}  // namespace

FlightRecording::~FlightRecording() {
  if (output_ >= 0) close(output_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);  // a file is whole or not there
}

std::string FlightRecording::start(const std::string& live_name) {
  if (goes_on()) return "a flight recording is being written already";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no flight recording: ") + std::strerror(errno);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  std::string program = collector_program(), command = "snapshot", name = live_name;
  char* arguments[] = {program.data(), command.data(), name.data(), nullptr};
  const int failed = posix_spawnp(&pid_, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    pid_ = -1;
    return "no flight recording: ttcollect cannot be started: " + std::string(std::strerror(failed));
  }
  output_ = ends[0];
  text_.clear();
  return "flight recording of live:" + live_name + " ...";
}

std::string FlightRecording::ended() {
  if (!goes_on()) return {};
  char bytes[1024];
  for (ssize_t got; (got = read(output_, bytes, sizeof bytes)) > 0;)
    if (text_.size() < 65536) text_.append(bytes, static_cast<size_t>(got));
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return {};
  for (ssize_t got; (got = read(output_, bytes, sizeof bytes)) > 0;)
    text_.append(bytes, static_cast<size_t>(got));
  close(output_);
  output_ = -1;
  pid_ = -1;
  const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const std::string said = last_line(text_);
  return (well ? "flight recording: " : "no flight recording: ") +
         (said.empty() ? "it printed nothing" : said);
}

}  // namespace ttc::tools

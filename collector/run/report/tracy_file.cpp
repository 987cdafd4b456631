#include "collector/run/report/tracy_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "collector/run/report/helper_program.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kPortMs = 5, kTendMs = 20;
// The time for a program that has everything and still writes, and not for one that waits for a server by which it
// was refused.
constexpr uint64_t kWritesForNs = 60'000'000'000;

// The port on which ttexport listens; empty: it ended without one.
std::string port_of(HelperProgram& server) {
  constexpr std::string_view kBefore = "connect to 127.0.0.1:";
  for (bool running = true;; running = server.tend(kPortMs)) {
    const std::string said = server.err();
    const size_t at = said.find(kBefore), from = at + kBefore.size();
    const size_t end = at == std::string::npos ? at : said.find_first_not_of("0123456789", from);
    if (end != std::string::npos && end > from) return said.substr(from, end - from);
    if (!running) return {};
  }
}

// 0, or what went wrong with it.
int code_of_capture(HelperProgram& capture, HelperProgram& server) {
  uint64_t served_ns = 0;
  while (capture.tend(kTendMs)) {
    if (served_ns == 0 && !server.running()) served_ns = monotonic_now_ns();
    if (served_ns && monotonic_now_ns() - served_ns > kWritesForNs) capture.ask_to_end();
  }
  return capture.wait();
}

}  // namespace

std::string tracy_capture_program(const std::string& folder, const std::string& path) {
  std::string rest = folder.empty() ? path : folder + ":" + path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    for (const char* name : {"tracy-capture", "capture-release"}) {
      const std::filesystem::path program = std::filesystem::path(rest.substr(0, end)) / name;
      if (end && access(program.c_str(), X_OK) == 0) return std::filesystem::absolute(program).string();
    }
    rest.erase(0, end + 1);
  }
  return {};
}

std::string make_tracy_file(const std::string& program, const std::string& capture, const std::string& out) {
  const std::string part = out + ".part";
  HelperProgram server("ttexport", {"--format", "tracy", "--listen", "0", "--once", "--from", capture},
                       HelperProgram::Output::kept, HelperProgram::Output::kept);
  const std::string port = port_of(server);
  if (port.empty())
    return "no .tracy file was made: ttexport ended with code " + std::to_string(server.wait());
  int code = 0;
  {
    HelperProgram captured(program, {"-f", "-o", part, "-a", "127.0.0.1", "-p", port},
                           HelperProgram::Output::kept, HelperProgram::Output::kept);
    code = code_of_capture(captured, server);
  }
  std::error_code absent;
  // It waits for another one, where this one failed or ended without having connected.
  if (code != 0 || !std::filesystem::exists(part, absent)) server.ask_to_end();
  const uint64_t ended_ns = monotonic_now_ns();
  while (server.tend(kTendMs))
    if (monotonic_now_ns() - ended_ns > kWritesForNs) server.ask_to_end();
  const int served = server.wait();
  std::error_code error;
  if (code == 0 && served == 0) std::filesystem::rename(part, out, error);
  if (code == 0 && served == 0 && !error) return out + " is the timeline for Tracy";
  std::error_code none;
  std::filesystem::remove(part, none);
  std::string why = "no .tracy file was made: " + program + " ended with code " + std::to_string(code);
  why += ", ttexport with " + std::to_string(served);
  return error ? why + "; " + error.message() : why;
}

}  // namespace ttc::collect

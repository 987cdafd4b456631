#include "collector/run/short_programs.hpp"

#include <unistd.h>

#include <filesystem>

namespace ttc::collect {
namespace {

namespace fs = std::filesystem;

// Finds a program as execvp does; empty: there is none.
std::string found(const std::string& word, const std::string& path) {
  std::error_code none;
  if (word.find('/') != std::string::npos) return fs::canonical(word, none).string();
  for (std::string rest = path; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / word;
    if (access(candidate.c_str(), X_OK) == 0) return fs::canonical(candidate, none).string();
    rest.erase(0, end + 1);
  }
  return {};
}

}  // namespace

ShortPrograms::ShortPrograms(const std::vector<std::string>& command, const Environment& environment)
    : program_(command.empty() ? std::string() : found(command[0], value_in(environment, "PATH"))),
      build_id_(build_id_of(program_)),
      file_(handshakes_file(environment)),
      handshake_(kept_handshake(file_, build_id_)) {}

std::string ShortPrograms::sentence() const {
  if (handshake_)
    return std::string("sets ") + kWaitVariable + "=1 (--wait-for-short): " + program_ +
           " was served before, with protocol " + std::to_string(handshake_->protocol) +
           ". A process of it that ends waits until this run has taken what it holds; if this run is killed "
           "meanwhile, the process waits until it is killed, too";
  const std::string not_set = std::string("--wait-for-short: ") + kWaitVariable + " is not set, because ";
  if (build_id_.empty()) return not_set + program_ + " is no program with a build id";
  return not_set + "no run has served this build of " + program_ +
         " to its end yet (the first program of a workload, which ends later than it is connected to)";
}

std::string ShortPrograms::keep(const std::vector<HostClientResult>& results) const {
  if (build_id_.empty() || file_.empty()) return {};
  for (const HostClientResult& r : results) {
    if (!r.in_order || r.files.program != program_) continue;
    const auto handshake = handshake_of(r.files, r.protocol);
    return handshake ? keep_handshake(file_, *handshake) : std::string();
  }
  return {};
}

std::string sentence_of_waiting(pid_t pid) {
  const std::string number = std::to_string(pid);
  return "host side: process " + number +
         " has a protocol of Tracy that this build does not support, and waits in its exit until it is "
         "killed, because "
         "it "
         "inherited " +
         kWaitVariable + "; `kill " + number + "` ends it";
}

}  // namespace ttc::collect

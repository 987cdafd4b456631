#include "collector/program/output_guard.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "collector/program/program.hpp"

namespace ttc::program {
namespace {

namespace fs = std::filesystem;

using Status = struct stat;

bool status_of_output(const std::string& output, Status& status) {
  const int result = output == "-" ? fstat(STDOUT_FILENO, &status) : stat(output.c_str(), &status);
  return result == 0 && S_ISREG(status.st_mode);
}

bool is_same(const std::string& path, const Status& output) {
  Status status{};
  return stat(path.c_str(), &status) == 0 && status.st_dev == output.st_dev && status.st_ino == output.st_ino;
}

// The name of `output` at `input` or below it; empty: it is not there.
std::string name_in(const std::string& input, const Status& output) {
  if (is_same(input, output)) return input;
  std::error_code error;  // what cannot be read is no input
  if (!fs::is_directory(input, error)) return {};
  fs::recursive_directory_iterator below(input, fs::directory_options::skip_permission_denied, error);
  for (; !error && below != fs::recursive_directory_iterator(); below.increment(error))
    if (is_same(below->path(), output)) return below->path();
  return {};
}

}  // namespace

void refuse_foreign_link(const std::string& output) {
  Status link{};
  if (output.empty() || output == "-" || lstat(output.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return;
  if (link.st_uid == geteuid() || link.st_uid == 0) return;
  throw UsageError("output " + output + " is a symbolic link of another user (" +
                   std::to_string(link.st_uid) + ") and is not followed; name the file itself");
}

void refuse_output_over_input(const std::string& output, std::span<const std::string> inputs) {
  refuse_foreign_link(output);
  Status status{};
  if (output.empty() || !status_of_output(output, status)) return;
  for (const std::string& input : inputs) {
    const std::string name = name_in(input, status);
    if (name.empty()) continue;
    const std::string what = output == "-" ? "standard output" : "output " + output;
    throw UsageError(what + " is the input" + (name == output ? "" : " " + name) + "; give another output");
  }
}

}  // namespace ttc::program

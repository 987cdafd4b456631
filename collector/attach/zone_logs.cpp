#include "collector/attach/zone_logs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "collector/host/process_environment.hpp"
#include "firmware_markers/zone_names.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kLongestLine = 64 << 10;  // a longer one is no compiler note
constexpr const char* kNames[] = {"zone_src_locations.log", "new_zone_src_locations.log"};

}  // namespace

bool has_zone_logs(const std::string& directory) {
  std::error_code ignored;  // not there and not readable are the same answer here
  for (const char* name : kNames)
    if (std::filesystem::exists(directory + "/" + name, ignored)) return true;
  return false;
}

std::string zone_log_directory_of(int pid, const std::string& proc) {
  const std::string process = proc + "/" + std::to_string(pid);
  if (pid <= 0 || access(process.c_str(), F_OK) != 0) return {};
  const auto env = environment_of(pid, proc);
  if (!env) return {};
  std::string root = value_in(*env, "TT_METAL_PROFILER_DIR");
  const std::string home = value_in(*env, "TT_METAL_HOME");
  if (root.empty() && !home.empty()) root = home + "/generated/profiler";
  if (root.empty()) root = "generated/profiler";
  return process + (root.front() == '/' ? "/root" : "/cwd/") + root + "/.logs";
}

std::string zone_log_directory_in(const std::string& home) {
  for (const std::string& directory : {home + "/generated/profiler/.logs", home + "/.logs", home})
    if (has_zone_logs(directory)) return directory;
  return home + "/generated/profiler/.logs";
}

ZoneLogs::ZoneLogs(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  for (const char* name : kNames) files_.push_back({directory_ + "/" + name, 0, 0, {}});
}

void ZoneLogs::poll(const std::function<void(std::string_view)>& found) {
  for (File& file : files_) poll(file, found);
}

void ZoneLogs::poll(File& file, const std::function<void(std::string_view)>& found) {
  struct stat now {};
  if (stat(file.path.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return;  // not written yet
  if (now.st_ino != file.inode || static_cast<uint64_t>(now.st_size) < file.offset) {
    file.inode = now.st_ino;  // replaced or truncated: from the start
    file.offset = 0;
    file.partial.clear();
  }
  if (static_cast<uint64_t>(now.st_size) == file.offset) return;
  std::ifstream stream(file.path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(file.offset));
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  file.offset += text.size();
  text.insert(0, file.partial);
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view zone_string =
        markers::zone_string_in(std::string_view(text).substr(begin, end - begin));
    if (!zone_string.empty() && seen_.emplace(zone_string).second) found(zone_string);
  }
  file.partial = text.size() - begin > kLongestLine ? std::string() : text.substr(begin);
}

}  // namespace ttc::collect

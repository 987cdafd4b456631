// The zone source logs of a workload, followed while they grow (kernels are compiled mid-run).
//
// Their place (tt-metal impl/profiler/profiler_paths.hpp, kernel_profiler.hpp): $TT_METAL_PROFILER_DIR, else
// $TT_METAL_HOME/generated/profiler, else generated/profiler below the working directory, then .logs/.
// Variables and directory are those of the workload, read from /proc/PID; absolute paths are taken below
// /proc/PID/root, so a workload in a container works too.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace ttc::collect {

// The directory that holds the logs, empty when the environment of the process cannot be read (it is gone, or another user's).
// `proc`: where procfs is mounted.
std::string zone_log_directory_of(int pid, const std::string& proc = "/proc");
// Whether one of the logs is in `directory`.
bool has_zone_logs(const std::string& directory);
// Implements --metal-home DIR: returns DIR/generated/profiler/.logs, DIR/.logs or DIR, whichever has logs first.
std::string zone_log_directory_in(const std::string& metal_home);

class ZoneLogs {
 public:
  explicit ZoneLogs(std::string directory);

  // Reads what both files gained since the last call; each new note once.
  void poll(const std::function<void(std::string_view zone_string)>& found);
  const std::string& directory() const { return directory_; }
  size_t zone_strings() const { return seen_.size(); }

 private:
  struct File {
    std::string path;
    uint64_t offset = 0;
    uint64_t inode = 0;
    std::string partial;  // a line without its end yet
  };
  void poll(File& file, const std::function<void(std::string_view)>& found);

  std::string directory_;
  std::vector<File> files_;
  std::unordered_set<std::string> seen_;
};

}  // namespace ttc::collect

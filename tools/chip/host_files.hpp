// What the host's side of a run would have left through Tracy's csvexport: tracy_ops_data.csv (the messages of ops, with their JSON
// where an op is compiled and short where it is found in the cache) and tracy_ops_times.csv (their zones).
// Source: tt-metal ttnn/api/tools/profiler/op_profiler.hpp, tools/tracy/process_ops_logs.py.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tools/chip/path_file.hpp"
#include "tools/chip/workload.hpp"

namespace ttc::chip {

class HostFiles {
 public:
  // `ns_of`: host time of a device time, since the capture began. Throws std::runtime_error when `directory` cannot be written to.
  HostFiles(const std::string& directory, std::function<uint64_t(Cycles)> ns_of);
  void add(uint32_t call_count, const ChipOp& op, bool cached, Cycles begin, Cycles end);
  void close();  // throws std::runtime_error when not all of it was written

 private:
  struct File {
    std::string path;
    std::FILE* file = nullptr;
    explicit File(std::string to);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(const std::string& text);
    void close();
  };
  std::function<uint64_t(Cycles)> ns_of_;
  File data_, times_;
};

}  // namespace ttc::chip

// The workload's own side as tables: chunks of the host's session in, zones, messages and names of ops out.
//
// A zone is handed over when it ends; what has not ended by then is in no row. Sources and strings that are defined
// after their use have no name in the rows before.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/tables/tables.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::tools {

class HostTables {
 public:
  explicit HostTables(Tables& tables) : tables_(tables) {}
  // Any chunk; those of devices are passed over.
  void push(std::span<const uint64_t> chunk);
  uint64_t unpaired() const { return unpaired_; }
  const std::string& complaint() const { return complaint_; }

 private:
  struct Source {
    std::string name, file;
    uint32_t line = 0;
  };
  struct Open {
    int64_t begin_ns = 0;
    uint64_t source = 0;
    std::string name, text;
  };
  struct Process {
    std::unordered_map<uint64_t, std::string> strings;
    std::unordered_map<uint64_t, Source> sources;
    std::unordered_map<uint32_t, std::vector<Open>> threads;
  };
  void take(const collect::HostChunkHead& head, const collect::HostEvent& event);
  static void define(Process& process, const collect::HostEvent& event);
  void end(const collect::HostChunkHead& head, Process& process, const collect::HostEvent& event);

  Tables& tables_;
  std::map<std::pair<uint64_t, uint32_t>, Process> processes_;  // by session and number
  uint64_t session_ = 0;
  uint64_t unpaired_ = 0;
  std::string complaint_;
};

}  // namespace ttc::tools

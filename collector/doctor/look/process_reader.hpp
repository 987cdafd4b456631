// Processes out of /proc, as far as this user may read them.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/doctor/look/machine_state.hpp"

namespace ttc::collect::doctor {

// What the descriptors of all processes lead to, examined once.
struct Descriptors {
  struct Node {
    int pid = 0;
    unsigned ordinal = 0;
    bool exclusive = false;  // O_EXCL
  };
  std::vector<Node> nodes;
  std::map<uint64_t, int>
      socket_owner;           // of the given inodes; the lowest pid, so that a fork is not the owner
  unsigned closed_to_us = 0;  // processes whose descriptors this user may not read
};
Descriptors read_descriptors(const std::string& proc, const std::set<uint64_t>& socket_inodes);

// Everything about one process except its holdings. No value if it is gone.
std::optional<ProcessState> read_process(const std::string& proc, int pid);
// Its state in /proc/PID/stat now; '?' when it is gone.
char state_of(const std::string& proc, int pid);
// Processes that map a CHIP_IN_USE lock, and so may wait for one.
std::vector<int> mappers_of_locks(const std::string& proc);

// What listens on Tracy's ports (8086 to 8105), by socket inode.
std::map<uint64_t, Listener> read_listeners(const std::string& proc);
// Emulated cards, by the inode of the socket they listen on.
std::map<uint64_t, std::string> read_emulated_cards(const std::string& proc);

}  // namespace ttc::collect::doctor

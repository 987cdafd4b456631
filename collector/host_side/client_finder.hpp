// Tracy clients of a process's descendants: processes that listen on one of Tracy's ports (8086 to 8105), found by the kernel's list
// of listeners and the descriptors of processes in /proc. Works where the processes' PID namespace is visible.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "collector/host_side/listening_sockets.hpp"

namespace ttc::collect {

struct TracyClient {
  pid_t pid = 0;
  uint16_t port = 0;
};

class ClientFinder {
 public:
  // `proc`: where procfs is mounted.
  explicit ClientFinder(pid_t ancestor, std::string proc = "/proc")
      : ancestor_(ancestor), proc_(std::move(proc)), sockets_(proc_) {}
  // Returns the clients that were not returned before. A socket of another tree is examined once.
  std::vector<TracyClient> look();

 private:
  enum class Descent { ours, other, unclear };
  Descent descent(pid_t pid) const;
  pid_t ancestor_;
  std::string proc_;
  ListeningSockets sockets_;
  std::set<uint64_t> seen_;         // sockets, by inode
  std::map<uint64_t, int> looked_;  // sockets without an answer yet: how often they were examined
};

}  // namespace ttc::collect

#include "collector/host_side/client_finder.hpp"

#include <cstdio>
#include <fstream>

#include "collector/doctor/process_reader.hpp"

namespace ttc::collect {

std::vector<TracyClient> ClientFinder::look() {
  std::set<uint64_t> fresh;
  const auto listeners = doctor::read_listeners(proc_);
  for (const auto& [inode, listener] : listeners)
    if (!seen_.contains(inode)) fresh.insert(inode);
  if (fresh.empty()) return {};
  std::vector<TracyClient> found;
  for (const auto& [inode, pid] : doctor::read_descriptors(proc_, fresh).socket_owner) {
    seen_.insert(inode);
    if (descends(pid)) found.push_back({pid, static_cast<uint16_t>(listeners.at(inode).port)});
  }
  return found;
}

bool ClientFinder::descends(pid_t pid) const {
  constexpr int kDeepest = 1000;  // a chain that changes while it is followed may be a ring
  for (int depth = 0; pid > 1 && depth < kDeepest; ++depth) {
    if (pid == ancestor_) return true;
    std::ifstream file(proc_ + "/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    char state = 0;
    if (name_end == std::string::npos ||
        std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &pid) != 2)
      return false;
  }
  return pid == ancestor_;
}

}  // namespace ttc::collect

#include "collector/host_side/client_finder.hpp"

#include <cstdio>
#include <fstream>

#include "collector/doctor/look/process_reader.hpp"

namespace ttc::collect {
namespace {

// Examining a socket reads the descriptors of all processes. A socket whose owner is not visible, as another user's, is
// examined at most so often.
constexpr int kMostLooks = 20;

}  // namespace

std::vector<TracyClient> ClientFinder::look() {
  std::set<uint64_t> fresh;
  const auto listeners = sockets_.look();
  for (const auto& [inode, port] : listeners)
    if (!seen_.contains(inode)) fresh.insert(inode);
  for (const uint64_t inode : fresh)
    if (++looked_[inode] >= kMostLooks) seen_.insert(inode);
  if (fresh.empty()) return {};
  std::vector<TracyClient> found;
  for (const auto& [inode, pid] : doctor::read_descriptors(proc_, fresh).socket_owner) {
    const Descent from = descent(pid);
    if (from == Descent::unclear) continue;
    seen_.insert(inode);
    if (from == Descent::ours) found.push_back({pid, listeners.at(inode)});
  }
  std::erase_if(looked_, [&](const auto& socket) { return seen_.contains(socket.first); });
  return found;
}

// Unclear: a process of the chain ended while it was followed, so that its children have another parent now.
ClientFinder::Descent ClientFinder::descent(pid_t pid) const {
  constexpr int kDeepest = 1000;  // a chain that changes while it is followed may be a ring
  for (int depth = 0; pid > 1 && depth < kDeepest; ++depth) {
    if (pid == ancestor_) return Descent::ours;
    std::ifstream file(proc_ + "/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    char state = 0;
    if (name_end == std::string::npos ||
        std::sscanf(line.c_str() + name_end + 1, " %c %d", &state, &pid) != 2)
      return Descent::unclear;
  }
  return pid == ancestor_ ? Descent::ours : Descent::other;
}

}  // namespace ttc::collect

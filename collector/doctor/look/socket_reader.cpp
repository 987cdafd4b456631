// Sockets as /proc/net shows them (proc(5)): addresses in hexadecimal, states as in the kernel's net/tcp_states.h.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "collector/doctor/look/process_reader.hpp"

namespace ttc::collect::doctor {
namespace {

struct Row {
  unsigned port = 0;
  std::string state;
  uint64_t inode = 0;
};

std::vector<Row> rows_of(const std::string& file) {
  std::vector<Row> rows;
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream columns(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout;
    Row row;
    if (!(columns >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >>
          row.inode))
      continue;
    row.port = static_cast<unsigned>(std::strtoul(local.c_str() + local.rfind(':') + 1, nullptr, 16));
    row.state = state;
    if (row.port >= kFirstTracyPort && row.port <= kLastTracyPort) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::map<uint64_t, Listener> read_listeners(const std::string& proc) {
  constexpr const char *kEstablished = "01", *kListening = "0A";
  std::map<uint64_t, Listener> listeners;
  std::map<unsigned, unsigned> connections;
  for (const char* of : {"/net/tcp", "/net/tcp6"})
    for (const Row& row : rows_of(proc + of)) {
      if (row.state == kListening) listeners[row.inode].port = row.port;
      if (row.state == kEstablished) ++connections[row.port];
    }
  for (auto& [inode, listener] : listeners) listener.connections = connections[listener.port];
  return listeners;
}

std::map<uint64_t, std::string> read_emulated_cards(const std::string& proc) {
  constexpr std::string_view kName = "@ttemu.", kListening = "00010000";  // SO_ACCEPTCON
  std::map<uint64_t, std::string> cards;
  std::ifstream lines(proc + "/net/unix");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream columns(line);
    std::string number, references, protocol, flags, type, state, path;
    uint64_t inode = 0;
    if (columns >> number >> references >> protocol >> flags >> type >> state >> inode >> path &&
        flags == kListening && path.starts_with(kName))
      cards[inode] = path.substr(kName.size());
  }
  return cards;
}

}  // namespace ttc::collect::doctor

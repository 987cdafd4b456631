// Sockets that listen on Tracy's ports (8086 to 8105), by inode. The kernel's own list of listeners (sock_diag(7)) is dumped,
// which a look every few milliseconds can afford: to read /proc/net/tcp the kernel searches its whole table of
// connections, about 4 ms for each of the files tcp and tcp6 where it has 262,144 slots.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace ttc::collect {

class ListeningSockets {
 public:
  // `proc`: where procfs is mounted. Of another one than this machine's the files net/tcp and net/tcp6 are read, as they are where the
  // kernel has no sock_diag for TCP.
  explicit ListeningSockets(std::string proc = "/proc");
  ~ListeningSockets();
  ListeningSockets(const ListeningSockets&) = delete;
  ListeningSockets& operator=(const ListeningSockets&) = delete;
  std::map<uint64_t, uint16_t> look();  // ports by inode
  bool by_tables() const { return netlink_ < 0; }

 private:
  bool dump(uint8_t family, std::map<uint64_t, uint16_t>& ports);
  bool receive(std::map<uint64_t, uint16_t>& ports);
  void give_up();
  std::string proc_;
  int netlink_ = -1;
  uint32_t dumps_ = 0;
};

}  // namespace ttc::collect

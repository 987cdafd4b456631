#include "collector/host_side/listening_sockets.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using ttc::collect::ListeningSockets;
namespace fs = std::filesystem;

constexpr uint16_t kFirst = 8086, kLast = 8105;

// A socket that listens on one of Tracy's ports; closed at the end.
class Listening {
 public:
  explicit Listening(int family) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    for (port_ = kFirst; port_ <= kLast; ++port_)
      if (bind_to(family) == 0 && listen(fd_, 1) == 0) return;
    port_ = 0;
  }
  ~Listening() {
    if (fd_ >= 0) close(fd_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  uint16_t port() const { return port_; }
  uint64_t inode() const {
    struct stat of {};
    return fstat(fd_, &of) == 0 ? of.st_ino : 0;
  }

 private:
  int bind_to(int family) const {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(port_);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 there{};
    there.sin6_family = AF_INET6;
    there.sin6_port = htons(port_);
    there.sin6_addr = in6addr_loopback;
    return family == AF_INET ? bind(fd_, reinterpret_cast<sockaddr*>(&here), sizeof here)
                             : bind(fd_, reinterpret_cast<sockaddr*>(&there), sizeof there);
  }
  int fd_;
  uint16_t port_ = 0;
};

TEST(ListeningSockets, those_of_both_families_while_they_listen) {
  ListeningSockets sockets;
  uint64_t gone = 0;
  for (const int family : {AF_INET, AF_INET6}) {
    const Listening one(family);
    if (!one.port()) continue;  // no such family here, or every port is taken
    const auto ports = sockets.look();
    ASSERT_TRUE(ports.contains(one.inode())) << "family " << family;
    EXPECT_EQ(ports.at(one.inode()), one.port());
    gone = one.inode();
  }
  ASSERT_NE(gone, 0u);
  EXPECT_FALSE(sockets.look().contains(gone));
}

// `ttcollect run` took 40 % of a core beside an idle card: it read the table of all connections 200 times a second.
TEST(ListeningSockets, the_kernel_gives_them_without_the_table_of_connections) {
  ListeningSockets sockets;
  const bool had_netlink = !sockets.by_tables();
  sockets.look();
  if (!had_netlink || sockets.by_tables()) GTEST_SKIP() << "this kernel has no sock_diag for TCP";
  const Listening one(AF_INET);
  ASSERT_NE(one.port(), 0) << "every one of Tracy's ports is taken";
  EXPECT_TRUE(sockets.look().contains(one.inode()));
  EXPECT_FALSE(sockets.by_tables());
}

TEST(ListeningSockets, of_another_procfs_its_tables_are_read) {
  const fs::path proc = fs::temp_directory_path() / ("listening-" + std::to_string(getpid()));
  fs::create_directories(proc / "net");
  std::ofstream(proc / "net/tcp")
      << "  sl  local_address rem_address   st\n"
         "   0: 0100007F:1F96 00000000:0000 0A 00000000:00000000 00:00000000 00000000"
         "     0        0 4711 1 0000000000000000 100 0 0 10 0\n"
         "   1: 0100007F:1F97 0100007F:9999 01 00000000:00000000 00:00000000 00000000"
         "     0        0 4712 1 0000000000000000 100 0 0 10 0\n";
  ListeningSockets sockets(proc.string());
  EXPECT_TRUE(sockets.by_tables());
  EXPECT_EQ(sockets.look(), (std::map<uint64_t, uint16_t>{{4711, 8086}}));
  fs::remove_all(proc);
}

}  // namespace

#include "collector/host_side/listening_sockets.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "collector/doctor/look/process_reader.hpp"

namespace ttc::collect {
namespace {

constexpr uint32_t kListening = 10;     // TCP_LISTEN of the kernel's net/tcp_states.h
constexpr size_t kAnswerBytes = 32768;  // the kernel's own limit of one answer to a dump
constexpr timeval kDumpWithin{1, 0};

struct Question {
  nlmsghdr head{};
  inet_diag_req_v2 about{};
};

template <class T>
T copied(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void keep(const inet_diag_msg& socket, std::map<uint64_t, uint16_t>& ports) {
  const uint16_t port = ntohs(socket.id.idiag_sport);
  if (port >= doctor::kFirstTracyPort && port <= doctor::kLastTracyPort)
    ports.emplace(socket.idiag_inode, port);
}

enum class Dump { more, done, failed };

// A dump that the kernel cannot make, as without its module inet_diag, ends in order, with an error behind the end's header.
Dump end_of_dump(const std::byte* at, const nlmsghdr& head) {
  if (head.nlmsg_len < NLMSG_LENGTH(sizeof(int))) return Dump::done;
  return copied<int>(at + NLMSG_HDRLEN) < 0 ? Dump::failed : Dump::done;
}

Dump take(const std::byte* at, size_t left, uint32_t number, std::map<uint64_t, uint16_t>& ports) {
  while (left >= sizeof(nlmsghdr)) {
    const auto head = copied<nlmsghdr>(at);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > left) return Dump::failed;
    if (head.nlmsg_seq != number || head.nlmsg_type == NLMSG_ERROR) return Dump::failed;
    if (head.nlmsg_type == NLMSG_DONE) return end_of_dump(at, head);
    if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY && head.nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg)))
      keep(copied<inet_diag_msg>(at + NLMSG_HDRLEN), ports);
    const size_t whole = NLMSG_ALIGN(head.nlmsg_len);
    if (whole >= left) break;
    at += whole;
    left -= whole;
  }
  return Dump::more;
}

}  // namespace

ListeningSockets::ListeningSockets(std::string proc) : proc_(std::move(proc)) {
  if (proc_ != "/proc") return;
  netlink_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink_ >= 0) setsockopt(netlink_, SOL_SOCKET, SO_RCVTIMEO, &kDumpWithin, sizeof kDumpWithin);
}

ListeningSockets::~ListeningSockets() {
  give_up();
}

void ListeningSockets::give_up() {
  if (netlink_ >= 0) close(netlink_);
  netlink_ = -1;
}

std::map<uint64_t, uint16_t> ListeningSockets::look() {
  std::map<uint64_t, uint16_t> ports;
  if (netlink_ >= 0) {
    if (dump(AF_INET, ports) && dump(AF_INET6, ports)) return ports;
    give_up();  // for good: what fails here is missing from the kernel
    ports.clear();
  }
  for (const auto& [inode, listener] : doctor::read_listeners(proc_))
    ports.emplace(inode, static_cast<uint16_t>(listener.port));
  return ports;
}

bool ListeningSockets::dump(uint8_t family, std::map<uint64_t, uint16_t>& ports) {
  Question question;
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.head.nlmsg_seq = ++dumps_;
  question.about.sdiag_family = family;
  question.about.sdiag_protocol = IPPROTO_TCP;
  question.about.idiag_states = 1u << kListening;
  const auto sent = send(netlink_, &question, sizeof question, 0);
  return sent == static_cast<ssize_t>(sizeof question) && receive(ports);
}

bool ListeningSockets::receive(std::map<uint64_t, uint16_t>& ports) {
  std::array<std::byte, kAnswerBytes> bytes;
  for (Dump answer = Dump::more; answer == Dump::more;) {
    const ssize_t n = recv(netlink_, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    answer = take(bytes.data(), static_cast<size_t>(n), dumps_, ports);
    if (answer == Dump::failed) return false;
    if (answer == Dump::done) return true;
  }
  return false;
}

}  // namespace ttc::collect

#include "collector/host_side/mark_listener.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "collector/host_side/python_zones.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr int kMarkPollMs = 20;
constexpr int kSocketBuffer = 4 << 20;
// Taken before what was taken is published: a program that sends without end must not keep us from ending. The
// socket holds fewer (net.unix.max_dgram_qlen, and kSocketBuffer of some 800 bytes each).
constexpr int kMostARound = 16384;
constexpr size_t kMarkBatch = 64u << 10;

// The address is in the abstract namespace: it ends with its process, and no file system is needed.
socklen_t address_of(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

}  // namespace

std::optional<Mark> parse_mark(std::string_view datagram) {
  const size_t end = datagram.find('\n');
  if (end == std::string_view::npos || datagram.size() - end - 1 > kMostMarkBytes) return std::nullopt;
  const std::string head(datagram.substr(0, end));
  Mark mark;
  long long ns = 0;
  unsigned long long pid = 0;
  char rest = 0;
  if (std::sscanf(head.c_str(), "%lld %llu %u %c%c", &ns, &pid, &mark.tid, &mark.kind, &rest) != 4)
    return std::nullopt;
  if (ns < 0 || std::string_view("mbezrsl").find(mark.kind) == std::string_view::npos) return std::nullopt;
  mark.raw_ns = ns;
  mark.pid = pid;
  mark.text = datagram.substr(end + 1);
  return mark;
}

// A back-tick would end the message for its readers, and ": " the header.
std::string signpost_of(const Mark& mark) {
  std::string text(mark.text);
  std::replace(text.begin(), text.end(), '`', '\'');
  const size_t header = std::min(text.find('\n'), text.size());
  for (size_t at = text.find(": "); at < header; at = text.find(": ", at)) text[at] = '=';
  return "`TT_SIGNPOST: " + text + "`";
}

MarkListener::MarkListener(const std::string& name, std::function<HostPublisher*()> publisher,
                           std::function<void(const Mark&)> heard)
    : publisher_(std::move(publisher)), heard_(std::move(heard)) {
  sockaddr_un address;
  const socklen_t length = address_of(name, address);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    failure_ = std::string("marks cannot be listened to: ") + std::strerror(errno);
    return;
  }
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  constexpr int kOn = 1;
  setsockopt(fd_, SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn);
  began_ns_ = static_cast<int64_t>(raw_now_ns());
  thread_ = std::thread([this] { listen(); });
}

MarkListener::~MarkListener() {
  end();
  if (fd_ >= 0) close(fd_);
}

void MarkListener::end() {
  ending_ = true;
  // An empty datagram ends the wait at once: a program of some milliseconds should not wait for it.
  sockaddr_un own;
  socklen_t length = sizeof own;
  if (thread_.joinable() && getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &length) == 0)
    sendto(fd_, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&own), length);
  if (!thread_.joinable()) return;
  thread_.join();
  publish_losses();
}

// A zone from the first to the last mark that a process could not send.
void MarkListener::publish_losses() {
  losses_ = lost_.read();
  for (const MarkLoss& loss : losses_) {
    HostBatch* batch = publishes() ? batch_of(loss.pid) : nullptr;
    if (!batch) return;
    constexpr uint64_t kSource = ~uint32_t{0};  // none of python_zones.hpp, which count from 1
    batch->add({EventKind::thread_name, kMarkLossThread, 0, 0, "lost marks"});
    batch->add({EventKind::source, 0, 0, kSource, std::string("ttcollect: marks lost\0\0\0", 24)});
    batch->add({EventKind::zone_begin, kMarkLossThread, loss.first_ns, kSource, {}});
    batch->add({EventKind::zone_text, kMarkLossThread, 0, 0, std::to_string(loss.count)});
    batch->add({EventKind::zone_end, kMarkLossThread, std::max(loss.last_ns, loss.first_ns + 1), 0, {}});
  }
  publish();
}

bool MarkListener::publishes() {
  if (!to_) to_ = publisher_();
  return to_ != nullptr;
}

void MarkListener::listen() {
  std::vector<char> datagram(kMostMarkBytes + 256);
  for (bool last = false; !last;) {
    last = ending_;  // what was sent before is taken by this round
    pollfd ready{fd_, POLLIN, 0};
    poll(&ready, 1, last ? 0 : kMarkPollMs);
    for (int i = 0; i < kMostARound && receive(datagram); ++i) {
    }
    publish();
  }
}

void MarkListener::publish() {
  for (auto& [pid, batch] : batches_)
    if (!batch.empty()) to_->publish(batch);
}

void MarkListener::publish_if_full(HostBatch& batch) {
  if (batch.events.size() + batch.names.size() >= kMarkBatch) to_->publish(batch);
}

// Null beyond the bound: zones of two processes must not be in one.
HostBatch* MarkListener::batch_of(uint64_t pid) {
  constexpr size_t kMostProcesses = 4096;
  const auto found = batches_.find(pid);
  if (found != batches_.end()) return &found->second;
  if (batches_.size() >= kMostProcesses) return nullptr;
  HostBatch& batch = batches_[pid];
  batch.raw_clock = true;
  batch.head.init_begin = began_ns_;
  batch.head.process = to_->next_process();
  batch.head.pid = pid;
  std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
  std::string program;
  std::getline(comm, program);  // empty if it has ended already
  batch.add({EventKind::process, 0, 0, pid, program + '\0' + '\0'});
  return &batch;
}

// False: there is none.
bool MarkListener::receive(std::vector<char>& into) {
  iovec bytes{into.data(), into.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return false;
  if (n == 0) return true;  // of end()
  bool known = false;
  pid_t pid = 0;
  for (cmsghdr* of = CMSG_FIRSTHDR(&message); of; of = CMSG_NXTHDR(&message, of)) {
    if (of->cmsg_level != SOL_SOCKET || of->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(of), sizeof sender);
    known = sender.uid == 0 || sender.uid == geteuid();
    pid = sender.pid;
  }
  if (known)
    take({into.data(), static_cast<size_t>(n)}, static_cast<uint64_t>(pid));
  else
    ++foreign_;
  return true;
}

void MarkListener::take(std::string_view datagram, uint64_t pid) {
  const std::optional<Mark> mark = parse_mark(datagram);
  if (!mark) {
    ++refused_;
    return;
  }
  if (mark->kind == 'r' || mark->kind == 's') return heard_(*mark);
  if (mark->kind == 'l') {
    zones_missing_[pid ? pid : mark->pid] += std::strtoull(std::string(mark->text).c_str(), nullptr, 10);
    return;
  }
  if (!publishes()) return;
  // A sender in another PID namespace that is not visible from here has the number 0.
  HostBatch* batch = batch_of(pid ? pid : mark->pid);
  if (mark->kind != 'z') heard_(*mark);
  if (!batch) {
    ++refused_;
    return;
  }
  if (mark->kind == 'z') {
    const auto add = [&](const HostEvent& event) { batch->add(event); };
    refused_ += !take_python_zones(mark->text, mark->tid, add);
  } else {
    ++marks_;
    batch->add({EventKind::message, mark->tid, mark->raw_ns, 0, signpost_of(*mark)});
  }
  publish_if_full(*batch);
}

std::vector<std::string> mark_listeners(const std::string& proc) {
  std::vector<std::string> names;
  std::ifstream lines(proc + "/net/unix");
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.rfind(" @");
    if (at != std::string::npos && line.compare(at + 2, std::strlen(kMarksPrefix), kMarksPrefix) == 0)
      names.push_back(line.substr(at + 2));
  }
  return names;
}

std::string send_mark(const std::string& name, char kind, std::string_view text) {
  if (text.size() > kMostMarkBytes)
    return "a mark has " + std::to_string(kMostMarkBytes) + " bytes at most, this one has " +
           std::to_string(text.size());
  sockaddr_un address;
  const socklen_t length = address_of(name, address);
  std::string datagram = std::to_string(raw_now_ns()) + " " + std::to_string(getpid()) + " " +
                         std::to_string(getpid()) + " " + kind + "\n";
  datagram += text;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const ssize_t sent = fd < 0 ? -1
                              : sendto(fd, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                       reinterpret_cast<sockaddr*>(&address), length);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (sent >= 0) return {};
  return error == ECONNREFUSED ? "no process listens at " + name : name + ": " + std::strerror(error);
}

}  // namespace ttc::collect

#include "collector/host_side/mark_listener.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

constexpr int kMarkPollMs = 20;
constexpr int kSocketBuffer = 4 << 20;
// Taken before what was taken is published: a program that sends without end must not keep us from ending. The
// socket holds fewer (net.unix.max_dgram_qlen, and kSocketBuffer of some 800 bytes each).
constexpr int kMostARound = 16384;
constexpr size_t kMarkBatch = 64u << 10;

// Of the abstract namespace: it goes with its process, and no file system is needed.
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
  if (ns < 0 || (mark.kind != 'm' && mark.kind != 'b' && mark.kind != 'e')) return std::nullopt;
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
                           std::function<void()> step_ended)
    : publisher_(std::move(publisher)), step_ended_(std::move(step_ended)) {
  sockaddr_un address;
  const socklen_t length = address_of(name, address);
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    failure_ = std::string("marks cannot be listened to: ") + std::strerror(errno);
    return;
  }
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof kSocketBuffer);
  batch_.raw_clock = true;
  batch_.head.init_begin = static_cast<int64_t>(raw_now_ns());
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
  if (thread_.joinable()) thread_.join();
}

void MarkListener::listen() {
  std::vector<char> datagram(kMostMarkBytes + 256);
  for (bool last = false; !last;) {
    last = ending_;  // what was sent before is taken by this round
    pollfd ready{fd_, POLLIN, 0};
    poll(&ready, 1, last ? 0 : kMarkPollMs);
    for (int i = 0; i < kMostARound; ++i) {
      const ssize_t n = recv(fd_, datagram.data(), datagram.size(), 0);
      if (n < 0) break;
      if (n > 0) take({datagram.data(), static_cast<size_t>(n)});
      if (to_ && batch_.events.size() >= kMarkBatch) to_->publish(batch_);
    }
    if (to_ && !batch_.empty()) to_->publish(batch_);
  }
}

void MarkListener::take(std::string_view datagram) {
  const std::optional<Mark> mark = parse_mark(datagram);
  if (!mark) {
    ++refused_;
    return;
  }
  if (!to_) {
    to_ = publisher_();
    if (!to_) return;
    batch_.head.process = to_->next_process();
    batch_.head.pid = mark->pid;
  }
  ++marks_;
  batch_.add({EventKind::message, mark->tid, mark->raw_ns, 0, signpost_of(*mark)});
  if (mark->kind == 'e') step_ended_();
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

std::string send_mark(const std::string& name, std::string_view text) {
  if (text.size() > kMostMarkBytes)
    return "a mark has " + std::to_string(kMostMarkBytes) + " bytes at most, this one has " +
           std::to_string(text.size());
  sockaddr_un address;
  const socklen_t length = address_of(name, address);
  std::string datagram =
      std::to_string(raw_now_ns()) + " " + std::to_string(getpid()) + " " + std::to_string(getpid()) + " m\n";
  datagram += text;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const ssize_t sent = fd < 0 ? -1
                              : sendto(fd, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                       reinterpret_cast<sockaddr*>(&address), length);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (sent >= 0) return {};
  return error == ECONNREFUSED ? "nothing listens at " + name : name + ": " + std::strerror(error);
}

}  // namespace ttc::collect

#include "tools/tracy/listener.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ttc::tracy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMostKnocking = 256;
constexpr seconds kMayKeepSilent{10};
constexpr seconds kAnnounceEvery{3};
constexpr size_t kMostSentences = 1000;  // that are kept so that each is reported once

struct Where {
  std::string host, port;
};
Where take_apart(const std::string& where) {
  const size_t colon = where.rfind(':');
  if (colon == std::string::npos) return {"127.0.0.1", where};
  std::string host = where.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, where.substr(colon + 1)};
}

bool send_byte(int fd, Status status) {
  const auto byte = static_cast<char>(status);
  return send(fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

std::string known_servers() {
  std::string all;
  for (const Dialect& d : dialects())
    all += (all.empty() ? "" : ", ") + std::string(d.servers) + " (" + std::to_string(d.protocol) + ")";
  return all;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Listener::Listener(const std::string& where, bool fork_66) : fork_66_(fork_66) {
  const Where at = take_apart(where);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int wrong = getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found))
    throw ListenError("'" + where + "' is no place to listen at (" + gai_strerror(wrong) +
                      "); give PORT or ADDRESS:PORT, such as 8600 or 0.0.0.0:8600");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  socket_ = Socket(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(socket_.fd(), found->ai_addr, found->ai_addrlen) != 0 || listen(socket_.fd(), 128) != 0)
    throw ListenError("cannot listen at " + at.host + ":" + at.port + ": " + std::strerror(errno) +
                      (errno == EADDRINUSE ? "; give another port, or 0 for any" : ""));
  sockaddr_storage bound{};
  socklen_t bytes = sizeof bound;
  getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&bound), &bytes);
  char host[64] = "?", port[16] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&bound), bytes, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  const std::string numeric(host);
  loopback_ = numeric.starts_with("127.") || numeric == "::1";
  address_ = (numeric.find(':') == std::string::npos ? numeric : "[" + numeric + "]") + ":" + port;
  port_ = static_cast<uint16_t>(std::stoul(port));
}

void Listener::say(const std::string& sentence) {
  if (reported_.size() >= kMostSentences ||
      std::find(reported_.begin(), reported_.end(), sentence) != reported_.end())
    return;
  reported_.push_back(sentence);
  unreported_.push_back(sentence);
}

std::vector<std::string> Listener::reported() {
  return std::exchange(unreported_, {});
}

void Listener::take_in() {
  for (;;) {
    Socket socket(accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.fd() < 0) return;
    // A server that has vanished without a word is noticed by the kernel.
    // Data for a slow server waits in the ring, not in megabytes of kernel buffers.
    const int yes = 1, idle_s = 30, unanswered_ms = 60'000, send_bytes = 128 << 10;
    setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    setsockopt(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
    setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (knocking_.size() >= kMostKnocking) knocking_.erase(knocking_.begin());  // the one silent for longest
    knocking_.push_back(std::make_unique<Knocking>(Knocking{std::move(socket), {}, Clock::now()}));
  }
}

bool Listener::listen_to(Knocking& who, bool busy, std::optional<Arrival>& arrived) {
  char bytes[kHandshakeBytes];
  const ssize_t got = recv(who.socket.fd(), bytes, sizeof bytes, 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) return true;
    return Clock::now() - who.since > kMayKeepSilent;
  }
  if (got == 0) return true;
  size_t taken = 0;
  switch (who.handshake.take(std::span(bytes, static_cast<size_t>(got)), taken)) {
    case Handshake::State::incomplete:
      return false;
    case Handshake::State::foreign:
      say("a program connected that is no Tracy server; the connection was closed");
      return true;
    case Handshake::State::complete:
      break;
  }
  const uint32_t protocol = who.handshake.protocol();
  const Dialect* dialect = dialect_for(protocol, fork_66_);
  if (!dialect) {
    send_byte(who.socket.fd(), Status::mismatch);
    say("a Tracy server of protocol " + std::to_string(protocol) +
        " was refused: it is of no release known here (" + known_servers() + ")");
    return true;
  }
  if (busy || arrived) {
    send_byte(who.socket.fd(), Status::not_available);
    return true;
  }
  if (send_byte(who.socket.fd(), Status::welcome)) arrived = Arrival{std::move(who.socket), dialect};
  return true;
}

std::optional<Arrival> Listener::poll(int wait_ms, bool busy) {
  if (announced_ && !busy) announce_again();
  std::vector<pollfd> fds{{socket_.fd(), POLLIN, 0}};
  for (const auto& who : knocking_) fds.push_back({who->socket.fd(), POLLIN, 0});
  ::poll(fds.data(), fds.size(), wait_ms);
  std::optional<Arrival> arrived;
  std::erase_if(knocking_, [&](const auto& who) { return listen_to(*who, busy, arrived); });
  take_in();
  return arrived;
}

void Listener::announce(const Dialect& dialect, std::string program) {
  announced_ = &dialect;
  program_ = std::move(program);
  announcer_ = Socket(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  setsockopt(announcer_.fd(), SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
}

void Listener::announce_again() {
  const auto now = Clock::now();
  if (now - announced_at_ < kAnnounceEvery) return;
  announced_at_ = now;
  const auto active = std::chrono::duration_cast<seconds>(now - began_).count();
  const std::string text = announcement(*announced_, port_, static_cast<int32_t>(active), program_);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(kBroadcastPort);
  to.sin_addr.s_addr = htonl(loopback_ ? INADDR_LOOPBACK : INADDR_BROADCAST);
  if (sendto(announcer_.fd(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&to),
             sizeof to) < 0)
    say(std::string("the announcement cannot be sent: ") + std::strerror(errno));
}

bool Connection::wait(short events, int wait_ms) {
  pollfd fd{socket_.fd(), events, 0};
  ::poll(&fd, 1, wait_ms);
  if (fd.revents & (POLLIN | POLLHUP | POLLERR)) read();
  return fd.revents & POLLOUT;
}

void Connection::read() {
  char bytes[16 << 10];
  for (;;) {
    const ssize_t got = recv(socket_.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      why_closed_ = got == 0 ? "the server closed the connection"
                             : std::string("the connection broke: ") + std::strerror(errno);
      return;
    }
    if (client_) client_->take(std::span(bytes, static_cast<size_t>(got)));
    if (static_cast<size_t>(got) < sizeof bytes) return;
  }
}

void Connection::receive(int wait_ms) {
  if (closed()) return;
  wait(POLLIN, wait_ms);
  listener_.poll(0, true);
}

void Connection::raw(std::span<const char> bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kLookAfterOthersMs = 50;
  auto progress = Clock::now();
  while (!bytes.empty() && !closed()) {
    const ssize_t sent = send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      sent_ += static_cast<uint64_t>(sent);
      progress = Clock::now();
      continue;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
      why_closed_ = std::string("the connection broke: ") + std::strerror(errno);
      return;
    }
    if (Clock::now() - progress > patience_) {
      why_closed_ = "the server has taken nothing for " +
                    std::to_string(std::chrono::duration_cast<seconds>(patience_).count()) + " s";
      return;
    }
    if (!wait(POLLIN | POLLOUT, kLookAfterOthersMs)) listener_.poll(0, true);
  }
}

void Connection::block(std::span<const char> bytes) {
  raw(bytes);
}

}  // namespace ttc::tracy

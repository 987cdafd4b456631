#include "collector/host_side/host_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include "collector/host_side/client_process.hpp"
#include "collector/tracy_server/exchange.hpp"
#include "ttcollect/host_time.hpp"

namespace ttc::collect {
namespace {

using tracy_server::Exchange;
using tracy_server::ExchangeState;

constexpr std::chrono::milliseconds kLookOften{5}, kLookSeldom{50};
constexpr uint64_t kOftenFor = 20'000'000'000;  // ns; a workload's processes begin within it
constexpr uint64_t kEndWithin = 2'000'000'000;  // ns; of a client whose process has ended
// How long a listener on such a port may leave the offer unanswered. It may be a server of another kind that blocks on us.
constexpr uint64_t kAnswerWithin = 5'000'000'000;  // ns
// Limit for a client that ends with queries open: it answers at once, and its process does not end before our last query.
constexpr uint64_t kNamesWithin = 5'000'000'000;  // ns since anything came that answers
constexpr timeval kSendWithin{2, 0};              // also of connecting (socket(7), SO_SNDTIMEO)
constexpr int kPollMs = 20;
constexpr size_t kReceive = 256u << 10, kBatch = 64u << 10;
constexpr uint64_t kFlushNs = 20'000'000;

int connect_to(uint16_t port) {
  const auto limit = [](int fd) {
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kSendWithin, sizeof kSendWithin);
  };
  const int v4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  limit(v4);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (v4 >= 0 && connect(v4, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0) return v4;
  if (v4 >= 0) close(v4);
  const int v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  limit(v6);
  sockaddr_in6 there{};
  there.sin6_family = AF_INET6;
  there.sin6_port = htons(port);
  there.sin6_addr = in6addr_loopback;
  if (v6 >= 0 && connect(v6, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0) return v6;
  if (v6 >= 0) close(v6);
  return -1;
}

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  bool send_all(const std::string& bytes) const {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

 private:
  int fd_;
};

}  // namespace

// One client, from the first offer to the end of its stream.
class HostServer::Connection {
 public:
  Connection(HostServer& server, TracyClient client) : server_(server), threads_(client.pid) {
    result_.client = client;
  }

  HostClientResult run() {
    for (const uint32_t protocol : tracy_server::protocols()) {
      const ExchangeState state = offer(protocol);
      if (state == ExchangeState::mismatch) continue;
      return std::move(result_);
    }
    result_.sentence = "has a protocol of Tracy that this build does not support";
    result_.other_protocol = true;
    return std::move(result_);
  }

 private:
  ExchangeState offer(uint32_t protocol) {
    const Socket socket(connect_to(result_.client.port));
    if (socket.fd() < 0) {
      result_.sentence = "does not let itself be connected to";
      return ExchangeState::refused;
    }
    tracy_server::EventDecoder::OwnThread own_thread;
    if (server_.context_switches_) own_thread = [this](uint32_t thread) { return threads_.contains(thread); };
    Exchange exchange(
        protocol, [this, &exchange](const HostEvent& event) { take(exchange, event); }, own_thread);
    talk(socket, exchange);
    return exchange.state();
  }

  void talk(const Socket& socket, Exchange& exchange) {
    std::vector<std::byte> bytes(kReceive);
    uint64_t ending_since = 0;
    const uint64_t offered_at = monotonic_now_ns();
    bool open = socket.send_all(exchange.to_send());
    while (open) {
      pollfd ready{socket.fd(), POLLIN, 0};
      if (poll(&ready, 1, kPollMs) > 0) {
        const ssize_t n = recv(socket.fd(), bytes.data(), bytes.size(), 0);
        if (n <= 0) break;
        const ExchangeState now = exchange.receive(std::span(bytes).first(static_cast<size_t>(n)));
        if (now == ExchangeState::frames || now == ExchangeState::ended) welcomed(exchange);
        open = socket.send_all(exchange.to_send());
        // The client closes after `ended`: to close first would take the last query from it.
        if (now == ExchangeState::mismatch || now == ExchangeState::refused || now == ExchangeState::broken)
          open = false;
      }
      flush(false);
      const uint64_t at = monotonic_now_ns();
      const bool answered =
          exchange.state() != ExchangeState::offered && exchange.state() != ExchangeState::welcome;
      if (!answered && at - offered_at > kAnswerWithin) open = false;
      if (open && owes_too_long(exchange, at)) open = socket.send_all(exchange.to_send());
      if (server_.ending_ && ending_since == 0) ending_since = at;
      if (ending_since && at - ending_since > kEndWithin) open = false;
    }
    over(exchange);
  }

  // True once: the last query is in what is to be sent, and names are missing.
  bool owes_too_long(Exchange& exchange, uint64_t at) {
    if (!exchange.waits_for_answers()) return false;
    if (owed_since_ == 0 || exchange.answered() != answered_) owed_since_ = at;
    answered_ = exchange.answered();
    if (at - owed_since_ <= kNamesWithin) return false;
    result_.sentence = "did not answer " + std::to_string(exchange.open_queries()) +
                       " questions for names, which are missing";
    exchange.end_without_answers();
    return true;
  }

  // A few bytes may unpack to many events, and a batch must fit into the ring.
  void take(const Exchange& exchange, const HostEvent& event) {
    welcomed(exchange);
    batch_.add(event);
    if (batch_.events.size() + batch_.names.size() >= kBatch) flush(true);
  }

  void welcomed(const Exchange& exchange) {
    if (welcomed_) return;
    welcomed_ = true;
    HostPublisher* publisher = server_.open_publisher();
    const tracy_server::ClientProcess& process = exchange.process();
    result_.program = process.program;
    batch_.head.process = publisher ? publisher->next_process() : 0;
    batch_.head.pid = process.pid;
    batch_.head.init_begin = process.init_begin;
    batch_.head.timer_mul = process.timer_mul;
    batch_.head.protocol = process.protocol;
    batch_.raw_clock = process.timer_mul == 1.0;
    publisher_ = publisher;
    result_.files = files_of_process(result_.client.pid);
    const std::string text =
        process.program + '\0' + process.host_info + '\0' + facts_of_process(result_.client.pid);
    batch_.add({EventKind::process, 0, 0, process.pid, text});
  }

  void flush(bool now) {
    if (batch_.empty()) return;
    if (!publisher_) return batch_.clear();  // HostServer::failure() has the reason; reading continues
    const uint64_t at = monotonic_now_ns();
    if (!now && at - flushed_ns_ < kFlushNs) return;
    flushed_ns_ = at;
    publisher_->publish(batch_);
  }

  void over(Exchange& exchange) {
    exchange.finish();
    flush(true);
    result_.protocol = exchange.process().protocol;
    result_.events = exchange.decoder().events();
    result_.callstacks_refused = exchange.decoder().callstacks_refused();
    result_.names_refused = exchange.decoder().names_refused();
    result_.context_switches = exchange.decoder().context_switches();
    switch (exchange.state()) {
      case ExchangeState::ended:
        result_.in_order = true;
        break;
      case ExchangeState::refused:
        result_.sentence = "has another server, which Tracy allows one of";
        break;
      case ExchangeState::broken:
        result_.sentence = "sent what is no Tracy stream (" + exchange.why() + "); the rest is not recorded";
        break;
      case ExchangeState::frames:
        result_.sentence = "ended in the middle of its stream; what came until then is recorded";
        break;
      case ExchangeState::offered:
      case ExchangeState::welcome:
        result_.sentence = "did not answer as a Tracy client";
        break;
      case ExchangeState::mismatch:
        break;
    }
  }

  HostServer& server_;
  HostClientResult result_;
  HostBatch batch_;
  OwnThreads threads_;
  HostPublisher* publisher_ = nullptr;
  uint64_t flushed_ns_ = 0;
  bool welcomed_ = false;
  uint64_t answered_ = 0, owed_since_ = 0;
};

HostServer::HostServer(pid_t ancestor, std::string live_name, bool context_switches,
                       std::function<void(HostPublisher&)> made)
    : ancestor_(ancestor),
      live_name_(std::move(live_name)),
      context_switches_(context_switches),
      made_(std::move(made)) {}

void HostServer::look() {
  looking_ = std::thread([this] { look_for_clients(); });
}

HostServer::~HostServer() {
  end();
}

void HostServer::end() {
  ending_ = true;
  if (looking_.joinable()) looking_.join();
  for (std::thread& client : clients_) client.join();
  clients_.clear();
  if (publisher_) publisher_->end();
}

HostPublisher* HostServer::open_publisher() {
  const std::lock_guard lock(mutex_);
  if (publisher_ || !failure_.empty()) return publisher_.get();
  try {
    publisher_ = std::make_unique<HostPublisher>(live_name_);
    made_(*publisher_);
  } catch (const std::exception& e) {
    failure_ = e.what();
  }
  return publisher_.get();
}

std::vector<pid_t> HostServer::not_understood() {
  const std::lock_guard lock(mutex_);
  std::vector<pid_t> pids;
  for (const HostClientResult& r : results_)
    if (r.other_protocol) pids.push_back(r.client.pid);
  return pids;
}

void HostServer::look_for_clients() {
  ClientFinder finder(ancestor_);
  const uint64_t began = monotonic_now_ns();
  while (!ending_) {
    for (const TracyClient client : finder.look()) clients_.emplace_back([this, client] { serve(client); });
    std::this_thread::sleep_for(monotonic_now_ns() - began < kOftenFor ? kLookOften : kLookSeldom);
  }
}

void HostServer::serve(TracyClient client) {
  HostClientResult result;
  try {
    result = Connection(*this, client).run();
  } catch (const std::exception& e) {
    result.client = client;
    result.sentence = std::string("was given up: ") + e.what();
  }
  const std::lock_guard lock(mutex_);
  results_.push_back(std::move(result));
}

}  // namespace ttc::collect

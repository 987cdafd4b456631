#include "tools/metrics/metrics_server.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "collector/program/listen_address.hpp"
#include "tools/metrics/metric_page.hpp"
#include "tools/ttmon/segments.hpp"

namespace ttc::tools {
namespace {

constexpr time_t kLookEveryS = 1;

uint64_t now_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// The last page. Scrapes take copies of it, in the server's threads, and wait for nothing else.
class LastPage : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    return families_;
  }
  void set(std::vector<prometheus::MetricFamily> families) {
    const std::lock_guard lock(mutex_);
    families_.swap(families);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<prometheus::MetricFamily> families_;
};

// An address in civetweb's form. civetweb does not report why listening failed, so the address is tried here first.
std::string numeric_address(const std::string& where) {
  const auto at = program::parse_listen(where);
  const std::string host = !at || at->host.empty() ? "127.0.0.1" : at->host, port = at ? at->port : where;
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int wrong = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
    throw MetricsError("'" + where + "' is no place to listen at (" + gai_strerror(wrong) +
                       "); give PORT or ADDRESS:PORT, such as 9464 or 0.0.0.0:9464");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0;
  const int error = errno;
  close(fd);
  if (!bound)
    throw MetricsError("metrics cannot be served at " + host + ":" + port + ": " + std::strerror(error) +
                       (error == EADDRINUSE ? "; give another port, or 0 for any" : ""));
  char numeric[64] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, numeric, sizeof numeric, nullptr, 0, NI_NUMERICHOST);
  const std::string text(numeric);
  return (text.find(':') == std::string::npos ? text : "[" + text + "]") + ":" + port;
}

std::unique_ptr<prometheus::Exposer> exposer_at(const std::string& address) {
  try {
    // A connection that is silent for two seconds is closed, which frees its thread.
    return std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", "4", "request_timeout_ms", "2000",
                                 "max_request_size", "8192"});
  } catch (const std::exception& e) {
    throw MetricsError("metrics cannot be served at " + address + ": " + e.what());
  }
}

}  // namespace

void serve_metrics(const std::string& where, std::vector<std::string> names,
                   const volatile std::sig_atomic_t& stop,
                   const std::function<void(const std::string&)>& say) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string address = numeric_address(where);
  Segments segments(names);
  RingFollower follower(std::move(names));
  const auto page = std::make_shared<LastPage>();
  const auto look = [&] {
    const uint64_t cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
    follower.look(now_of(CLOCK_MONOTONIC_RAW), cpu_ns);
    page->set(metric_page({segments.look({}), follower.devices(), follower.times(), cpu_ns}));
  };
  look();
  const auto exposer = exposer_at(address);
  exposer->RegisterCollectable(page);
  const std::vector<int> ports = exposer->GetListeningPorts();
  say("metrics are at http://" + address.substr(0, address.rfind(':') + 1) +
      (ports.empty() ? "?" : std::to_string(ports.front())) + "/metrics");
  while (!stop) {
    const timespec rest{kLookEveryS, 0};
    nanosleep(&rest, nullptr);  // a signal ends it
    look();
  }
}

}  // namespace ttc::tools

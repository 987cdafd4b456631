// Serves counts of zones, programs and losses of a live run to Prometheus: metrics live:NAME PORT, then http://localhost:PORT/
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "ttcollect/marker_stream.hpp"

namespace {

int listen_on(unsigned short port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET, at.sin_port = htons(port), at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 && listen(fd, 16) == 0;
  return ok ? fd : -1;
}

void answer(int listener, const std::string& text) {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  char request[4096];  // unread, it would reset the connection
  pollfd sent{fd, POLLIN, 0};
  if (poll(&sent, 1, 100) > 0 && read(fd, request, sizeof request) < 0) std::perror("read");
  const std::string all = "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n" + text;
  if (write(fd, all.data(), all.size()) < 0) std::perror("write");
  close(fd);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw ttcollect::Error(TTCOLLECT_USAGE, "usage: metrics live:NAME PORT");
  std::signal(SIGPIPE, SIG_IGN);
  const int listener = listen_on(static_cast<unsigned short>(std::atoi(argv[2])));
  if (listener < 0) throw ttcollect::Error(TTCOLLECT_FAILED, "the port cannot be listened on");
  ttcollect::Options options;
  options.tables = TTCOLLECT_ZONES | TTCOLLECT_OPS;
  options.wait_ms = 10'000;
  ttcollect::MarkerStream stream(argv[1], options);
  size_t zones = 0, ops = 0;
  while (const auto batch = stream.next(std::chrono::milliseconds(50))) {
    zones += batch->zones().size(), ops += batch->ops().size();
    pollfd waiting{listener, POLLIN, 0};
    if (poll(&waiting, 1, 0) <= 0) continue;
    answer(listener, "ttcollect_zones_total " + std::to_string(zones) + "\nttcollect_programs_total " +
                         std::to_string(ops) + "\nttcollect_lost_intervals " +
                         std::to_string(stream.account().lost_intervals) + "\n");
  }
  return stream.whole() ? 0 : 1;
} catch (const ttcollect::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return e.status == TTCOLLECT_USAGE ? 2 : 1;
}

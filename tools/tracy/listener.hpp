// The socket that servers connect to. Any number may connect; each sends its protocol number and gets one byte
// of answer. One is served at a time, by its caller; the others are refused with "not available".
//
// Nothing here waits for one of them: a connection that is silent for 10 s, or does not follow the protocol, is closed.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/tracy/client.hpp"

namespace ttc::tracy {

struct ListenError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct Arrival {
  Socket socket;
  const Dialect* dialect;
};

class Listener {
 public:
  // `where`: PORT (on loopback) or ADDR:PORT, [ADDR]:PORT for IPv6; port 0 takes any. Throws ListenError.
  Listener(const std::string& where, bool fork_66);

  const std::string& address() const { return address_; }  // as bound
  uint16_t port() const { return port_; }

  // Looks after everybody who knocks, for `wait_ms` at most. A server to be served comes back welcomed but
  // for the welcome itself; while `busy` every one is refused with "not available".
  std::optional<Arrival> poll(int wait_ms, bool busy);

  // Once each: what knocked and was not served, as sentences.
  std::vector<std::string> reported();

  // After this call a message is sent every 3 s to servers on the network (or on this machine, where loopback is
  // bound) that there is something of this dialect, as long as no server is served.
  void announce(const Dialect& dialect, std::string program);

 private:
  using Clock = std::chrono::steady_clock;
  struct Knocking {
    Socket socket;
    Handshake handshake;
    Clock::time_point since;
  };
  void take_in();
  void say(const std::string& sentence);
  // True when it is done with.
  bool listen_to(Knocking& who, bool busy, std::optional<Arrival>& arrived);
  void announce_again();

  Socket socket_, announcer_;
  std::string address_;
  uint16_t port_ = 0;
  bool loopback_ = false, fork_66_;
  std::vector<std::unique_ptr<Knocking>> knocking_;
  std::vector<std::string> reported_, unreported_;
  const Dialect* announced_ = nullptr;
  std::string program_;
  Clock::time_point began_ = Clock::now(), announced_at_{};
};

// A served server's socket as a sink of blocks. Sending waits for a slow server; meanwhile its questions are
// taken and `listener` looks after the others. What cannot be sent any more is dropped, and closed() returns
// the reason.
class Connection : public BlockSink {
 public:
  Connection(Socket socket, Listener& listener) : socket_(std::move(socket)), listener_(listener) {}

  void receive_for(Client& client) { client_ = &client; }
  void raw(std::span<const char> bytes);  // before blocks: the welcome
  void block(std::span<const char> bytes) override;
  // Takes what the server has sent, waiting `wait_ms` for something at most.
  void receive(int wait_ms);

  bool closed() const { return !why_closed_.empty(); }
  const std::string& why_closed() const { return why_closed_; }
  // How long a server may take nothing at all before it counts as gone.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  uint64_t bytes_sent() const { return sent_; }

 private:
  bool wait(short events, int wait_ms);
  void read();

  Socket socket_;
  Listener& listener_;
  Client* client_ = nullptr;
  std::string why_closed_;
  std::chrono::milliseconds patience_{60'000};
  uint64_t sent_ = 0;
};

}  // namespace ttc::tracy

// The client's side of one connection, without sockets: a server's greeting, the answer to it, and its
// questions. A server is untrusted: any bytes may come, in pieces of any size.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/tracy/stream.hpp"

namespace ttc::tracy {

// The first 12 bytes of a connection.
class Handshake {
 public:
  enum class State { incomplete, complete, foreign };  // foreign: not a Tracy server
  // Takes no more than it needs; `taken` is set to that size.
  State take(std::span<const char> bytes, size_t& taken);
  uint32_t protocol() const;

 private:
  std::string got_;
};

struct Welcome {
  uint64_t init_begin_ns = 0;  // times are shown relative to it
  uint64_t unix_s = 0;
  std::string program, host;
};
// Data sent after Status::welcome.
std::string welcome_bytes(const Dialect& dialect, const Welcome& welcome);

struct SourceLocation {
  std::string name, function, file;
  uint32_t line = 0;
  Colour colour{};
};

// Resolves the keys that a client has sent. A server may request an unknown key as well.
class Names {
 public:
  virtual ~Names() = default;
  virtual std::string text(uint64_t key) = 0;  // strings, plots, frames, fibers
  virtual std::string thread(uint32_t id) = 0;
  // Texts of a location are requested by its key and 0 name, 1 function, 2 file: see key_of().
  virtual SourceLocation source_location(uint64_t key) = 0;
};
enum class Part : uint8_t { name, function, file };
constexpr uint64_t key_of(uint64_t source_location, Part part) {
  return uint64_t{1} << 62 | source_location << 2 | static_cast<uint64_t>(part);
}

class Client {
 public:
  Client(const Dialect& dialect, BlockSink& sink, Names& names) : stream_(dialect, sink), names_(names) {}

  Stream& stream() { return stream_; }

  // Bytes from the server; kept until answer(). Servers have 8192 questions open at most.
  void take(std::span<const char> bytes);
  // Answers pending questions. Must be called only between items that need not follow each other.
  void answer();

  // The server has announced that no question follows: close.
  bool finished() const { return finished_; }
  // It has requested the end: call terminate() and continue to answer.
  bool wants_end() const { return wants_end_; }
  // The reason if it sent a question that no Tracy server sends.
  const std::string& complaint() const { return complaint_; }

 private:
  void answer(Query query, uint64_t key, uint32_t extra);
  void answer_location(uint64_t key);

  Stream stream_;
  Names& names_;
  std::vector<char> inbox_;
  bool finished_ = false, wants_end_ = false;
  std::string complaint_;
};

// The announcement servers on the network list (UDP). `active_s` -1: going away.
std::string announcement(const Dialect& dialect, uint16_t port, int32_t active_s, std::string_view program);

}  // namespace ttc::tracy

// A Tracy client of ours and our server's side in one thread: what the client streams is taken by an Exchange, and its
// queries are answered. The client (tools/tracy) shares no table and no code with the server.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "collector/tracy_server/exchange.hpp"
#include "tools/tracy/client.hpp"

namespace ttc::tests {

struct ConversationNames : tracy::Names {
  // Parts of source locations have keys of their own (tracy::key_of).
  std::string text(uint64_t key) override {
    if (!(key >> 62)) return "text " + std::to_string(key);
    const tracy::SourceLocation at = source_location(key << 2 >> 4);
    const auto part = static_cast<tracy::Part>(key & 3);
    return part == tracy::Part::name ? at.name : part == tracy::Part::function ? at.function : at.file;
  }
  std::string thread(uint32_t id) override { return "thread " + std::to_string(id); }
  tracy::SourceLocation source_location(uint64_t key) override {
    const std::string number = std::to_string(key);
    return {
        "zone " + number, "function " + number, "file " + number + ".cpp", static_cast<uint32_t>(key), {}};
  }
};

struct HeardEvent {
  collect::EventKind kind;
  uint32_t subject;
  int64_t time;
  uint64_t value;
  std::string text;
  bool operator==(const HeardEvent&) const = default;
};

class Conversation : public tracy::BlockSink {
 public:
  Conversation(const tracy::Dialect& dialect, size_t piece)
      : client_(dialect, *this, names_),
        exchange_(dialect.protocol,
                  [this](const collect::HostEvent& e) {
                    heard.push_back({e.kind, e.subject, e.time, e.value, std::string(e.text)});
                  }),
        piece_(piece) {
    const std::string offer = exchange_.to_send();
    size_t taken = 0;
    tracy::Handshake handshake;
    handshake.take(offer, taken);
    offered = handshake.protocol();
    deliver(std::string(1, static_cast<char>(tracy::Status::welcome)) +
            tracy::welcome_bytes(dialect, {1000, 0, "program", "host"}));
  }
  void block(std::span<const char> bytes) override { deliver({bytes.data(), bytes.size()}); }

  tracy::Stream& stream() { return client_.stream(); }
  void answer() {
    for (std::string asked = exchange_.to_send(); !asked.empty(); asked = exchange_.to_send()) {
      client_.take(asked);
      client_.answer();
      stream().flush();
    }
  }
  void end() {
    stream().terminate();
    stream().flush();
    answer();
  }
  // The stream in pieces of `piece` bytes.
  void deliver(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); at += piece_)
      exchange_.receive(std::as_bytes(std::span(bytes)).subspan(at, std::min(piece_, bytes.size() - at)));
  }
  std::vector<HeardEvent> of(collect::EventKind kind) const {
    std::vector<HeardEvent> found;
    for (const HeardEvent& e : heard)
      if (e.kind == kind) found.push_back(e);
    return found;
  }
  tracy_server::Exchange& exchange() { return exchange_; }
  tracy::Client& client() { return client_; }

  std::vector<HeardEvent> heard;
  uint32_t offered = 0;

 private:
  ConversationNames names_;
  tracy::Client client_;
  tracy_server::Exchange exchange_;
  size_t piece_;
};

}  // namespace ttc::tests

// The server's side of one connection, without the connection: bytes that came in, bytes that are to be sent out.
//
//   offer the protocol's number -> the client's answer -> welcome -> frames (u32 size, one LZ4 block) ... -> Terminate item
//   -> answers until every name is known -> Terminate query -> the client closes
//
// A client that does not get the last query waits in the exit of its process until it is killed, and so does one whose
// frames are invalid: then the caller must close the connection, on which every client continues by itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collector/tracy_server/event_decoder.hpp"

namespace ttc::tracy_server {

// LZ4 blocks that refer to the 64 KiB before them (TracyLz4, streaming).
class FrameUnpacker {
 public:
  static constexpr size_t kMostUnpacked = 256u << 10;  // TargetFrameSize
  static constexpr size_t kMostPacked = kMostUnpacked + kMostUnpacked / 255 + 16;
  FrameUnpacker();
  // The contents of a block, valid until the next call; no value if it is no such block.
  std::optional<std::span<const std::byte>> unpack(std::span<const std::byte> packed);

 private:
  static constexpr size_t kHistory = 64u << 10;
  std::vector<std::byte> buffer_;  // history, and behind it the block
  size_t history_ = 0, last_ = 0;  // bytes in front of the block, bytes of the block
};

// Fields of the welcome message.
struct ClientProcess {
  uint32_t protocol = 0;
  uint64_t pid = 0;
  double timer_mul =
      1;  // ns a tick by its own measure; exactly 1: its clock is CLOCK_MONOTONIC_RAW, not the counter
  int64_t init_begin = 0;
  std::string program, host_info;
};

enum class ExchangeState : uint8_t {
  offered,   // the client has not answered
  mismatch,  // the client has another protocol
  refused,   // it has a server, or no more data for one
  welcome,   // its description is under way
  frames,
  ended,   // in order: the last query is in what is to be sent
  broken,  // why() has the reason; to be closed
};

class Exchange {
 public:
  // `protocol`: of protocols(). Events go to `take`, from within receive(). `own_thread`: as EventDecoder's.
  Exchange(uint32_t protocol, EventDecoder::Take take, EventDecoder::OwnThread own_thread = {});

  ExchangeState receive(std::span<const std::byte> bytes);
  ExchangeState state() const { return state_; }
  // Bytes for the client since the last call.
  std::string to_send();
  // The connection is gone: names that never came are given as far as they are known.
  void finish() { decoder_.finish(); }

  // Valid from state frames on.
  const ClientProcess& process() const { return process_; }
  const EventDecoder& decoder() const { return decoder_; }
  const std::string& why() const { return why_; }

  // The client has no more events, and waits for the end of the questions that it has not answered yet.
  bool waits_for_answers() const {
    return state_ == ExchangeState::frames && decoder_.terminated() && open_ != 0;
  }
  uint64_t open_queries() const { return open_; }
  uint64_t answered() const { return answered_; }
  // Ends without the answers that are open, of a client that does not give them: it waits in its exit.
  void end_without_answers();

 private:
  // Queries that may be open at once: those that the client's smallest send buffer holds (TracyWorker, Exec).
  static constexpr uint64_t kMostOpen = 256;
  bool take_answer();
  bool take_welcome();
  bool take_frame();
  void send_queries();
  void put_query(const Query& query);
  void broke(std::string why);

  ExchangeState state_ = ExchangeState::offered;
  EventDecoder decoder_;
  FrameUnpacker unpacker_;
  ClientProcess process_;
  std::vector<std::byte> in_;
  size_t at_ = 0;  // of what was taken of it
  std::string out_, why_;
  uint64_t answered_ = 0;
  uint64_t open_ = 0;  // queries without an answer
};

}  // namespace ttc::tracy_server

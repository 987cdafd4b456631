// Chunks of this process on their way into a capture, without a ring: a fast sender cannot overwrite them.
//
// A sender never waits. While the capture has not taken `most_bytes` of them, events are refused, which their sender counts;
// definitions, which later chunks refer to, have as much room again behind it. Callable from several threads.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace ttc::collect {

class ChunkFeed {
 public:
  static constexpr uint64_t kMostBytes = 64u << 20;
  explicit ChunkFeed(uint64_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  enum class Kind : uint8_t { events, definitions };
  // A whole chunk, header included. False: refused, and not counted here.
  bool put(std::vector<uint64_t> chunk, Kind kind);
  // No further chunk will come; one that comes is refused.
  void end();

  // The capture's side: what is there, oldest first, about `most` bytes of it.
  std::deque<std::vector<uint64_t>> take(uint64_t most);
  // Ended, and everything was taken.
  bool over() const;

 private:
  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::deque<std::vector<uint64_t>> chunks_;
  uint64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace ttc::collect

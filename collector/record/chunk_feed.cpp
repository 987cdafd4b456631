#include "collector/record/chunk_feed.hpp"

#include <utility>

namespace ttc::collect {

bool ChunkFeed::put(std::vector<uint64_t> chunk, Kind kind) {
  const uint64_t bytes = chunk.size() * sizeof(uint64_t);
  const std::lock_guard lock(mutex_);
  const uint64_t room = kind == Kind::events ? most_bytes_ : 2 * most_bytes_;
  if (ended_ || bytes_ + bytes > room) return false;
  bytes_ += bytes;
  chunks_.push_back(std::move(chunk));
  return true;
}

void ChunkFeed::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

std::deque<std::vector<uint64_t>> ChunkFeed::take(uint64_t most) {
  std::deque<std::vector<uint64_t>> taken;
  const std::lock_guard lock(mutex_);
  for (uint64_t bytes = 0; !chunks_.empty() && bytes < most; chunks_.pop_front()) {
    bytes += chunks_.front().size() * sizeof(uint64_t);
    taken.push_back(std::move(chunks_.front()));
  }
  for (const auto& chunk : taken) bytes_ -= chunk.size() * sizeof(uint64_t);
  return taken;
}

bool ChunkFeed::over() const {
  const std::lock_guard lock(mutex_);
  return ended_ && chunks_.empty();
}

}  // namespace ttc::collect

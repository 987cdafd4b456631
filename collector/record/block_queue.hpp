// Blocks between the thread that gathers them, those that pack them and the one that writes them. Bounded by
// memory: who gathers never waits; when the disk is behind for good, whole blocks are dropped by rule.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "collector/capture/block_codec.hpp"

namespace ttc::collect {

// What is given up when not all can be kept.
enum class Keep : uint8_t { newest, oldest };

struct QueuedBlock {
  enum class State : uint8_t { raw, packing, packed, writing };
  uint64_t number = 0;
  ChunkBatch chunks;    // until it is packed
  ChunkBatch facts;     // its chunks that are no device words
  AlignedBytes packed;  // with `header`, from then on
  BlockHeader header;
  State state = State::raw;  // the queue's, as the next one
  size_t counted = 0;        // bytes
};

class BlockQueue {
 public:
  BlockQueue(uint64_t most_bytes, Keep keep) : most_bytes_(most_bytes), keep_(keep) {}

  // Gathering: never waits. What has to make way, perhaps the block itself.
  std::vector<std::unique_ptr<QueuedBlock>> push(std::unique_ptr<QueuedBlock> block);
  // No block will come.
  void close();

  // Packing: waits for a block; null when none will come.
  QueuedBlock* next_to_pack();
  void packed(QueuedBlock* block);
  void not_packed(QueuedBlock* block) { written(block); }  // it cannot be, and is gone

  // Writing, in the order of push(): the next one, null when it is not packed yet or there is none. With
  // `wait_ms` waits so long. finished(): none will come.
  QueuedBlock* next_to_write(unsigned wait_ms);
  void written(QueuedBlock* block);
  bool finished() const;
  // No block will be written any more: drops the queued blocks, and all later ones.
  void abandon();

  uint64_t bytes() const;
  uint64_t most_bytes_seen() const;

 private:
  uint64_t bytes_now() const;  // with mutex_
  std::unique_ptr<QueuedBlock> take(size_t index);

  const uint64_t most_bytes_;
  const Keep keep_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<QueuedBlock>> blocks_;
  uint64_t most_seen_ = 0;
  bool closed_ = false, abandoned_ = false;
};

}  // namespace ttc::collect

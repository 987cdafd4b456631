// Chunks of words that wait, the first of them first. A chunk whose memory is kept stays where it is; others are copied, one behind the other, into
// blocks of memory that are used again: chunks of a live card are small, and come by the hundred thousand.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace ttc::tools {

class WaitingWords {
 public:
  static constexpr size_t kBlockWords = 32 << 10;  // of one that holds no larger chunk
  static constexpr size_t kMostSpareBlocks = 64;

  struct Chunk {
    std::span<const uint64_t> words;
    std::shared_ptr<const void> memory;  // of the words
  };

  // `memory` keeps the words; null: they are copied.
  void push(std::span<const uint64_t> words, std::shared_ptr<const void> memory = {}) {
    bytes_ += words.size_bytes();
    if (!memory) {
      if (!block_ || block_->size() + words.size() > block_->capacity()) begin_block(words.size());
      block_->insert(block_->end(), words.begin(), words.end());
      words = std::span<const uint64_t>(*block_).last(words.size());
      memory = block_;
    }
    chunks_.push_back({words, std::move(memory)});
  }
  bool empty() const { return chunks_.empty(); }
  uint64_t bytes() const { return bytes_; }
  // Not empty.
  std::span<const uint64_t> front() const { return chunks_.front().words; }
  // Chunks are let go by the thread that pushes.
  Chunk pop() {
    Chunk chunk = std::move(chunks_.front());
    chunks_.pop_front();
    bytes_ -= chunk.words.size_bytes();
    if (chunks_.empty()) block_.reset();
    return chunk;
  }

 private:
  using Block = std::vector<uint64_t>;
  void begin_block(size_t words) {
    const auto unused =
        std::find_if(blocks_.begin(), blocks_.end(), [](const auto& b) { return b.use_count() == 1; });
    if (unused != blocks_.end())
      block_ = *unused;
    else
      block_ = std::make_shared<Block>();
    if (unused == blocks_.end() && blocks_.size() < kMostSpareBlocks) blocks_.push_back(block_);
    block_->clear();
    block_->reserve(std::max(kBlockWords, words));
  }

  std::deque<Chunk> chunks_;
  std::vector<std::shared_ptr<Block>> blocks_;  // those without another user are used again
  std::shared_ptr<Block> block_;                // that is being filled, and never grows; null: none
  uint64_t bytes_ = 0;
};

}  // namespace ttc::tools

// Chunks of words that wait, the first of them first. They lie one behind the other in blocks of memory that are used again: chunks of a live card
// are small, and come by the hundred thousand.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace ttc::tools {

class WaitingWords {
 public:
  static constexpr size_t kBlockWords = 32 << 10;  // of one that holds no larger chunk
  static constexpr size_t kMostSpareBlocks = 64;

  void push(std::span<const uint64_t> chunk) {
    if (blocks_.empty() || blocks_.back().words.size() + 1 + chunk.size() > kBlockWords) add_block();
    std::vector<uint64_t>& words = blocks_.back().words;
    words.push_back(chunk.size());
    words.insert(words.end(), chunk.begin(), chunk.end());
    bytes_ += chunk.size_bytes();
  }
  bool empty() const { return blocks_.empty(); }
  uint64_t bytes() const { return bytes_; }
  // Not empty.
  std::span<const uint64_t> front() const {
    const Block& block = blocks_.front();
    return std::span(block.words).subspan(block.next + 1, block.words[block.next]);
  }
  // The chunk stays where it is until the next call that is not const.
  std::span<const uint64_t> pop() {
    const std::span<const uint64_t> chunk = front();
    Block& block = blocks_.front();
    bytes_ -= chunk.size_bytes();
    block.next += 1 + chunk.size();
    if (block.next < block.words.size()) return chunk;
    if (spare_.size() == kMostSpareBlocks) spare_.pop_back();
    spare_.push_back(std::move(block.words));
    blocks_.pop_front();
    return chunk;
  }

 private:
  struct Block {
    std::vector<uint64_t> words;  // of each chunk: how many it has, and these
    size_t next = 0;              // the first that was not popped
  };
  void add_block() {
    Block& fresh = blocks_.emplace_back();
    if (spare_.empty()) return fresh.words.reserve(kBlockWords);
    fresh.words = std::move(spare_.back());
    fresh.words.clear();
    spare_.pop_back();
  }

  std::deque<Block> blocks_;  // none is empty
  std::vector<std::vector<uint64_t>> spare_;
  uint64_t bytes_ = 0;
};

}  // namespace ttc::tools

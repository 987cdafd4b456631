#include "collector/record/block_queue.hpp"

#include <algorithm>
#include <chrono>

namespace ttc::collect {

using State = QueuedBlock::State;

uint64_t BlockQueue::bytes_now() const {
  uint64_t bytes = 0;
  for (const auto& b : blocks_) bytes += b->counted;
  return bytes;
}

std::unique_ptr<QueuedBlock> BlockQueue::take(size_t index) {
  auto block = std::move(blocks_[index]);
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
  return block;
}

std::vector<std::unique_ptr<QueuedBlock>> BlockQueue::push(std::unique_ptr<QueuedBlock> block) {
  std::vector<std::unique_ptr<QueuedBlock>> dropped;
  const std::lock_guard lock(mutex_);
  if (abandoned_) return dropped;
  block->counted = block->chunks.bytes() + block->facts.bytes();
  uint64_t bytes = bytes_now() + block->counted;
  while (bytes > most_bytes_) {
    // Blocks being packed or written cannot be evicted but count toward the limit.
    const auto victim = std::find_if(blocks_.begin(), blocks_.end(), [](const auto& b) {
      return b->state == State::raw || b->state == State::packed;
    });
    if (keep_ == Keep::oldest || victim == blocks_.end()) {
      dropped.push_back(std::move(block));
      return dropped;
    }
    bytes -= (*victim)->counted;
    dropped.push_back(take(static_cast<size_t>(victim - blocks_.begin())));
  }
  most_seen_ = std::max(most_seen_, bytes);
  blocks_.push_back(std::move(block));
  changed_.notify_all();
  return dropped;
}

void BlockQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

QueuedBlock* BlockQueue::next_to_pack() {
  std::unique_lock lock(mutex_);
  for (;;) {
    for (const auto& b : blocks_)
      if (b->state == State::raw) {
        b->state = State::packing;
        return b.get();
      }
    if (closed_) return nullptr;
    changed_.wait(lock);
  }
}

void BlockQueue::packed(QueuedBlock* block) {
  const std::lock_guard lock(mutex_);
  block->state = State::packed;
  block->counted = block->packed.size() + block->facts.bytes();
  if (abandoned_) std::erase_if(blocks_, [&](const auto& b) { return b.get() == block; });
  changed_.notify_all();
}

QueuedBlock* BlockQueue::next_to_write(unsigned wait_ms) {
  std::unique_lock lock(mutex_);
  const auto next = [this]() -> QueuedBlock* {
    for (const auto& b : blocks_)
      if (b->state != State::writing) return b->state == State::packed ? b.get() : nullptr;
    return nullptr;
  };
  changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                    [&] { return next() || (closed_ && blocks_.empty()); });
  QueuedBlock* block = next();
  if (block) block->state = State::writing;
  return block;
}

void BlockQueue::written(QueuedBlock* block) {
  const std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return b.get() == block; });
  blocks_.erase(it);
  changed_.notify_all();
}

// What is being packed or written goes when that is done.
void BlockQueue::abandon() {
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  std::erase_if(blocks_, [](const auto& b) { return b->state == State::raw || b->state == State::packed; });
  changed_.notify_all();
}

bool BlockQueue::finished() const {
  const std::lock_guard lock(mutex_);
  return closed_ && blocks_.empty();
}

uint64_t BlockQueue::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_now();
}
uint64_t BlockQueue::most_bytes_seen() const {
  const std::lock_guard lock(mutex_);
  return most_seen_;
}

}  // namespace ttc::collect

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

#include "collector/capture/block_codec.hpp"

namespace ttc::collect {

void ChunkBatch::reserve(size_t words) {
  if (used_ + words <= capacity_) return;
  const size_t capacity =
      std::bit_ceil(used_ + words);  // blocks differ a little in size: enough for all of them
  auto larger = std::make_unique_for_overwrite<uint64_t[]>(capacity);
  if (used_) std::memcpy(larger.get(), words_.get(), used_ * 8);
  words_ = std::move(larger);
  capacity_ = capacity;
}

std::span<uint64_t> ChunkBatch::add_room(size_t words) {
  reserve(words);
  const std::span<uint64_t> room(words_.get() + used_, words);
  used_ += words;
  begins_.push_back(used_);
  return room;
}

void ChunkBatch::add(std::span<const uint64_t> chunk) {
  std::memcpy(add_room(chunk.size()).data(), chunk.data(), chunk.size_bytes());
}

void AlignedBytes::Free::operator()(std::byte* p) const {
  std::free(p);
}

void AlignedBytes::resize(size_t bytes) {
  if (bytes > capacity_) {
    const size_t capacity =
        (std::max(bytes, capacity_ + capacity_ / 2) + kCaptureAlign - 1) & ~(kCaptureAlign - 1);
    auto* larger = static_cast<std::byte*>(std::aligned_alloc(kCaptureAlign, capacity));
    if (!larger) throw std::bad_alloc();
    if (size_) std::memcpy(larger, bytes_.get(), size_);
    bytes_.reset(larger);
    capacity_ = capacity;
  }
  size_ = bytes;
}

}  // namespace ttc::collect

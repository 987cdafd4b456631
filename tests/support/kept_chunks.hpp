// Chunks as sources hand them over: in memory of their own, or in memory that is gone when none of what has them keeps it.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shm/chunk.hpp"

namespace ttc::test {

inline shm::KeptChunk own_chunk(std::vector<uint64_t> words) {
  shm::KeptChunk chunk{{}, {}, std::move(words)};
  chunk.words = chunk.own;
  return chunk;
}
inline shm::KeptChunk shared_chunk(std::vector<uint64_t> words) {
  const auto memory = std::make_shared<const std::vector<uint64_t>>(std::move(words));
  return {*memory, memory, {}};
}

}  // namespace ttc::test

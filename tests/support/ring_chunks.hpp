// Chunks that tests put into a ring themselves.
#pragma once
#include <gtest/gtest.h>

#include "shm/ring.hpp"

namespace ttc::shm {

inline void publish(RingWriter& ring, uint64_t sequence, uint32_t body = 8,
                    ChunkKind kind = ChunkKind::names) {
  ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + body);
  h.kind = kind;
  h.sequence = sequence;
  uint64_t* to = ring.claim(h.bytes);
  ASSERT_NE(to, nullptr);
  store_bytes(to, &h, sizeof h);
  for (uint32_t i = 0; i < (body + 7) / 8; ++i) store_word(to + 8 + i, sequence);
  ring.publish(h.bytes);
}

}  // namespace ttc::shm

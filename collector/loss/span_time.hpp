// The time at which a span of device words ends.
#pragma once
#include <cstdint>
#include <span>

#include "shm/chunk.hpp"

namespace ttc::collect {

// Time of the span's last marker, or of the last one in front of it when the span has none; 0: not known.
uint64_t last_time_of(const shm::ChunkHeader& h, const shm::SpanEntry& span, std::span<const uint32_t> words);

}  // namespace ttc::collect

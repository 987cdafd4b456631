// Chunks of one session as a collector publishes them, with words of launches.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "firmware_markers/layout.hpp"
#include "shm/chunk.hpp"
#include "tests/support/frames.hpp"

namespace ttc::test {

inline constexpr uint64_t kLaunchSession = 7;
inline constexpr uint32_t kLaunchGeneration = 4;

inline std::vector<uint64_t> chunk_of(shm::ChunkKind kind, const void* body, size_t bytes,
                                      shm::ChunkHeader h = {}) {
  h.kind = kind;
  h.session = kLaunchSession;
  h.bytes = static_cast<uint32_t>(sizeof h + bytes);
  std::vector<uint64_t> chunk((h.bytes + 7) / 8);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, body, bytes);
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}
inline std::vector<uint64_t> chunk_of(shm::ChunkKind kind, const std::string& text) {
  return chunk_of(kind, text.data(), text.size());
}

// A chunk without words: names, telemetry or a loss.
enum class OtherChunk : uint8_t { names, telemetry, loss };
inline std::vector<uint64_t> other_chunk(OtherChunk kind, int number, std::mt19937_64& dice) {
  if (kind == OtherChunk::names)
    return chunk_of(shm::ChunkKind::names, "Z" + std::to_string(number) + ",a.cpp,1,KERNEL_PROFILER\n");
  if (kind == OtherChunk::telemetry) {
    shm::TelemetryRecord record{};
    record.host_ns = dice();
    return chunk_of(shm::ChunkKind::telemetry, &record, sizeof record);
  }
  shm::LossRecord record;
  record.id = static_cast<uint64_t>(number) + 1, record.from_cycles = dice() % 1000;
  return chunk_of(shm::ChunkKind::loss, &record, sizeof record);
}

// Words of a lane of the core in column 1 + `core`.
inline std::vector<uint64_t> lane_chunk(uint8_t core, uint8_t risc, const Words& words,
                                        device::Mode mode = device::Mode::normal, uint64_t read_time_ns = 0) {
  shm::ChunkHeader h;
  h.core_x = static_cast<uint8_t>(1 + core), h.core_y = 2, h.flat_id = core;
  h.generation = kLaunchGeneration;
  h.firmware_mode = static_cast<uint8_t>(mode);
  h.read_time_ns = read_time_ns;
  h.span_count = 1;
  shm::SpanEntry span;
  span.risc = risc;
  span.word_count = static_cast<uint32_t>(words.size());
  span.data_offset = sizeof h + sizeof span;
  std::string body(reinterpret_cast<const char*>(&span), sizeof span);
  body.append(reinterpret_cast<const char*>(words.data()), words.size() * 4);
  return chunk_of(shm::ChunkKind::device_words, body.data(), body.size(), h);
}

}  // namespace ttc::test

// Chunks that come into a capture without a ring.
#include "collector/record/chunk_feed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "collector/record/capture_writer.hpp"
#include "ttcollect/capture_reader.hpp"
#include "ttcollect/host_events.hpp"

namespace ttc::collect {
namespace {

constexpr size_t kWords = 128;

std::vector<uint64_t> chunk_of(uint64_t sequence, shm::ChunkKind kind) {
  std::vector<uint64_t> chunk(kWords, sequence);
  shm::ChunkHeader h;
  h.bytes = kWords * 8;
  h.kind = kind;
  h.sequence = sequence;
  h.session = 77;
  h.device = kHostDevice;
  std::memcpy(chunk.data(), &h, sizeof h);
  return chunk;
}
std::vector<uint64_t> events(uint64_t sequence) {
  return chunk_of(sequence, shm::ChunkKind::host_events);
}

TEST(ChunkFeed, refuses_events_beyond_its_bound_and_definitions_beyond_twice_of_it) {
  ChunkFeed feed(2 * kWords * 8);
  EXPECT_TRUE(feed.put(events(0), ChunkFeed::Kind::events));
  EXPECT_TRUE(feed.put(events(1), ChunkFeed::Kind::events));
  EXPECT_FALSE(feed.put(events(2), ChunkFeed::Kind::events));
  EXPECT_TRUE(feed.put(chunk_of(3, shm::ChunkKind::host_names), ChunkFeed::Kind::definitions));
  EXPECT_TRUE(feed.put(chunk_of(4, shm::ChunkKind::host_names), ChunkFeed::Kind::definitions));
  EXPECT_FALSE(feed.put(chunk_of(5, shm::ChunkKind::host_names), ChunkFeed::Kind::definitions));
  EXPECT_EQ(feed.take(1).size(), 1u);
  EXPECT_EQ(feed.take(1).front(), events(1));
  EXPECT_FALSE(feed.put(events(4), ChunkFeed::Kind::events));
  EXPECT_EQ(feed.take(1).size(), 1u);
  EXPECT_TRUE(feed.put(events(4), ChunkFeed::Kind::events));
  feed.end();
  EXPECT_FALSE(feed.over());
  EXPECT_FALSE(feed.put(events(5), ChunkFeed::Kind::definitions));
  EXPECT_EQ(feed.take(1 << 20).size(), 2u);
  EXPECT_TRUE(feed.over());
}

// More than a ring held at once was overwritten before the capture had read it.
TEST(ChunkFeed, a_burst_is_in_the_capture_whole_and_in_order) {
  constexpr uint64_t kChunks = 20'000;
  const std::string path =
      std::filesystem::temp_directory_path() / ("feed-" + std::to_string(getpid()) + ".ttc");
  CaptureOptions options;
  options.path = path;
  options.memory_bytes = 8u << 20;
  CaptureWriter writer(options, 77);
  const auto feed = std::make_shared<ChunkFeed>();
  writer.add(feed);
  for (uint64_t i = 0; i < kChunks; ++i) ASSERT_TRUE(feed->put(events(i), ChunkFeed::Kind::events));
  feed->end();
  writer.finish();
  EXPECT_EQ(writer.error(), "");
  EXPECT_EQ(writer.dropped_bytes(), 0u);
  uint64_t next = 0;
  CaptureReader reader(path);
  for (std::vector<uint64_t> chunk; reader.next(chunk);)
    if (shm::header_of(chunk).kind == shm::ChunkKind::host_events) {
      EXPECT_EQ(chunk, events(next));
      ++next;
    }
  EXPECT_EQ(next, kChunks);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace ttc::collect

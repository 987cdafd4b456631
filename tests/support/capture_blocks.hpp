// Files of version 2 put together in memory, chunks of any form, and files without a name to hold them.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "collector/capture/block_codec.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {

// A file without a name in any directory.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  void flip(size_t bit) const { put(bit / 8, static_cast<char>(get(bit / 8) ^ 1 << bit % 8)); }
  char get(size_t at) const {
    char byte = 0;
    EXPECT_EQ(pread(fd_, &byte, 1, static_cast<off_t>(at)), 1);
    return byte;
  }
  void put(size_t at, char byte) const { EXPECT_EQ(pwrite(fd_, &byte, 1, static_cast<off_t>(at)), 1); }
  void cut(size_t bytes) const { EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(bytes)), 0); }

 private:
  int fd_;
};

using Chunk = std::vector<uint64_t>;

struct LaneWords {
  uint8_t risc = 0;
  uint32_t word_offset = 0;
  std::vector<uint32_t> words;
  shm::SpanSource source = shm::SpanSource::dram_log;
};

inline Chunk words_chunk(uint8_t x, uint8_t y, uint64_t sequence, const std::vector<LaneWords>& lanes,
                         uint64_t read_time_ns = 1000) {
  shm::ChunkHeader h;
  h.kind = shm::ChunkKind::device_words;
  h.session = 77;
  h.sequence = sequence;
  h.core_x = x;
  h.core_y = y;
  h.generation = 4;
  h.flat_id = 3;
  h.read_time_ns = read_time_ns;
  h.span_count = static_cast<uint8_t>(lanes.size());
  std::vector<shm::SpanEntry> spans;
  auto at = static_cast<uint32_t>(sizeof h + 5 * sizeof(shm::SpanEntry));
  for (const LaneWords& l : lanes) {
    shm::SpanEntry s;
    s.risc = l.risc;
    s.source = l.source;
    s.word_offset = l.word_offset;
    s.word_count = static_cast<uint32_t>(l.words.size());
    s.data_offset = at = (at + 7) & ~7u;
    at += s.word_count * 4;
    spans.push_back(s);
  }
  h.bytes = at;
  Chunk chunk((at + 7) / 8, 0);
  auto* bytes = reinterpret_cast<char*>(chunk.data());
  std::memcpy(bytes, &h, sizeof h);
  if (!spans.empty()) std::memcpy(bytes + sizeof h, spans.data(), spans.size() * sizeof spans[0]);
  for (size_t i = 0; i < lanes.size(); ++i)
    if (!lanes[i].words.empty())
      std::memcpy(bytes + spans[i].data_offset, lanes[i].words.data(), lanes[i].words.size() * 4);
  EXPECT_EQ(shm::check_chunk(chunk), "");
  return chunk;
}

inline Chunk fact_chunk(shm::ChunkKind kind, uint64_t sequence, const std::string& body) {
  shm::ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + body.size());
  h.kind = kind;
  h.session = 77;
  h.sequence = sequence;
  Chunk chunk((h.bytes + 7) / 8, 0);
  std::memcpy(chunk.data(), &h, sizeof h);
  std::memcpy(reinterpret_cast<char*>(chunk.data()) + sizeof h, body.data(), body.size());
  return chunk;
}

// One launch of one RISC: the four slots and so many zones, from `time` on.
inline void append_frame(std::vector<uint32_t>& to, uint32_t identity, uint32_t host_id, uint64_t& time,
                         unsigned zones, std::mt19937_64& dice) {
  const auto later = [&] { return time += 20 + dice() % 64; };
  test::FrameZone firmware{100, later(), {}}, kernel{101, later(), {}};
  test::Words markers;
  for (unsigned z = 0; z < zones; ++z) {
    const uint64_t start = later();
    test::put_zone(markers, {200 + z % 7, start, later()});
  }
  kernel.end = later();
  firmware.end = later();
  for (const test::Words& words : {test::frame_words(identity, host_id, firmware, kernel), markers})
    to.insert(to.end(), words.begin(), words.end());
}

inline std::string text_of(const AlignedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string file_header_text() {
  FileHeader h;
  h.session = 77;
  h.created_raw_ns = 5;
  h.checksum = checksum_of(&h, offsetof(FileHeader, checksum));
  std::string text(kCaptureAlign, '\0');
  std::memcpy(text.data(), &h, sizeof h);
  return text;
}

// A whole file of one block for each list of chunks.
inline std::string file_of(const std::vector<std::vector<Chunk>>& blocks, bool with_index = true) {
  std::string file = file_header_text();
  BlockEncoder encoder;
  std::vector<IndexEntry> index;
  AlignedBytes block;
  for (const auto& chunks : blocks) {
    ChunkBatch batch;
    for (const Chunk& c : chunks) batch.add(c);
    index.push_back({file.size(), encoder.encode(batch, index.size(), block)});
    file += text_of(block);
  }
  if (!with_index) return file;
  encode_index(index, index.size(), file.size(), block);
  return file + text_of(block);
}

}  // namespace ttc::collect

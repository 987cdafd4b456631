// Reading .ttc files of version 1 that are whole, cut at any byte, damaged at any bit, or something else
// entirely.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "collector/capture/capture_format.hpp"
#include "shm/chunk.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

using shm::ChunkHeader;
using shm::ChunkKind;

// A file without a name in any directory.
class MemoryPath {
 public:
  explicit MemoryPath(const std::string& bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  MemoryPath(const MemoryPath&) = delete;
  ~MemoryPath() { close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string chunk(ChunkKind kind, uint64_t sequence, const std::string& body) {
  ChunkHeader h;
  h.bytes = static_cast<uint32_t>(sizeof h + body.size());
  h.kind = kind;
  h.sequence = sequence;
  h.span_count = kind == ChunkKind::device_words;
  std::string text;
  put(text, h);
  text += body;
  text.resize((text.size() + 7) / 8 * 8);
  return text;
}

std::string words_body(uint32_t words) {
  shm::SpanEntry span;
  span.word_count = words;
  span.data_offset = sizeof(ChunkHeader) + sizeof span;
  std::string body;
  put(body, span);
  for (uint32_t i = 0; i < words; ++i) put(body, i);
  return body;
}

std::vector<std::string> parts() {
  std::string head;
  put(head, CaptureHeader{});
  std::string loss;
  put(loss, shm::LossRecord{});
  return {head,
          chunk(ChunkKind::session, 0, "{\"a\":1}"),
          chunk(ChunkKind::device_words, 0, words_body(12)),
          chunk(ChunkKind::loss, 1, loss),
          chunk(ChunkKind::names, 2, ""),
          chunk(ChunkKind::end, 3, "done.")};
}
std::string whole() {
  std::string all;
  for (const auto& p : parts()) all += p;
  return all;
}

struct ReadBack {
  std::string refused;
  size_t chunks = 0;
  uint64_t offset = 0;
  bool cut = false;
  std::string damage;
};
ReadBack read_whole(const std::string& bytes) {
  const MemoryPath file(bytes);
  ReadBack got;
  try {
    CaptureReader reader(file.path());
    std::vector<uint64_t> c;
    while (got.chunks < 1000 && reader.next(c)) {
      ++got.chunks;
      EXPECT_EQ(shm::check_chunk(c), "");
    }
    got.offset = reader.offset();
    got.cut = reader.cut();
    got.damage = reader.damage();
  } catch (const CaptureError& e) {
    got.refused = e.what();
    EXPECT_FALSE(got.refused.empty());
  }
  return got;
}

TEST(Capture, a_whole_file_is_read_to_its_end) {
  const ReadBack got = read_whole(whole());
  EXPECT_EQ(got.refused, "");
  EXPECT_EQ(got.chunks, 5u);
  EXPECT_FALSE(got.cut);
  EXPECT_EQ(got.damage, "");
  EXPECT_EQ(got.offset, whole().size());
}

TEST(Capture, a_file_cut_at_any_byte_gives_its_whole_chunks_and_says_that_it_is_cut) {
  const std::string all = whole();
  std::vector<size_t> ends;  // of header and chunks
  size_t at = 0;
  for (const auto& p : parts()) ends.push_back(at += p.size());
  for (size_t length = 0; length < all.size(); ++length) {
    const ReadBack got = read_whole(all.substr(0, length));
    if (length < sizeof(CaptureHeader)) {
      EXPECT_NE(got.refused, "") << length;
      continue;
    }
    size_t chunks = 0;
    while (ends[chunks + 1] <= length) ++chunks;
    EXPECT_EQ(got.chunks, chunks) << length;
    EXPECT_EQ(got.offset, ends[chunks]) << length;
    EXPECT_EQ(got.cut, length != ends[chunks]) << length;
    EXPECT_EQ(got.damage, "") << length;
  }
}

TEST(Capture, any_flipped_bit_gives_an_answer) {
  const std::string all = whole();
  for (size_t bit = 0; bit < all.size() * 8; ++bit) {
    std::string damaged = all;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const ReadBack got = read_whole(damaged);
    if (bit < 64 || (bit >= 64 && bit < 128)) {
      EXPECT_NE(got.refused, "") << "bit " << bit;
    }
    EXPECT_LE(got.chunks, 100u);
    EXPECT_LE(got.offset, all.size());
  }
}

TEST(Capture, any_byte_value_in_the_length_of_a_chunk_gives_an_answer) {
  for (size_t byte = 64; byte < 67; ++byte)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = whole();
      damaged[byte] = static_cast<char>(value);
      const ReadBack got = read_whole(damaged);
      EXPECT_EQ(got.refused, "");
      EXPECT_TRUE(got.chunks == 5 || got.cut || !got.damage.empty()) << byte << " " << value;
    }
}

TEST(Capture, other_files_are_refused_with_the_path_in_the_sentence) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(63, 't'), std::string(1000, '\0'),
        std::string("PCIe slot,core_x\n1,2\n"), whole().substr(1)}) {
    const MemoryPath file(text);
    try {
      CaptureReader reader(file.path());
      ADD_FAILURE() << "taken for a capture";
    } catch (const CaptureError& e) {
      EXPECT_NE(std::string(e.what()).find(file.path()), std::string::npos);
    }
  }
  for (const char* path : {"/nonexistent.ttc", "/", "/dev/null", ""})
    EXPECT_THROW(CaptureReader reader(path), CaptureError) << path;
}

TEST(Capture, other_versions_are_refused_and_named) {
  for (const uint32_t version : {0u, kCaptureVersion + 1, 0xffffffffu}) {
    CaptureHeader h;
    h.version = version;
    std::string text;
    put(text, h);
    EXPECT_NE(read_whole(text).refused.find("version " + std::to_string(version)), std::string::npos);
  }
  CaptureHeader h;
  h.header_bytes = 128;
  std::string text;
  put(text, h);
  EXPECT_NE(read_whole(text).refused, "");
}

TEST(Capture, a_capture_without_chunks_is_whole) {
  std::string text;
  put(text, CaptureHeader{});
  const ReadBack got = read_whole(text);
  EXPECT_EQ(got.refused, "");
  EXPECT_EQ(got.chunks, 0u);
  EXPECT_FALSE(got.cut);
}

TEST(Capture, damage_names_the_byte) {
  std::string text = whole();
  const size_t at = parts()[0].size() + parts()[1].size();
  text[at] = 3;  // a chunk of three bytes
  text[at + 1] = 0;
  const ReadBack got = read_whole(text);
  EXPECT_EQ(got.chunks, 1u);
  EXPECT_NE(got.damage.find("byte " + std::to_string(at)), std::string::npos) << got.damage;
}

// "nothing behind it can be found" (capture_reader.hpp), however often it is called.
TEST(Capture, behind_damage_nothing_is_delivered_any_more) {
  std::string text = whole();
  const size_t at = parts()[0].size() + parts()[1].size();
  text[at + sizeof(ChunkHeader) + 8] = 99;  // the span's word count: longer than its chunk
  const MemoryPath file(text);
  CaptureReader reader(file.path());
  std::vector<uint64_t> c;
  ASSERT_TRUE(reader.next(c));
  ASSERT_FALSE(reader.next(c));
  const std::string damage = reader.damage();
  ASSERT_NE(damage, "");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(reader.next(c)) << "call " << i;
  EXPECT_EQ(reader.damage(), damage);
}

TEST(Capture, a_cut_stays_reported) {
  for (const size_t length : {sizeof(CaptureHeader) + 3, sizeof(CaptureHeader) + 40}) {
    const MemoryPath file(whole().substr(0, length));
    CaptureReader reader(file.path());
    std::vector<uint64_t> c;
    EXPECT_FALSE(reader.next(c));
    EXPECT_TRUE(reader.cut());
    EXPECT_FALSE(reader.next(c));
    EXPECT_TRUE(reader.cut()) << length;
  }
}

}  // namespace
}  // namespace ttc::collect

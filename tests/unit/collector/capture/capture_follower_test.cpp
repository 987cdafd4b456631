// A capture that grows under its reader, cut at any byte.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/capture_blocks.hpp"
#include "ttcollect/capture_reader.hpp"

namespace ttc::collect {
namespace {

constexpr unsigned kNoWait = 0;

std::vector<std::vector<Chunk>> blocks_of_run() {
  std::vector<std::vector<Chunk>> blocks{{fact_chunk(shm::ChunkKind::session, 0, "{}")}};
  std::mt19937_64 dice(7);
  uint64_t time = 1000;
  for (uint64_t n = 1; n < 4; ++n) {
    std::vector<uint32_t> words;
    append_frame(words, 0x63, static_cast<uint32_t>(n), time, 3, dice);
    blocks.push_back({words_chunk(1, 2, n, {{0, static_cast<uint32_t>(40 * n), words}}, 1000 * n)});
  }
  return blocks;
}

class GrowingFile {
 public:
  GrowingFile() : fd_(memfd_create("growing", MFD_CLOEXEC)) {}
  ~GrowingFile() { close(fd_); }
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  void append(std::string_view bytes) {
    EXPECT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// All that is there; idle or end.
CaptureFollower::Next take_all(CaptureFollower& follower, std::vector<Chunk>& into) {
  for (Chunk chunk;;) {
    const CaptureFollower::Next next = follower.next(chunk, kNoWait);
    if (next != CaptureFollower::Next::chunk) return next;
    into.push_back(chunk);
  }
}

TEST(CaptureFollower, gives_each_block_once_it_is_whole) {
  const auto blocks = blocks_of_run();
  const std::string file = file_of(blocks);
  std::vector<Chunk> whole;
  for (const auto& block : blocks) whole.insert(whole.end(), block.begin(), block.end());
  for (const size_t piece : {size_t{1} << 20, size_t{4096}, size_t{1000}}) {
    GrowingFile growing;
    growing.append(file.substr(0, kCaptureAlign));
    CaptureFollower follower(growing.path());
    std::vector<Chunk> got;
    for (size_t at = kCaptureAlign; at < file.size(); at += piece) {
      EXPECT_EQ(take_all(follower, got), CaptureFollower::Next::idle) << piece << " at " << at;
      growing.append(file.substr(at, piece));
    }
    EXPECT_EQ(take_all(follower, got), CaptureFollower::Next::end) << piece;
    EXPECT_EQ(got, whole) << piece;
    EXPECT_EQ(follower.why_not_whole(), "") << piece;
  }
}

TEST(CaptureFollower, a_file_that_is_not_ended_is_idle) {
  GrowingFile growing;
  growing.append(file_of(blocks_of_run(), false));
  CaptureFollower follower(growing.path());
  std::vector<Chunk> got;
  EXPECT_EQ(take_all(follower, got), CaptureFollower::Next::idle);
  EXPECT_EQ(got.size(), 4u);
}

// A reader of the whole file passes over a damaged block; a follower waits at it and must not call that the whole.
TEST(CaptureFollower, a_damaged_block_is_no_whole_file) {
  std::string file = file_of(blocks_of_run());
  file[2 * kCaptureAlign + 200] ^= 1;
  GrowingFile growing;
  growing.append(file);
  CaptureFollower follower(growing.path());
  std::vector<Chunk> got;
  EXPECT_EQ(take_all(follower, got), CaptureFollower::Next::end);
  EXPECT_LT(got.size(), 4u);
  EXPECT_NE(follower.why_not_whole(), "");
}

TEST(CaptureFollower, what_is_no_capture_is_refused) {
  GrowingFile growing;
  growing.append(std::string(8192, 'x'));
  EXPECT_THROW(CaptureFollower(growing.path()), CaptureError);
  EXPECT_THROW(CaptureFollower("/nowhere/run.ttc"), CaptureError);
}

}  // namespace
}  // namespace ttc::collect

// Segments whose file is cut while readers have it mapped: damage with a sentence, and no signal ends the process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "shm/reader.hpp"
#include "shm/src/cut_mapping.hpp"
#include "tests/support/ring_chunks.hpp"
#include "tests/support/sanitized.hpp"

namespace ttc::shm {
namespace {

using Next = Reader::Next;
constexpr uint64_t kChunks = 500;

std::string path_of(const std::string& name) {
  return "/dev/shm/ttcollect-" + name + "." + std::to_string(geteuid());
}

// What a writer left: one that may be cut without hurting it.
class Left {
 public:
  explicit Left(const std::string& tag) : name_("test-" + std::to_string(getpid()) + "-cut-" + tag) {
    SegmentOptions options;
    options.ring_bytes = 256 << 10;
    SegmentWriter writer(name_, "emu:x", 7, options);
    writer.add_standing(ChunkKind::session, "{}");
    for (uint64_t i = 0; i < kChunks; ++i) publish(writer.ring(), i, 200);
  }
  ~Left() { remove_segment(name_); }
  Left(const Left&) = delete;
  const std::string& name() const { return name_; }
  void cut(uintmax_t bytes) const { std::filesystem::resize_file(path_of(name_), bytes); }

 private:
  std::string name_;
};

// Reads to the end; the sentence of damage, empty where there is none.
std::string read_all(Reader& reader) {
  std::vector<uint64_t> chunk;
  for (;;) switch (reader.next(chunk, 0)) {
      case Next::chunk:
      case Next::lapped:
        continue;
      case Next::damaged:
        return reader.damage();
      default:
        return {};
    }
}

TEST(CutSegment, wherever_a_mapped_segment_is_cut_reading_it_ends_in_a_sentence) {
  for (const uintmax_t bytes : {0, 100, 4096, 8192, 1 << 16, 2 << 20, (2 << 20) + (100 << 10)}) {
    const Left left("at-" + std::to_string(bytes));
    Reader reader(left.name(), StartAt::oldest);
    std::vector<uint64_t> chunk;
    ASSERT_EQ(reader.next(chunk, 0), Next::chunk);
    left.cut(bytes);
    const std::string damage = read_all(reader);
    if (bytes == 100)  // the rest of that page reads as zeros, which is damage of another kind
      EXPECT_NE(damage, "");
    else
      EXPECT_EQ(damage, "its file was cut while it was read") << bytes;
    reader.counter(Counter::sweeps), reader.tail(), reader.clock(chunk);  // of zeros
  }
}

TEST(CutSegment, one_that_is_whole_is_read_beside_one_that_is_cut) {
  const Left cut("one"), whole("other");
  Reader of_cut(cut.name(), StartAt::oldest), of_whole(whole.name(), StartAt::oldest);
  cut.cut(0);
  EXPECT_FALSE(read_all(of_cut).empty());
  EXPECT_EQ(read_all(of_whole), "");
  EXPECT_EQ(of_whole.lost_chunks(), 0u);
}

TEST(CutSegment, readers_in_threads_that_come_and_go_have_each_their_own) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int round = 0; round < 8; ++round) {
        const Left left(std::to_string(t) + "-" + std::to_string(round));
        Reader reader(left.name(), StartAt::oldest);
        if (round % 2) left.cut(4096);
        EXPECT_EQ(read_all(reader).empty(), round % 2 == 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// A file of one page, mapped as two: the second one is behind its end.
TEST(CutSegmentDeathTest, what_is_no_segment_goes_to_the_handler_before) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has a handler of SIGBUS of its own";
  const Left left("handler");
  const Reader reader(left.name(), StartAt::oldest);  // the handler is there
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::FILE* const file = std::tmpfile();
  ASSERT_EQ(ftruncate(fileno(file), static_cast<off_t>(page)), 0);
  auto* const at =
      static_cast<volatile char*>(mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, fileno(file), 0));
  EXPECT_EXIT(static_cast<void>(at[page]), testing::KilledBySignal(SIGBUS), "");
  {
    const CutMapping watched(const_cast<const char*>(at), 2 * page);
    EXPECT_EQ(at[page], 0);
    EXPECT_TRUE(watched.cut());
  }
  munmap(const_cast<char*>(at), 2 * page);
  std::fclose(file);
}

}  // namespace
}  // namespace ttc::shm

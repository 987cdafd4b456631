// Appending to files: the same bytes through io_uring and through write(2), and errors that are told.
#include "collector/file_sink.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "collector/capture_reader.hpp"

namespace ttc::collect {
namespace {

class FileSinks : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    path = testing::TempDir() + "/sink-" + std::to_string(getpid()) + (GetParam() ? "-plain" : "-uring");
  }
  void TearDown() override { std::filesystem::remove(path); }
  std::unique_ptr<FileSink> open() { return open_file_sink(path, GetParam()); }
  std::vector<std::byte> content() const {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::byte> bytes(text.size());
    if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  static std::vector<std::byte> noise(size_t count, uint64_t seed) {
    std::vector<std::byte> bytes(count);
    for (auto& b : bytes) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      b = static_cast<std::byte>(seed >> 56);
    }
    return bytes;
  }
  std::string path;
};

TEST_P(FileSinks, what_is_appended_is_what_the_file_holds) {
  std::vector<std::byte> expected;
  {
    const auto sink = open();
    uint64_t seed = 3;
    for (const size_t size : {1u, 64u, 0u, 8u, 100000u, 262144u, 262143u, 262145u, 1u, 5u << 20, 7u}) {
      const auto bytes = noise(size, ++seed);
      expected.insert(expected.end(), bytes.begin(), bytes.end());
      sink->append(bytes);
      EXPECT_LE(sink->written(), expected.size());
    }
    sink->flush();
    EXPECT_EQ(sink->written(), expected.size());
    EXPECT_EQ(sink->error(), "");
    sink->flush();
    EXPECT_EQ(sink->written(), expected.size());
  }
  EXPECT_TRUE(content() == expected);
}

TEST_P(FileSinks, many_small_appends_and_flushes_in_between_keep_their_order) {
  std::vector<std::byte> expected;
  const auto sink = open();
  for (uint64_t i = 0; i < 3000; ++i) {
    const auto bytes = noise(8 * (1 + i * 37 % 200), i);
    expected.insert(expected.end(), bytes.begin(), bytes.end());
    sink->append(bytes);
    if (i % 333 == 0) {
      sink->flush();
      ASSERT_EQ(sink->written(), expected.size());
      ASSERT_EQ(content().size(), expected.size());
    }
  }
  sink->flush();
  EXPECT_TRUE(content() == expected);
}

TEST_P(FileSinks, an_existing_file_is_truncated) {
  std::ofstream(path) << std::string(10000, 'x');
  open()->flush();
  EXPECT_EQ(content().size(), 0u);
}

TEST_P(FileSinks, a_full_disk_is_told_once_and_nothing_more_is_written) {
  const auto sink = open_file_sink("/dev/full", GetParam());
  for (int i = 0; i < 20; ++i) sink->append(noise(100000, 1));
  sink->flush();
  EXPECT_NE(sink->error().find("No space left"), std::string::npos) << sink->error();
  const std::string first = sink->error();
  sink->append(noise(1 << 20, 2));
  sink->flush();
  EXPECT_EQ(sink->error(), first);
  EXPECT_EQ(sink->written(), 0u);
}

TEST_P(FileSinks, a_file_that_may_not_grow_keeps_what_it_has_and_says_so) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const auto sink = open();
  const auto bytes = noise(3 << 20, 9);
  rlimit limit = before;
  limit.rlim_cur = 1'000'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  for (size_t at = 0; at < bytes.size(); at += 65536) sink->append(std::span(bytes).subspan(at, 65536));
  sink->flush();
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_NE(sink->error(), "");
  EXPECT_EQ(sink->written(), 1'000'000u);
  const auto got = content();
  ASSERT_EQ(got.size(), 1'000'000u);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
}

TEST_P(FileSinks, a_path_that_cannot_be_opened_is_a_sentence) {
  for (const char* bad : {"/nonexistent-directory/x.ttc", "/", ""}) try {
      open_file_sink(bad, GetParam());
      ADD_FAILURE() << "opened '" << bad << "'";
    } catch (const CaptureError& e) {
      EXPECT_NE(std::string(e.what()).find(bad), std::string::npos);
    }
}

TEST_P(FileSinks, a_pipe_is_written_too) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto sink = open_file_sink("/proc/self/fd/" + std::to_string(ends[1]), GetParam());
  const auto bytes = noise(5000, 4);
  sink->append(bytes);
  sink->flush();
  std::vector<std::byte> got(5000);
  ASSERT_EQ(read(ends[0], got.data(), got.size()), 5000);
  EXPECT_TRUE(got == bytes);
  close(ends[0]);
  close(ends[1]);
}

INSTANTIATE_TEST_SUITE_P(Backends, FileSinks, testing::Bool(),
                         [](const auto& i) { return std::string(i.param ? "plain" : "io_uring"); });

}  // namespace
}  // namespace ttc::collect

// Rows that several threads write at their places in one file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tools/output/output.hpp"

namespace ttc::tools {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string file_of_this_test() {
  return testing::TempDir() + "output_places-" + std::to_string(getpid());
}

TEST(OutputPlaces, RowsAreWhereTheyWerePlacedWhoeverWritesThem) {
  const std::string path = file_of_this_test();
  std::string expected;
  {
    jobs::Workers workers(3);
    Output out(path, false, false, &workers);
    ASSERT_TRUE(out.has_places());
    std::deque<std::string> texts;
    std::deque<Output::Rows> rows;
    const auto row_of = [&](size_t i) -> const std::string& {
      texts.push_back(std::string(1 + i * 7919 % 5000, static_cast<char>('a' + i % 26)) + '\n');
      expected += texts.back();
      return texts.back();
    };
    for (size_t i = 0; i < 900; i += 3) {
      Output::Rows& each = rows.emplace_back(out);
      out.place(each, row_of(i));
      out.append(row_of(i + 1));  // through the buffer
      out.place(each, row_of(i + 2));
      out.write(each, static_cast<unsigned>(i / 3 % 3));
      if (i % 90 == 0) out.append_rows(std::string(100'000, '-')), expected += std::string(100'000, '-');
    }
    for (Output::Rows& each : rows) workers.wait(each);
    out.commit();
  }
  EXPECT_EQ(bytes_of(path), expected);
  std::filesystem::remove(path);
}

// No file of the process may be longer, while this lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limited{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

// More pieces than one call of the kernel takes, and other rows between some of them.
TEST(OutputPlaces, ManySmallPiecesAreWrittenWhole) {
  const std::string path = file_of_this_test();
  std::string expected;
  {
    jobs::Workers workers(2);
    Output out(path, false, false, &workers);
    std::deque<std::string> texts;
    Output::Rows rows(out);
    for (size_t i = 0; i < 3000; ++i) {
      texts.push_back(std::to_string(i) + std::string(i % 40, '.'));
      expected += texts.back();
      out.place(rows, texts.back());
      if (i % 700 == 0) out.append("between\n"), expected += "between\n";
    }
    out.write(rows, 1);
    workers.wait(rows);
    out.commit();
  }
  EXPECT_EQ(bytes_of(path), expected);
  std::filesystem::remove(path);
}

// The kernel takes no more bytes of them than the limit: what it took of a piece is not written again, and the failure is reported.
TEST(OutputPlaces, PiecesThatAreCutByALimitFail) {
  const std::string path = file_of_this_test();
  {
    jobs::Workers workers(2);
    Output out(path, false, false, &workers);
    const std::string text(300, 'x');
    Output::Rows rows(out);
    for (int i = 0; i < 10; ++i) out.place(rows, text);
    const FileLimit limit(1000);
    out.write(rows, 1);
    while (!workers.done(rows)) std::this_thread::yield();
    EXPECT_THROW(out.commit(), OutputError);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// No one waits for the rows here: commit() reports what failed.
TEST(OutputPlaces, AFileWithoutSomeOfItsRowsDoesNotAppear) {
  const std::string path = file_of_this_test();
  {
    jobs::Workers workers(2);
    Output out(path, false, false, &workers);
    ASSERT_TRUE(out.has_places());
    const std::string text(1000, 'x');
    Output::Rows rows(out);
    const FileLimit limit(500);
    out.place(rows, text);
    out.write(rows, 1);
    while (!workers.done(rows)) std::this_thread::yield();
    EXPECT_THROW(out.commit(), OutputError);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(OutputPlaces, AreOnlyInAFileThatAppearsAsAWholeAndForSeveralThreads) {
  const std::string path = file_of_this_test();
  jobs::Workers one(1), several(2);
  EXPECT_FALSE(Output(path, false, false, &one).has_places());
  EXPECT_FALSE(Output(path, false).has_places());
  EXPECT_FALSE(Output(path, false, true, &several).has_places()) << "gzip";
  EXPECT_FALSE(Output(path, true, false, &several).has_places()) << "grows under the eyes of its reader";
  EXPECT_FALSE(Output("/dev/null", false, false, &several).has_places());
  EXPECT_FALSE(Output("-", false, false, &several).has_places());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ttc::tools

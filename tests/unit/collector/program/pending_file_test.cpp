#include "collector/program/pending_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace ttc::program {
namespace {

namespace fs = std::filesystem;
using Until = PendingFile::Until;

class Pending : public testing::TestWithParam<Until> {
 protected:
  void SetUp() override {
    fs::create_directories(directory);
    if (GetParam() == Until::part) return;
    const int fd = open(directory.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0) GTEST_SKIP() << "no file without a name on this file system";
    close(fd);
  }
  void TearDown() override { fs::remove_all(directory); }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory)) found.insert(entry.path().filename());
    return found;
  }
  void write_old() const { std::ofstream(path) << "old"; }
  std::string content() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string directory = testing::TempDir() + "/pending-" + std::to_string(getpid());
  const std::string path = directory + "/out.csv";
};

TEST_P(Pending, stands_in_place_of_the_old_file_once_it_is_whole) {
  write_old();
  PendingFile file(path, GetParam());
  ASSERT_EQ(file.error(), 0);
  ASSERT_EQ(write(file.fd(), "new", 3), 3);
  std::ofstream(file.name(), std::ios::app) << ", by its name";
  EXPECT_EQ(file.written(), 0);
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(file.put_in_place(), 0);
  EXPECT_EQ(content(), "new, by its name");
  EXPECT_EQ(names(), std::set<std::string>{"out.csv"});
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(info.st_mode & 0777, 0644 & ~mask);
}

TEST_P(Pending, leaves_nothing_when_it_is_not_put_in_place) {
  write_old();
  { EXPECT_EQ(PendingFile(path, GetParam()).error(), 0); }
  EXPECT_EQ(names(), std::set<std::string>{"out.csv"});
  EXPECT_EQ(content(), "old");
}

TEST_P(Pending, leaves_nothing_when_it_cannot_be_put_in_place) {
  fs::create_directories(path + "/in the way");
  {
    PendingFile file(path, GetParam());
    EXPECT_EQ(file.put_in_place(), EISDIR);
  }
  EXPECT_EQ(names(), std::set<std::string>{"out.csv"});
  EXPECT_EQ(PendingFile(directory + "/absent/x", GetParam()).error(), ENOENT);
}

// A file of a process of the same number, or a link that someone else put there.
TEST_P(Pending, writes_through_nothing_that_has_its_temporary_name) {
  const std::string victim = directory + "/victim", part = path + ".part-" + std::to_string(getpid());
  std::ofstream(victim) << "kept";
  fs::create_symlink(victim, part);
  {
    PendingFile file(path, GetParam());
    ASSERT_EQ(write(file.fd(), "new", 3), 3);
    EXPECT_EQ(file.put_in_place(), 0);
  }
  EXPECT_EQ(names(), (std::set<std::string>{"out.csv", "victim"}));
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(fs::file_size(victim), 4u);
}

INSTANTIATE_TEST_SUITE_P(Forms, Pending, testing::Values(Until::unnamed_if_possible, Until::part),
                         [](const auto& form) {
                           return form.param == Until::part ? "as_a_part" : "without_a_name";
                         });

// A .part file of every killed export used to stay.
TEST_P(Pending, a_killed_process_leaves_nothing_or_its_part) {
  const pid_t child = fork();
  if (child == 0) {
    PendingFile file(path, GetParam());
    if (write(file.fd(), "half", 4) == 4) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  const std::set<std::string> part = {"out.csv.part-" + std::to_string(child)};
  EXPECT_EQ(names(), GetParam() == Until::part ? part : std::set<std::string>());
}

}  // namespace
}  // namespace ttc::program

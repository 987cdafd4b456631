// Advance notice of resets, sent as a resetting process sends it.
#include "driver_iface/kmd/reset_notice.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "driver_iface/model/reset_sender.hpp"

namespace ttc::card {
namespace {

using testing_support::report_listeners;

class ResetNoticeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "ttc-notice-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name + "/listeners";
    parent = name;
  }
  void TearDown() override {
    rmdir(directory.c_str());
    rmdir(parent.c_str());
  }
  std::string own() const { return directory + "/client_" + std::to_string(getpid()) + ".sock"; }
  static bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

  // A socket file whose process has ended without removing it.
  std::string left_behind() const {
    const pid_t pid = fork();
    if (pid == 0) {
      const std::string path = directory + "/client_" + std::to_string(getpid()) + ".sock";
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
      const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
      _exit(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(fd, 1) == 0
                ? 0
                : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    return directory + "/client_" + std::to_string(pid) + ".sock";
  }

  std::string parent, directory, why;
};

TEST_F(ResetNoticeTest, counts_announcements_and_nothing_else) {
  const auto notice = ResetNotice::listen(directory, why);
  ASSERT_TRUE(notice) << why;
  EXPECT_EQ(notice->announced(), 0u);
  EXPECT_FALSE(notice->under_way());
  ASSERT_EQ(report_listeners(directory, 1), 1u);
  EXPECT_EQ(notice->announced(), 1u);
  EXPECT_TRUE(notice->under_way());
  ASSERT_EQ(report_listeners(directory, 2), 1u);
  EXPECT_FALSE(notice->under_way());
  EXPECT_EQ(notice->announced(), 1u) << "2 means that it is over";
  ASSERT_EQ(report_listeners(directory, 1), 1u);
  EXPECT_EQ(notice->announced(), 2u);
}

TEST_F(ResetNoticeTest, the_cards_of_a_process_share_one_file_that_goes_with_the_last) {
  auto first = ResetNotice::listen(directory, why);
  auto second = ResetNotice::listen(directory, why);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(exists(own()));
  first.reset();
  EXPECT_TRUE(exists(own()));
  second.reset();
  EXPECT_FALSE(exists(own()));
  EXPECT_TRUE(ResetNotice::listen(directory, why)) << why;
}

TEST_F(ResetNoticeTest, anybody_may_come_after_us_and_tell_us) {
  const auto notice = ResetNotice::listen(directory, why);
  struct stat s {};
  ASSERT_EQ(stat(directory.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 01777u);
  ASSERT_EQ(stat(own().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0666u);
}

TEST_F(ResetNoticeTest, what_killed_collectors_left_is_removed_and_nothing_else) {
  ASSERT_EQ(mkdir(directory.c_str(), 0777), 0);
  const std::string stale = left_behind();
  ASSERT_TRUE(exists(stale));
  const std::string foreign = directory + "/client_12x.sock", other = directory + "/remarks.txt";
  for (const std::string& path : {foreign, other}) fclose(fopen(path.c_str(), "w"));
  auto notice = ResetNotice::listen(directory, why);
  ASSERT_TRUE(notice) << why;
  EXPECT_FALSE(exists(stale));
  EXPECT_TRUE(exists(foreign));
  EXPECT_TRUE(exists(other));
  remove_stale_notices(directory);
  EXPECT_TRUE(exists(own()));
  unlink(foreign.c_str());
  unlink(other.c_str());
}

TEST_F(ResetNoticeTest, a_directory_that_cannot_be_used_is_a_sentence) {
  EXPECT_FALSE(ResetNotice::listen("/proc/nowhere", why));
  EXPECT_NE(why.find("/proc/nowhere"), std::string::npos) << why;
  EXPECT_FALSE(ResetNotice::listen(parent + "/" + std::string(200, 'x'), why));
  rmdir((parent + "/" + std::string(200, 'x')).c_str());
}

}  // namespace
}  // namespace ttc::card

#include "collector/run/examined_folder.hpp"

#include <gtest/gtest.h>

namespace {

using ttc::collect::ExaminedFolder;

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs, kStart = 1'000'000 * kSecond;

TEST(ExaminedFolder, is_examined_once_when_its_change_has_settled) {
  ExaminedFolder folder;
  for (int64_t after_ns : {0 * kMs, 20 * kMs, 980 * kMs}) {  // another change may have the same time
    EXPECT_TRUE(folder.may_have_news(kStart, kStart + after_ns));
    folder.examined(true);
  }
  EXPECT_TRUE(folder.may_have_news(kStart, kStart + kSecond));
  folder.examined(true);
  EXPECT_FALSE(folder.may_have_news(kStart, kStart + kSecond + 20 * kMs));
  EXPECT_FALSE(folder.may_have_news(kStart, kStart + 3600 * kSecond));
  EXPECT_TRUE(folder.may_have_news(kStart + 3600 * kSecond, kStart + 3600 * kSecond + 1));
}

TEST(ExaminedFolder, an_entry_that_is_not_complete_is_examined_again) {
  ExaminedFolder folder;
  for (int look = 0; look < 3; ++look) {
    EXPECT_TRUE(folder.may_have_news(kStart, kStart + 5 * kSecond));
    folder.examined(false);
  }
  EXPECT_TRUE(folder.may_have_news(kStart, kStart + 5 * kSecond));
  folder.examined(true);
  EXPECT_FALSE(folder.may_have_news(kStart, kStart + 5 * kSecond));
}

TEST(ExaminedFolder, a_change_in_the_future_of_a_clock_that_was_set_back_is_no_settled_one) {
  ExaminedFolder folder;
  for (int look = 0; look < 3; ++look) {
    EXPECT_TRUE(folder.may_have_news(kStart, kStart - 3600 * kSecond));
    folder.examined(true);
  }
}

}  // namespace

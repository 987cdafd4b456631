#include "tools/emulation/programs_allowed.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace ttc::emulation {
namespace {

class ProgramsOnAPipe : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_.data()), 0); }
  void TearDown() override {
    close(ends_[0]);
    hang_up();
  }
  void say(const std::string& text) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void hang_up() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  int reading_end() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(ProgramsOnAPipe, none_are_allowed_before_the_first_line) {
  ProgramsAllowed allowed(reading_end());
  allowed.read();
  EXPECT_EQ(allowed.count(), 0u);
  EXPECT_FALSE(allowed.ended());
}

TEST_F(ProgramsOnAPipe, lines_add_up_however_they_arrive) {
  ProgramsAllowed allowed(reading_end());
  say("100\n2");
  allowed.read();
  EXPECT_EQ(allowed.count(), 100u);
  say("0\n3\n");
  allowed.read();
  EXPECT_EQ(allowed.count(), 123u);
  EXPECT_FALSE(allowed.ended());
}

TEST_F(ProgramsOnAPipe, the_last_line_may_have_no_end) {
  ProgramsAllowed allowed(reading_end());
  say("7");
  hang_up();
  allowed.read();
  EXPECT_EQ(allowed.count(), 7u);
  EXPECT_TRUE(allowed.ended());
}

TEST_F(ProgramsOnAPipe, what_is_no_number_is_named) {
  for (const std::string text :
       {"ten\n", "\n", "-1\n", "5 \n", "99999999999999999999\n", "111111111111111111111111111"}) {
    ProgramsAllowed allowed(reading_end());
    say(text);
    try {
      allowed.read();
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find("is no number of programs"), std::string::npos) << e.what();
    }
  }
}

TEST_F(ProgramsOnAPipe, more_than_can_be_counted_is_refused) {
  ProgramsAllowed allowed(reading_end());
  say("18446744073709551615\n1\n");
  EXPECT_THROW(allowed.read(), std::runtime_error);
}

}  // namespace
}  // namespace ttc::emulation

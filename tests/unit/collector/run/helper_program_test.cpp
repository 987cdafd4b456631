#include "collector/run/report/helper_program.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace {

using ttc::collect::HelperProgram;

// Ctrl-C had no effect while the report was made: the signals were blocked, and no thread read them.
TEST(HelperProgram, a_blocked_signal_breaks_off_the_waiting) {
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, &before);
  HelperProgram helper("sleep", {"100000"}, HelperProgram::Output::kept, HelperProgram::Output::kept);
  raise(SIGINT);
  EXPECT_EQ(helper.wait(), 128 + SIGTERM);
  EXPECT_TRUE(helper.broken_off());
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(HelperProgram, one_that_ends_by_itself_is_not_broken_off) {
  HelperProgram helper("sh", {"-c", "echo said; exit 5"}, HelperProgram::Output::kept,
                       HelperProgram::Output::kept);
  EXPECT_EQ(helper.wait(), 5);
  EXPECT_FALSE(helper.broken_off());
  EXPECT_EQ(helper.out(), "said\n");
}

}  // namespace

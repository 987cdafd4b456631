#include <gtest/gtest.h>

#include "collector/host_side/mark_listener.hpp"

namespace {

using namespace ttc::collect;

TEST(Marks, a_datagram_is_a_mark_or_nothing) {
  const auto mark = parse_mark("123 45 67 b\nstep_1_start");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->raw_ns, 123);
  EXPECT_EQ(mark->pid, 45u);
  EXPECT_EQ(mark->tid, 67u);
  EXPECT_EQ(mark->kind, 'b');
  EXPECT_EQ(mark->text, "step_1_start");
  EXPECT_TRUE(parse_mark("1 2 3 m\n"));
  for (const char* wrong :
       {"", "1 2 3 m", "1 2 3\ntext", "1 2 3 x\ntext", "-1 2 3 m\ntext", "1 2 3 mm\ntext", "a b c m\nt"})
    EXPECT_FALSE(parse_mark(wrong)) << wrong;
  EXPECT_FALSE(parse_mark("1 2 3 m\n" + std::string(kMostMarkBytes + 1, 'x')));
}

// Readers end the message at a back-tick and part header and text at ": ".
TEST(Marks, a_signpost_holds_nothing_that_ends_it_early) {
  Mark mark;
  mark.text = "a `quoted`: header\nand: text";
  EXPECT_EQ(signpost_of(mark), "`TT_SIGNPOST: a 'quoted'= header\nand: text`");
}

}  // namespace

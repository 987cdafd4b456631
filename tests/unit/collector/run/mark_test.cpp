#include <gtest/gtest.h>

#include "collector/host_side/mark_listener.hpp"
#include "collector/host_side/python_zones.hpp"

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

TEST(PythonZones, lines_are_events_or_refused) {
  struct Event {
    EventKind kind;
    uint32_t subject;
    int64_t time;
    uint64_t value;
    std::string text;
    bool operator==(const Event&) const = default;
  };
  std::vector<Event> events;
  const auto take = [&](const HostEvent& e) {
    events.push_back({e.kind, e.subject, e.time, e.value, std::string(e.text)});
  };
  EXPECT_TRUE(take_python_zones("S 3 12 PY_FUNC_f g\t/a b.py\nB 100 3\nE 120\n", 7, take));
  const std::string source("PY_FUNC_f g\0\0/a b.py\0", 21);
  EXPECT_EQ(events, (std::vector<Event>{{EventKind::source, 12, 0, 3, source},
                                        {EventKind::zone_begin, 7, 100, 3, ""},
                                        {EventKind::zone_end, 7, 120, 0, ""}}));
  for (const char* wrong :
       {"B 100", "B 100 3 4", "B -1 3", "B x 3", "E", "E 1 2", "E 12x", "S 3 12 name", "S 0 1 n\tf",
        "S 3 n\tf", "X 1 2", "\n", "B", "BB 1 2", "B 99999999999999999999 1"}) {
    events.clear();
    EXPECT_FALSE(take_python_zones(std::string(wrong) + "\nE 5", 7, take)) << wrong;
    EXPECT_EQ(events, (std::vector<Event>{{EventKind::zone_end, 7, 5, 0, ""}})) << wrong;
  }
}

}  // namespace

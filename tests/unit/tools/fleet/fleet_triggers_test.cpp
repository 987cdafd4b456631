// Rules of triggers: what they take, when they fire, and that they stay silent otherwise.
#include <gtest/gtest.h>

#include <random>

#include "tools/fleet/agent/triggers.hpp"

namespace {

using namespace ttc::fleet;

OpRow fleet_op(uint32_t host_id, uint64_t begin_ns, uint32_t duration_ns, uint16_t replay = 0) {
  OpRow row;
  row.host_id = host_id, row.begin_ns = begin_ns, row.duration_ns = duration_ns, row.replay = replay;
  return row;
}

TEST(FleetTriggers, rules_are_three_forms_and_no_others) {
  std::string wrong;
  EXPECT_EQ(parse_trigger_rule("p99:17>5%", wrong)->op, 17u);
  EXPECT_EQ(parse_trigger_rule("p99:Matmul>5%", wrong)->op, uint64_t{1} << 32 | code_of("Matmul"));
  EXPECT_FALSE(parse_trigger_rule("p99:*>5%", wrong)->op);
  EXPECT_EQ(parse_trigger_rule("step>100ms", wrong)->ns, 100'000'000u);
  EXPECT_EQ(parse_trigger_rule("lag>10ms", wrong)->kind, TriggerRule::Kind::lag);
  for (const char* text : {"", ">", "p99>5%", "p99:>5%", "p99:1>5", "p99:1>-5%", "p99:1>nan%", "p99:1>0%",
                           "step>5", "step>0ms", "step", "what>1ms"}) {
    EXPECT_FALSE(parse_trigger_rule(text, wrong)) << text;
    EXPECT_FALSE(wrong.empty());
  }
}

TEST(FleetTriggers, a_percentile_that_rises_fires_once_and_scatter_does_not) {
  Triggers triggers(1'000'000'000);
  EXPECT_EQ(triggers.arm("p99:5>5%"), "");
  std::mt19937_64 dice(3);
  std::normal_distribution<> scatter(100'000, 1'000);
  const auto minutes = [&](int from, int to, double factor) {
    int fired = 0;
    for (int minute = from; minute < to; ++minute)
      for (int i = 0; i < 500; ++i)
        fired += triggers
                     .op(fleet_op(5, static_cast<uint64_t>(minute) * 1'000'000'000 + static_cast<uint64_t>(i),
                                  static_cast<uint32_t>(scatter(dice) * factor)))
                     .has_value();
    return fired;
  };
  EXPECT_EQ(minutes(0, 50, 1), 0);
  EXPECT_EQ(minutes(50, 51, 1.10), 0);  // evaluated when the minute is over
  EXPECT_EQ(minutes(51, 52, 1), 1);
  EXPECT_EQ(minutes(52, 60, 1), 0);
}

TEST(FleetTriggers, a_long_step_fires_and_a_gap_in_replays_does_not) {
  Triggers triggers;
  EXPECT_EQ(triggers.arm("step>10ms"), "");
  EXPECT_FALSE(triggers.op(fleet_op(1, 1'000'000, 5, 1)));
  EXPECT_FALSE(triggers.op(fleet_op(2, 2'000'000, 5, 1)));
  EXPECT_FALSE(triggers.op(fleet_op(1, 9'000'000, 5, 2)));
  const auto why = triggers.op(fleet_op(1, 20'000'000, 5, 3));
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("step 2 of chip 0 took 11.000 ms"), why->npos) << *why;
  EXPECT_FALSE(triggers.op(fleet_op(1, 90'000'000, 5, 7)));
}

TEST(FleetTriggers, the_rank_that_lags_fires_and_the_others_do_not) {
  Triggers of_slow, of_fast;
  EXPECT_EQ(of_slow.arm("lag>10ms"), "");
  EXPECT_EQ(of_fast.arm("lag>10ms"), "");
  int slow = 0, fast = 0;
  for (uint64_t i = 1; i < 20; ++i)
    for (const Progress& p : {Progress{0, i * 100, i * 1'000'000'000, 9},
                              Progress{1, i * 100 - 1, i * 1'000'000'000 + 50'000'000, 9}}) {
      slow += of_slow.progress(p, 1).has_value();
      fast += of_fast.progress(p, 0).has_value();
    }
  EXPECT_GT(slow, 10);
  EXPECT_EQ(fast, 0);
}

TEST(FleetTriggers, no_more_rules_than_stated) {
  Triggers triggers;
  for (size_t i = 1; i <= kMostTriggers; ++i) EXPECT_EQ(triggers.arm("step>" + std::to_string(i) + "s"), "");
  EXPECT_NE(triggers.arm("lag>1s"), "");
  EXPECT_TRUE(triggers.disarm("step>1s"));
  EXPECT_FALSE(triggers.disarm("step>1s"));
  EXPECT_EQ(triggers.arm("lag>1s"), "");
}

}  // namespace

// What observations of assumptions add up to.
#include "collector/selftest/tally.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ttc::collect::selftest {
namespace {

Line line_of(const Tallies& tallies, Id id) {
  return judge(tallies).at(static_cast<size_t>(id));
}

TEST(SelftestTally, each_assumption_stands_at_its_id_and_is_named_once) {
  ASSERT_EQ(assumptions().size(), kAssumptions);
  std::set<std::string_view> names;
  for (size_t i = 0; i < kAssumptions; ++i) {
    const Assumption& a = assumptions()[i];
    EXPECT_EQ(static_cast<size_t>(a.id), i) << a.name;
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_GT(a.confirms, 0u) << a.name;
    EXPECT_GT(a.contradicts, 0u) << a.name;
    EXPECT_FALSE(a.source.empty()) << a.name;
  }
}

TEST(SelftestTally, what_was_not_observed_is_not_seen_and_says_why) {
  Tallies tallies;
  for (const Line& line : judge(tallies)) EXPECT_EQ(line.verdict, Verdict::not_seen);
  tallies.cannot_see(Id::timer_rate, "this architecture has no such timer");
  EXPECT_EQ(line_of(tallies, Id::timer_rate).evidence, "this architecture has no such timer");
}

TEST(SelftestTally, enough_that_agree_and_none_against_confirm) {
  Tallies tallies;
  tallies.agrees(Id::landing_time, assumption(Id::landing_time).confirms - 1);
  EXPECT_EQ(line_of(tallies, Id::landing_time).verdict, Verdict::not_seen);
  tallies.agrees(Id::landing_time);
  EXPECT_EQ(line_of(tallies, Id::landing_time).verdict, Verdict::confirmed);
  tallies.speaks_against(Id::landing_time, "words came 90 us after their index");
  const Line line = line_of(tallies, Id::landing_time);
  EXPECT_EQ(line.verdict, Verdict::not_seen);
  EXPECT_NE(line.evidence.find("90 us"), std::string::npos) << line.evidence;
}

TEST(SelftestTally, a_few_among_very_many_may_be_the_hosts_doing) {
  Tallies tallies;
  for (unsigned i = 0; i < assumption(Id::landing_time).contradicts; ++i)
    tallies.speaks_against(Id::landing_time, "late");
  EXPECT_EQ(line_of(tallies, Id::landing_time).verdict, Verdict::contradicted);
  tallies.agrees(Id::landing_time, 10'000);
  EXPECT_EQ(line_of(tallies, Id::landing_time).verdict, Verdict::not_seen);
}

TEST(SelftestTally, one_fall_of_a_clock_among_a_million_looks_contradicts) {
  Tallies tallies;
  tallies.agrees(Id::clock_forward, 1'000'000);
  tallies.speaks_against(Id::clock_forward, "it fell");
  EXPECT_EQ(line_of(tallies, Id::clock_forward).verdict, Verdict::contradicted);
}

TEST(SelftestTally, what_rests_on_a_contradicted_assumption_is_not_judged) {
  Tallies tallies;
  tallies.speaks_against(Id::clock_forward, "it fell");
  for (unsigned i = 0; i < 5; ++i) tallies.speaks_against(Id::wander, "off");
  const Line line = line_of(tallies, Id::wander);
  EXPECT_EQ(line.verdict, Verdict::not_seen);
  EXPECT_NE(line.evidence.find("clock-forward"), std::string::npos) << line.evidence;
  EXPECT_TRUE(any_contradicted(judge(tallies)));
}

}  // namespace
}  // namespace ttc::collect::selftest

// Plan files, their order of runs, and the environment of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/ttdelay/plan/environment.hpp"
#include "tools/ttdelay/plan/plan_json.hpp"
#include "tools/ttdelay/plan/schedule.hpp"

namespace {

using namespace ttc::delay;

constexpr const char* kGood = R"toml(command = ["a", "{run}/b", "{number}"]
[vary]
kinds = ["read", "atomic"]
cores = ["each (0,0)-(1,1)", "(2,0)-(3,0)"]
riscs = ["BR", "NC"]
cycles = [2000, 500]
repetitions = 2
watcher_only = 4
plain = 2
)toml";

std::string refusal(const std::string& toml) {
  try {
    check_experiment(read_experiment(toml, "p.toml"), "p.toml");
  } catch (const PlanError& e) {
    return e.what();
  }
  return "";
}

TEST(DelayPlan, bad_files_are_refused_with_line_and_reason) {
  const std::pair<const char*, const char*> cases[] = {
      {"command = 5\n", "p.toml:1: command must be a list"},
      {"\n[vary]\nkind = [\"read\"]\n", "p.toml:3: 'kind' is not known here; cores, cycles, kinds"},
      {"[vary]\nkinds = [\"red\"]\n", "p.toml:2: kind 'red' is none of"},
      {"[vary]\nkinds = [\"read\", \"read\"]\n", "p.toml:2: kind 'read' is there twice"},
      {"[vary]\ncores = [\n  \"0,0\",\n  \"all\"]\n", "p.toml:4: cores 'all' are none of"},
      {"[vary]\ncores = [\"0,0,1,1\"]\n", "p.toml:2: cores '0,0,1,1' have text after (0,0)"},
      {"[vary]\ncores = [\"(3,3)-(1,1)\"]\n",
       "p.toml:2: cores '(3,3)-(1,1)' are a range the wrong way round"},
      {"[vary]\ncores = [\"(0,0)-(99,0)\"]\n", "p.toml:2: cores '(0,0)-(99,0)' have a coordinate above"},
      {"[vary]\ncores = [\"0,0\", \"each (0,0)-(1,0)\"]\n", "p.toml:2: cores '0,0' are there twice"},
      {"[vary]\ncycles = [0]\n", "p.toml:2: an entry of cycles must be a whole number from 1"},
      {"[vary]\ncycles = [5, 5]\n", "p.toml:2: cycles holds a number twice"},
      {"[vary]\nrepetitions = 0\n", "p.toml:2: repetitions must be a whole number from 1"},
      {"[vary]\nriscs = [\"ER0\"]\n", "p.toml:2: RISC 'ER0' is none of"},
      {"[observe]\nchecksum = \"no group\"\n", "p.toml:2: checksum must have one group"},
      {"[observe]\nchecksum = \"(\"\n", "p.toml:2: checksum is no regular expression"},
      {"[run]\nlimit = \"0s\"\n", "p.toml:2: limit must be a duration above 0"},
      {"[environment]\nTT_METAL_WATCHER = \"1\"\n", "TT_METAL_WATCHER is set by ttdelay"},
      {"[vary\n", "p.toml:1: "},
      {"[observe]\nsignposts = tr\nue = 1\n", "p.toml:2: Error while parsing boolean"},
      {"name = \"\xc3\xa4\"\n", "p.toml:1: only comments may have characters beyond ASCII"},
      {"", "p.toml: there is no command"},
      {"command = [\"a\"]\n[vary]\nkinds = [\"read\"]\ncores = [\"0,0\"]\n", "p.toml: there is no cycles"},
  };
  for (const auto& [toml, words] : cases) {
    const std::string said = refusal(toml);
    EXPECT_NE(said.find(words), std::string::npos) << toml << " gives: " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  EXPECT_EQ(refusal(kGood), "");
}

TEST(DelayPlan, every_run_is_there_in_an_order_that_the_seed_gives) {
  const Experiment e = read_experiment(kGood, "p.toml");
  EXPECT_EQ(units_of(e).size(), 2u * 5 * 2);
  const std::vector<PlannedRun> runs = schedule_of(e, 5), again = schedule_of(e, 5),
                                other = schedule_of(e, 6);
  ASSERT_EQ(runs.size(), 20u * 2 * 2 + 6);
  std::map<std::tuple<Arm, unsigned, uint32_t>, unsigned> count;
  bool same = true, differs = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].number, i + 1);
    ++count[{runs[i].arm, runs[i].unit, runs[i].cycles}];
    same = same && runs[i].unit == again[i].unit && runs[i].cycles == again[i].cycles &&
           runs[i].arm == again[i].arm;
    differs = differs || runs[i].unit != other[i].unit;
  }
  EXPECT_TRUE(same);
  EXPECT_TRUE(differs);
  EXPECT_EQ((count[{Arm::watcher_only, 0, 0}]), 4u);
  EXPECT_EQ((count[{Arm::plain, 0, 0}]), 2u);
  for (unsigned unit = 0; unit < 20; ++unit) {
    EXPECT_EQ((count[{Arm::delay, unit, 500}]), 2u);
    EXPECT_EQ((count[{Arm::delay, unit, 2000}]), 2u);
  }
}

TEST(DelayPlan, each_stretch_of_runs_has_a_baseline) {
  const Experiment e = read_experiment(kGood, "p.toml");
  for (uint64_t seed = 1; seed < 50; ++seed) {
    const std::vector<PlannedRun> runs = schedule_of(e, seed);
    size_t since = 0, longest = 0;
    for (const PlannedRun& run : runs)
      longest = std::max(longest, since = run.arm == Arm::delay ? since + 1 : 0);
    EXPECT_LE(longest, 2u * 14) << "seed " << seed;  // 80 delayed runs in six stretches of at most 14
  }
}

TEST(DelayPlan, the_environment_is_what_tt_metal_delays_by) {
  const Experiment e = read_experiment(kGood, "p.toml");
  for (const PlannedRun& run : schedule_of(e, 3)) {
    const Variables v = variables_of(e, run, Build{false, 8});
    const ttc::watcher::Settings s =
        ttc::watcher::read_settings(v, true);  // a Debug build's asserts hold, too
    if (run.arm == Arm::plain) {
      EXPECT_TRUE(v.empty());
      continue;
    }
    EXPECT_TRUE(s.watcher && s.sanitises());
    EXPECT_EQ(s.disabled.size(), 7u);
    if (run.arm == Arm::watcher_only) {
      EXPECT_FALSE(s.delay_named);
      continue;
    }
    const Unit unit = units_of(e)[run.unit];
    EXPECT_EQ(s.delay_cycles, run.cycles);
    for (size_t t = 0; t < ttc::watcher::kTransactions; ++t) {
      std::vector<LogicalCore> named = s.delays[t].workers, wanted = unit.cores.cores;
      std::sort(named.begin(), named.end());
      std::sort(wanted.begin(), wanted.end());
      EXPECT_EQ(named, t == static_cast<size_t>(unit.kind) ? wanted : std::vector<LogicalCore>{});
      if (t == static_cast<size_t>(unit.kind)) {
        EXPECT_EQ(s.delays[t].riscs, unit.riscs == "BR" ? 1u : 2u);
      }
    }
  }
}

TEST(DelayPlan, an_experiment_is_the_same_after_json) {
  const Experiment e = read_experiment(kGood, "p.toml");
  const nlohmann::ordered_json json = to_json(e);
  EXPECT_EQ(to_json(experiment_of(nlohmann::json::parse(json.dump()))), json);
}

TEST(DelayPlan, features_are_left_out_one_more_each_time) {
  size_t before = 0;
  for (const FeatureSet& set : feature_sets()) {
    EXPECT_GE(set.variables.size(), before);
    EXPECT_FALSE(set.variables.contains("TT_METAL_WATCHER_DISABLE_NOC_SANITIZE"));
    before = set.variables.size();
  }
  EXPECT_EQ(feature_sets().size(), 9u);
  EXPECT_EQ(before, 8u);
}

TEST(DelayPlan, words_for_a_shell) {
  EXPECT_EQ(shell_word("a-b=c/d"), "a-b=c/d");
  EXPECT_EQ(shell_word("it's (0,0)"), "'it'\\''s (0,0)'");
  EXPECT_EQ(with_run("{run}/x{number}", "/r/0007", 7), "/r/0007/x7");
}

}  // namespace

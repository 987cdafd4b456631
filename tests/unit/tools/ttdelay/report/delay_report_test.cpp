// What a report makes of runs whose values are given.
#include <gtest/gtest.h>

#include "tools/ttdelay/report/analysis.hpp"

namespace {

using namespace ttc::delay;

// Values in microseconds: `delayed` of each run at 100 cycles.
Analysis analysed(const std::vector<double>& control, const std::vector<double>& delayed, uint32_t faster) {
  const Experiment e = read_experiment(
      "command = [\"x\"]\nseed = 1\n[vary]\nkinds = [\"read\"]\ncores = [\"0,0\"]\ncycles = [100]\n", "p");
  JournalContent journal;
  const auto add = [&](Arm arm, double value) {
    RunRecord r;
    r.number = static_cast<unsigned>(journal.runs.size() + 1);
    r.arm = arm;
    r.valid = true;
    r.values["step"] = value;
    if (arm == Arm::delay) r.unit = "read 0,0", r.cycles = 100, r.feedback["0,0"] = 1;
    journal.runs.push_back(r);
  };
  for (const double v : control) add(Arm::watcher_only, v);
  for (const double v : delayed) add(Arm::delay, v);
  return analyse(e, journal, faster);
}

const std::vector<double> kControl{10, 10.2, 9.8, 10.1, 9.9}, kDelayed{15, 15.2, 14.8, 15.1, 14.9};

TEST(DelayReport, a_step_gains_what_its_slope_says) {
  const Analysis a = analysed(kControl, kDelayed, 50);
  ASSERT_EQ(a.effects.size(), 1u);
  EXPECT_NEAR(a.effects[0].gain.value, 2.5, 1e-9);
  EXPECT_LT(a.effects[0].gain.low, 2.5);
  EXPECT_GT(a.effects[0].gain.high, 2.5);
  EXPECT_TRUE(a.effects[0].found);
}

TEST(DelayReport, a_step_never_gains_more_than_it_takes) {
  const Analysis a = analysed(kControl, kDelayed, 1000);  // the slope alone gives 50 us
  const Estimate gain = a.effects[0].gain;
  EXPECT_DOUBLE_EQ(gain.value, 10);
  EXPECT_DOUBLE_EQ(gain.high, 10);
  EXPECT_DOUBLE_EQ(gain.low, 10);
}

TEST(DelayReport, runs_that_are_not_valid_are_in_no_average) {
  const Experiment e = read_experiment(
      "command = [\"x\"]\nseed = 1\n[vary]\nkinds = [\"read\"]\ncores = [\"0,0\"]\ncycles = [100]\n", "p");
  JournalContent journal;
  RunRecord r;
  r.arm = Arm::delay, r.unit = "read 0,0", r.cycles = 100, r.why = "delays were not taken",
  r.values["step"] = 1000;
  r.feedback["0,0"] = 0;
  journal.runs.assign(3, r);
  const Analysis a = analyse(e, journal);
  EXPECT_TRUE(a.effects.empty());
  EXPECT_TRUE(a.ignores_delays);
  ASSERT_EQ(a.invalid.size(), 1u);
  EXPECT_EQ(a.invalid[0].runs, 3u);
}

}  // namespace

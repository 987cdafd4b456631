// What a run leaves, as plain values: records in L1, verdicts, signposts, build failures, the journal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/ttdelay/records/waypoints.hpp"
#include "tools/ttdelay/run/build_failure.hpp"
#include "tools/ttdelay/run/card_watch.hpp"
#include "tools/ttdelay/run/journal.hpp"
#include "tools/ttdelay/run/observables.hpp"
#include "tools/ttdelay/run/verdict.hpp"

namespace {

using namespace ttc::delay;

TEST(DelayRun, a_record_is_found_by_its_masks_in_both_forms) {
  std::vector<uint32_t> l1(64, 0x1234);
  l1[10] = l1[11] = l1[12] = 0x1f, l1[13] = 1;
  l1[40] = 0x011f1f1f;
  const auto places = places_of(l1, 0x60, {0x1f, 0x1f, 0x1f});
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].address, 0x60u + 40);
  EXPECT_TRUE(places[0].words);
  EXPECT_EQ(words_at(l1, 0x60, places[0])->feedback, 1u);
  EXPECT_EQ(places[1].address, 0x60u + 160);
  EXPECT_FALSE(places[1].words);
  EXPECT_EQ(words_at(l1, 0x60, places[1])->feedback, 1u);
  EXPECT_TRUE(places_of(l1, 0x60, {0, 0, 0}).empty());
  EXPECT_FALSE(words_at(l1, 0x60, {0x5c, true}));
  EXPECT_FALSE(words_at(l1, 0x60, {0x60 + 4 * 61, true}));
  l1[13] = 8;  // no feedback
  EXPECT_EQ(places_of(l1, 0x60, {0x1f, 0x1f, 0x1f}).size(), 1u);
  // Masks of reads alone fit both forms at one place: the trial has all kinds for that reason.
  l1[10] = l1[11] = l1[12] = 0;
  l1[20] = 0x1f, l1[21] = l1[22] = l1[23] = 0;
  EXPECT_EQ(places_of(l1, 0x60, {0x1f, 0, 0}).size(), 2u);
}

// Five words after the word that is nonzero while the watcher is on; on every core.
TEST(DelayRun, waypoints_are_found_by_what_they_look_like_on_all_cores) {
  const auto text = [](const char* t) {
    uint32_t word = 0;
    for (int i = 0; t[i] != 0; ++i) word |= static_cast<uint32_t>(t[i]) << 8 * i;
    return word;
  };
  std::vector<uint32_t> one(48, 0), other(48, 0);
  one[12] = other[12] = 3;
  const char* const at[] = {"NSW", "R", "CWFW", "W", ""};
  for (size_t i = 0; i < 5; ++i) one[13 + i] = text(at[i]), other[13 + i] = text("GW");
  one[30] = 3, one[31] = text("X");  // looks like it, on one core
  const std::vector<std::vector<uint32_t>> cores{one, other};
  const auto found = waypoints_of(cores);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0], (std::vector<std::string>{"NSW", "R", "CWFW", "W", ""}));
  EXPECT_EQ((*found)[1][0], "GW");
  EXPECT_FALSE(waypoints_of(std::vector<std::vector<uint32_t>>{one})) << "two places fit one core";
  for (const auto& [word, value] : {std::pair{12u, 2u}, {13u, 0x01020304u}, {14u, text("a") << 8}}) {
    auto wrong = cores;
    wrong[1][word] = value;
    EXPECT_FALSE(waypoints_of(wrong)) << word;
  }
  auto none = cores;
  for (size_t i = 13; i < 18; ++i) none[0][i] = 0;
  EXPECT_FALSE(waypoints_of(none)) << "a core without any";
  EXPECT_FALSE(waypoints_of({}));
}

TEST(DelayRun, logical_cores_skip_harvested_rows) {
  using ttc::card::Tile;
  using ttc::card::TileKind;
  std::vector<Tile> tiles;
  for (const uint8_t x : {uint8_t{1}, uint8_t{2}, uint8_t{6}})
    for (const uint8_t y : {uint8_t{1}, uint8_t{2}, uint8_t{3}})
      tiles.push_back({{x, y}, TileKind::tensix, y == 2});
  tiles.push_back({{9, 9}, TileKind::ethernet, false});
  const auto cores = logical_cores(tiles);
  EXPECT_EQ(cores.size(), 6u);
  EXPECT_EQ(cores.at({2, 1}), (ttc::card::Coord{6, 3}));
}

struct Verdicts : testing::Test {
  Experiment experiment = read_experiment(
      "command = [\"x\"]\n[vary]\nkinds = [\"write\"]\ncores = [\"(0,0)-(1,0)\"]\ncycles = [9]\n", "p");
  PlannedRun run{1, Arm::delay, 0, 9};
  CardFacts facts;
  void SetUp() override {
    facts.opened = facts.fresh = facts.masks_seen = true;
    facts.place = RecordPlace{0x100, true};
    for (uint32_t x = 0; x < 3; ++x) facts.cores[{x, 0}] = {static_cast<uint8_t>(x + 1), 1};
    facts.feedback = {{{0, 0}, 2}, {{1, 0}, 2}};
  }
  void expect(const char* words) const {
    const std::string why = not_taken(experiment, run, facts);
    EXPECT_NE(why.find(words), std::string::npos) << why;
  }
};

TEST_F(Verdicts, every_named_core_and_kind_must_have_waited) {
  EXPECT_EQ(not_taken(experiment, run, facts), "");
  EXPECT_EQ(masks_of(experiment, run), (MasksByCore{{{0, 0}, {0, 0x1f, 0}}, {{1, 0}, {0, 0x1f, 0}}}));
  facts.feedback[{1, 0}] = 0;
  expect("by the feedback word of (1,0) no such transaction waited");
}
TEST_F(Verdicts, another_kind_or_core_spoils_a_run) {
  facts.feedback[{0, 0}] = 3;
  expect("(0,0) has kinds that were not to be delayed");
  facts.feedback[{0, 0}] = 2;
  facts.others = {{2, 0}};
  expect("not named: (2,0)");
}
TEST_F(Verdicts, what_was_not_seen_is_not_believed) {
  facts.fresh = false;
  expect("may be of an earlier run");
  facts.masks_seen = false;
  expect("never held the masks");
  facts.place.reset();
  expect("no place in L1");
  facts.ambiguous = true;
  expect("several places");
  facts.opened = false;
  expect("could not be read");
  facts.opened = true;
  facts.cores.erase({1, 0});
  expect("the card has no core (1,0)");
}
TEST_F(Verdicts, a_baseline_with_masks_is_none) {
  run = {1, Arm::watcher_only, 0, 0};
  EXPECT_EQ(not_taken(experiment, run, facts), "");
  facts.others = {{2, 0}};
  expect("although no delay was configured");
}

TEST(DelayRun, a_step_reaches_to_the_next_one) {
  const auto seen = signpost_us(
      "MessageName;total_ns\n`TT_SIGNPOST: step_0_start`;1000\n`TT_SIGNPOST: eval_start`;1500\n`TT_SIGNPOST: "
      "eval_end`;1750\n"
      "`TT_SIGNPOST: step_0_end`;2000\n`TT_SIGNPOST: step_1_start\nmore`;5000\n`TT_SIGNPOST: "
      "step_1_end`;5500\n`TT_SIGNPOST: step_2_start`;9500\n");
  EXPECT_EQ(seen.at("step"), (std::vector<double>{4, 4.5}));
  EXPECT_EQ(seen.at("signpost eval"), (std::vector<double>{0.25}));
  EXPECT_EQ(signpost_us("`TT_SIGNPOST: step_0_start`;1000\n`TT_SIGNPOST: step_0_end`;2000\n").at("step"),
            (std::vector<double>{1}));
  EXPECT_TRUE(signpost_us("`TT_SIGNPOST: step_0_start`;\n`TT_SIGNPOST: ").empty());
}

TEST(DelayRun, numbers_and_checksums_in_what_is_printed) {
  EXPECT_EQ(numbers_in("took 1.5 us\nnothing\ntook 2e3 us\ntook x us", "took (\\S+) us"),
            (std::vector<double>{1.5, 2000}));
  EXPECT_EQ(last_match("sum: ab\nsum: cd\n", "sum: ([a-f]+)"), "cd");
  EXPECT_FALSE(last_match("", "sum: ([a-f]+)"));
}

TEST(DelayRun, build_failures_are_told_from_other_failures) {
  EXPECT_EQ(build_failure("a\nld: region `BRISC_CODE' overflowed by 20 bytes\nb"),
            "ld: region `BRISC_CODE' overflowed by 20 bytes");
  EXPECT_EQ(build_failure("x: a\\x0aTT_THROW: brisc build failed"), "TT_THROW: brisc build failed");
  EXPECT_FALSE(build_failure("TT_THROW: device timeout\nregion is fine"));
}

TEST(DelayJournal, keeps_whole_lines_and_the_last_word_on_a_run) {
  const std::string path = testing::TempDir() + "delay-journal-" + std::to_string(getpid()) + ".jsonl";
  RunRecord r;
  r.number = 3;
  r.arm = Arm::delay;
  r.unit = "read 0,0";
  r.cycles = 500;
  r.outcome = Outcome::broken_off;
  r.values = {{"step", 12.5}};
  {
    Journal journal(path);
    journal.append(to_json(TrialRecord{true, 4, RecordPlace{0x100, true}, {{"0,0", "1,2"}}, {"a: b"}, ""}));
    journal.append(to_json(r));
    r.outcome = Outcome::ok;
    r.attempt = 2;
    r.valid = true;
    journal.append(to_json(r));
  }
  std::ofstream(path, std::ios::app) << "{\"run\":4,\"attempt\"";  // killed while it wrote
  Journal again(path);
  const JournalContent content = read_journal(path);
  ASSERT_EQ(content.runs.size(), 1u);
  EXPECT_EQ(content.runs[0].attempt, 2u);
  EXPECT_TRUE(content.runs[0].valid);
  EXPECT_EQ(content.runs[0].values.at("step"), 12.5);
  EXPECT_EQ(content.trial->features, 4u);
  EXPECT_EQ(content.trial->place->address, 0x100u);
  EXPECT_EQ(content.lines, 3u);
  std::ofstream(path, std::ios::app) << "{\"run\":4}\n";
  EXPECT_THROW(read_journal(path), JournalError);
}

}  // namespace

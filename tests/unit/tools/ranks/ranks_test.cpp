// Captures of several ranks: their names, and the common time between points of a clock.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tools/ranks/clock_points.hpp"
#include "tools/ranks/rank_clock_json.hpp"
#include "tools/ranks/rank_files.hpp"

namespace {

using namespace ttc::tools;

TEST(Ranks, names_are_those_of_runs_on_several_hosts) {
  EXPECT_EQ(parse_rank_name("node1_rank_12"), (RankName{"node1", 12}));
  EXPECT_EQ(parse_rank_name("a_rank_b_rank_0"), (RankName{"a_rank_b", 0}));
  for (const char* none :
       {"", "_rank_1", "node1_rank_", "node1_rank_1x", "node1_rank_-1", "node1_rank_99999999999", "node1"})
    EXPECT_FALSE(parse_rank_name(none)) << none;
  EXPECT_EQ(rank_of_capture("/x/node2_rank_3.ttc"), (RankName{"node2", 3}));
  EXPECT_EQ(rank_of_capture("/x/node2_rank_3/run.ttc"), (RankName{"node2", 3}));
  EXPECT_FALSE(rank_of_capture("/x/run.ttc"));
}

TEST(Ranks, captures_of_a_directory_come_by_rank) {
  const std::filesystem::path directory = testing::TempDir() + "ranks";
  std::filesystem::create_directories(directory / "c_rank_1");
  std::filesystem::create_directories(directory / "other");
  for (const char* name :
       {"a_rank_10.ttc", "b_rank_2.ttc", "c_rank_1/run.ttc", "other/run.ttc", "clocks.json", "z.ttc"})
    std::ofstream(directory / name) << "x";
  std::vector<std::string> names;
  for (const std::string& path : captures_in(directory.string()))
    names.push_back(std::filesystem::relative(path, directory).string());
  EXPECT_EQ(names, (std::vector<std::string>{"c_rank_1/run.ttc", "b_rank_2.ttc", "a_rank_10.ttc", "z.ttc"}));
  EXPECT_TRUE(captures_in((directory / "none").string()).empty());
}

TEST(Ranks, a_clock_between_its_points_is_a_line_with_a_bound) {
  ClockPoints points;
  points.add({1'000'000'000, 500, 10});
  points.add({2'000'000'000, 20'500, 30});
  EXPECT_EQ(points.at(1'500'000'000).offset_ns, 10'500);
  EXPECT_EQ(points.at(1'500'000'000).bound_ns, 30u + 5'000 + 1);  // half of 10 ppm of a second
  EXPECT_EQ(points.at(1'000'000'000).bound_ns, 10u);
  EXPECT_EQ(points.at(2'000'000'000), (ClockPoint{2'000'000'000, 20'500, 30}));
  EXPECT_EQ(points.at(2'500'000'000).bound_ns, 30u + 100'000);
  EXPECT_EQ(points.at(0).offset_ns, 500);
  EXPECT_FALSE(ClockPoints().at(5).known());
  points.add({500, 7, 1});  // a later boot
  EXPECT_EQ(points.all().size(), 1u);
  points.be_exact();
  EXPECT_EQ(points.at(77), (ClockPoint{77, 0, 0}));
}

TEST(Ranks, later_times_never_become_earlier_ones) {
  std::mt19937_64 dice(5);
  for (int world = 0; world < 200; ++world) {
    ClockPoints points;
    uint64_t raw = 1'000'000'000'000 + dice() % 1'000'000;
    auto offset = static_cast<int64_t>(dice() % 1'000'000'000'000) - 500'000'000'000;
    for (int i = 0; i < 5; ++i) {
      points.add({raw, offset, 100});
      const uint64_t step = 1 + dice() % 1'000'000'000;
      raw += step;
      offset += static_cast<int64_t>(dice() % (2 * (step / 5000) + 1)) - static_cast<int64_t>(step / 5000);
    }
    uint64_t at = 16 * (points.all().front().raw_ns - 10);
    for (uint64_t before = 0; at < 16 * raw; at += 1 + dice() % 400'000'000) {
      for (uint64_t near = at; near < at + 40; ++near) {
        const uint64_t common = near + static_cast<uint64_t>(points.offset_sixteenths(near));
        ASSERT_GE(static_cast<int64_t>(common - before), 0) << world;
        ASSERT_LE(std::abs(points.offset_sixteenths(near) / 16 - points.at(near / 16).offset_ns), 1) << world;
        before = common;
      }
    }
  }
}

TEST(Ranks, clocks_survive_json_and_foreign_json_is_refused) {
  RankClock clock{7, ClockPoints()};
  clock.points.add({5, -9, 3});
  clock.points.add({50, 9, 4});
  const auto read = rank_clock_of(json_of(clock));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reference, 7u);
  EXPECT_EQ(read->points.all(), clock.points.all());
  RankClock exact{7, ClockPoints()};
  exact.points.be_exact();
  EXPECT_TRUE(rank_clock_of(json_of(exact))->points.exact());
  EXPECT_FALSE(rank_clock_of(json_of(RankClock()))->known());
  for (const char* wrong :
       {"[]", "5", R"({"points":[[1,2,3]]})", R"({"reference":0,"points":[[1,2,3]]})", R"({"reference":1})",
        R"({"reference":1,"points":[]})", R"({"reference":1,"points":[[1,2]]})",
        R"({"reference":1,"points":[[-1,2,3]]})", R"({"reference":1,"points":[[1,18446744073709551615,3]]})",
        R"({"reference":"1","points":[[1,2,3]]})"})
    EXPECT_FALSE(rank_clock_of(nlohmann::json::parse(wrong))) << wrong;
}

}  // namespace

// What only the emulated card has: its clock options, its harvest, its name, and its account of observers.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "driver_iface/emulated_card.hpp"
#include "tests/unit/driver_iface/emu/card_emulated_fixture.hpp"

namespace ttc::card {
namespace {

void spin_past(uint64_t ns) {
  while (now_ns() < ns) {
  }
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const OpenError& e) {
    return e.what();
  }
  return {};
}

TEST(EmulatedCard, virtual_time_moves_only_when_reported) {
  auto o = options("virtual");
  o.start_cycles = 1000;
  o.drift_ppm = 500;
  EmulatedCard card(o);
  EXPECT_EQ(card.clock(), 1000u);
  card.advance_clock(0);
  EXPECT_EQ(card.clock(), 1000u);
  card.advance_clock(uint64_t{1} << 40);
  EXPECT_EQ(card.clock(), 1000 + (uint64_t{1} << 40));
}

// Real time: the clock is between what the earliest and the latest possible start allow.
TEST(EmulatedCard, real_time_runs_at_the_given_rate_and_drift) {
  for (const int32_t drift : {0, 100000, -100000, 50}) {
    auto o = options("drift");
    o.virtual_time = false;
    o.hz = 1'000'000'000;
    o.drift_ppm = drift;
    o.start_cycles = 7;
    const auto cycles_in = [&](uint64_t ns) {
      return 7 + ns * static_cast<uint64_t>(1000000 + drift) / 1000000;
    };
    const uint64_t made_after = now_ns();
    EmulatedCard card(o);
    const uint64_t made_before = now_ns();
    uint64_t last = 0;
    for (int i = 1; i <= 4; ++i) {
      spin_past(made_before + static_cast<uint64_t>(i) * 500'000);
      const uint64_t earliest = now_ns();
      const uint64_t clock = card.clock();
      const uint64_t latest = now_ns();
      EXPECT_GE(clock + 1, cycles_in(earliest - made_before)) << drift;
      EXPECT_LE(clock, cycles_in(latest - made_after) + 1) << drift;
      EXPECT_GE(clock, last);
      last = clock;
    }
  }
}

TEST(EmulatedCard, clock_steps_change_the_rate_but_never_jump) {
  auto o = options("steps");
  o.virtual_time = false;
  o.start_cycles = 0;
  o.clock_steps = {{1'000'000, 500'000'000}, {2'000'000, 2'000'000'000}};
  const auto cycles_in = [](uint64_t ns) {
    const uint64_t first = std::min<uint64_t>(ns, 1'000'000),
                   second = std::min<uint64_t>(ns, 2'000'000) - first;
    return first + second / 2 + (ns - first - second) * 2;
  };
  const uint64_t made_after = now_ns();
  EmulatedCard card(o);
  const uint64_t made_before = now_ns();
  uint64_t last = 0;
  while (now_ns() < made_before + 3'000'000) {
    const uint64_t earliest = now_ns();
    const uint64_t clock = card.clock();
    const uint64_t latest = now_ns();
    ASSERT_GE(clock + 3, cycles_in(earliest - made_before));
    ASSERT_LE(clock, cycles_in(latest - made_after) + 3);
    ASSERT_GE(clock, last);
    last = clock;
  }
  EXPECT_GT(card.clock(), 3'000'000u);
}

TEST(EmulatedCard, wrong_options_are_sentences) {
  auto o = options("wrong");
  o.arch = "grayskull";
  EXPECT_NE(error_of([&] { EmulatedCard card(o); }).find("grayskull"), std::string::npos);
  o.arch = "wormhole_b0";
  for (const char* board : {"p150", "", "n999"}) {
    o.board = board;
    EXPECT_FALSE(error_of([&] { EmulatedCard card(o); }).empty()) << board;
  }
  o.board = "n300";
  o.clock_steps.resize(16'383);
  EXPECT_EQ(error_of([&] { EmulatedCard card(o); }), "");
  o.clock_steps.resize(16'384);
  EXPECT_FALSE(error_of([&] { EmulatedCard card(o); }).empty());
  o.clock_steps.clear();
  for (const std::string& name : {std::string(), std::string(200, 'n')}) {
    o.name = name;
    EXPECT_FALSE(error_of([&] { EmulatedCard(o).announce(); }).empty()) << name;
  }
}

TEST(EmulatedCard, harvesting_follows_the_options_and_is_filled_up_from_the_far_end) {
  auto o = options("harvest");
  const auto dead = [](const EmulatedCard& card) {
    std::vector<Coord> list;
    for (const Tile& t : card.tiles())
      if (t.harvested) list.push_back(t.at);
    return list;
  };
  const auto all_y = [&](const std::vector<Coord>& list, std::vector<uint8_t> rows) {
    return std::all_of(list.begin(), list.end(),
                       [&](Coord c) { return std::find(rows.begin(), rows.end(), c.y) != rows.end(); });
  };
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 8u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {11}));
  o.harvested_rows = {3};
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 8u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {3}));
  o.board = "n300";
  EXPECT_EQ(dead(EmulatedCard(o)).size(), 16u);
  EXPECT_TRUE(all_y(dead(EmulatedCard(o)), {3, 11}));
}

// A row named in the options that happens to be the default one must not count twice.
TEST(EmulatedCard, as_many_rows_are_harvested_as_the_board_says_whichever_is_named) {
  for (const int row : {1, 5, 7, 10, 11}) {
    auto o = options("rows");
    o.board = "n300";
    o.harvested_rows = {static_cast<uint8_t>(row)};
    const EmulatedCard card(o);
    EXPECT_EQ(
        std::count_if(card.tiles().begin(), card.tiles().end(), [](const Tile& t) { return t.harvested; }),
        16)
        << "row " << row;
  }
}

TEST(EmulatedCard, an_unharvested_chip_has_all_its_cores) {
  for (const auto& [arch, board, cores] :
       {std::tuple{"wormhole_b0", "n300", 80}, {"blackhole", "p150", 140}}) {
    auto o = options("whole");
    o.arch = arch;
    o.board = board;
    o.unharvested = true;
    const EmulatedCard card(o);
    EXPECT_EQ(std::count_if(card.tiles().begin(), card.tiles().end(),
                            [](const Tile& t) { return t.kind == TileKind::tensix && !t.harvested; }),
              cores)
        << arch;
  }
}

TEST(EmulatedCard, a_name_is_taken_once_and_free_when_its_card_is_gone) {
  const auto o = options("taken");
  const std::string spec = "emu:" + o.name;
  const auto present = [&] {
    const auto specs = present_cards();
    return std::count(specs.begin(), specs.end(), spec);
  };
  {
    EmulatedCard first(o);
    EXPECT_EQ(present(), 0);
    EXPECT_NE(error_of([&] { open_card(spec); }).find(o.name), std::string::npos);
    first.announce();
    EXPECT_EQ(present(), 1);
    EmulatedCard second(o);
    EXPECT_NE(error_of([&] { second.announce(); }).find(o.name), std::string::npos);
    const auto observer = open_card(spec);
    EXPECT_EQ(present(), 1);
  }
  EXPECT_EQ(present(), 0);
  EmulatedCard third(o);
  EXPECT_NO_THROW(third.announce());
}

TEST(EmulatedCard, specs_that_are_no_card_are_sentences) {
  for (const std::string& spec :
       {std::string(), std::string("emu:"), std::string("0"), std::string("pci:0000:01:00.0"),
        std::string("/dev/tenstorrent/0"), "emu:" + std::string(5000, 'n')})
    EXPECT_FALSE(error_of([&] { open_card(spec); }).empty()) << spec;
}

TEST(EmulatedCard, observers_map_card_memory_read_only) {
  const auto writable = [] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
      count += line.find("ttemu-memory") != std::string::npos && line.find(" rw-s ") != std::string::npos;
    return count;
  };
  EmulatedCard card(options("maps"));
  card.announce();
  const int before = writable();
  const auto observer = open_card("emu:" + options("maps").name);
  EXPECT_EQ(writable(), before);
}

TEST(EmulatedCard, violations_are_told_as_text_and_the_first_few_are_kept) {
  EmulatedCard card(options("texts"));
  card.announce();
  const auto observer = open_card("emu:" + options("texts").name);
  for (int i = 0; i < 100; ++i) observer->aim(Window::control, {0, 10}, 64);
  EXPECT_EQ(card.account().violations, 100u);
  const auto texts = card.violations();
  ASSERT_FALSE(texts.empty());
  EXPECT_LE(texts.size(), 100u);
  EXPECT_NE(texts[0].find("(0,10)"), std::string::npos) << texts[0];
}

TEST(EmulatedCard, polls_at_a_tile_are_counted_for_that_tile) {
  EmulatedCard card(options("looks"));
  card.set_log_geometry({0, 128, 4096, 1024, 2});  // the control vector is at 0
  card.announce();
  const auto observer = open_card("emu:" + options("looks").name);
  uint64_t word;
  ASSERT_EQ(observer->aim(Window::control, {1, 1}, 0), Access::ok);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(observer->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(card.control_reads({1, 1}), 3u);
  EXPECT_EQ(card.control_reads({1, 2}), 0u);
}

TEST(EmulatedCard, round_trips_take_their_time) {
  auto o = options("latency");
  o.virtual_time = false;
  o.round_trip_ns = 20'000;
  EmulatedCard card(o);
  card.announce();
  const auto observer = open_card("emu:" + o.name);
  std::vector<uint64_t> out(64);
  ASSERT_EQ(observer->aim(Window::control, {1, 1}, 0), Access::ok);
  const uint64_t before = now_ns();
  ASSERT_EQ(observer->copy(Window::control, 0, out), Access::ok);
  EXPECT_GE(now_ns() - before, 8 * 20'000u);
}

}  // namespace
}  // namespace ttc::card

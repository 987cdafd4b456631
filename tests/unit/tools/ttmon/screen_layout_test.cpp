// The monitor's screen as text, from plain values.
#include "tools/ttmon/screen_layout.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tools/report/text/text_table.hpp"

namespace ttc::tools {
namespace {

using shm::Counter;

CardView card_named(const std::string& name, int samples = 3) {
  CardView card;
  for (int i = 1; i <= samples; ++i) {
    CardSample s;
    s.live_name = name;
    s.device = "emu:" + name;
    s.session = 1;
    s.at_ns = s.heartbeat_ns = static_cast<uint64_t>(i) * 1'000'000'000;
    s.counters[static_cast<size_t>(Counter::cores)] = 4;
    s.counters[static_cast<size_t>(Counter::programs)] = static_cast<uint64_t>(i * i) * 100;
    s.clocks = {{0, 3, 1e9, 45, "conditional"}};
    s.activity.arch = "wormhole_b0";
    s.activity.cores = {{1, 1, 0}, {2, 1, 0.42}, {1, 2, 1}, {4, 2, 0.004}};
    s.activity.log_fill = 0.34;
    s.activity.zones = {{"MATMUL", {5'000'000, 10, 900'000}}, {"READ", {7000, 7, 1000}}};
    s.activity.programs = {{"program 17", {4'000'000, 4, 1'000'000}}};
    card.add(s);
  }
  return card;
}

std::string rows_of(const Canvas& canvas, Colours colours = Colours::text) {
  std::string text;
  for (int y = 0; y < canvas.height(); ++y) text += canvas.row_text(y, colours) + "\n";
  return text;
}

bool shows(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ScreenLayout, a_screen_of_80_columns_shows_health_figures_cores_and_zones) {
  const std::string text = rows_of(screen({{"a", card_named("a")}}, {}, 80, 24));
  for (const char* part : {"ttmon  1 card", "collecting", "programs/s         500", "log fill          34 %",
                           "clock bound      45 ns", "y\\x", "MATMUL", "5.00 ms", "program 17", "q quit",
                           "live:a  emu:a wormhole_b0  pid 0  live"})
    EXPECT_TRUE(shows(text, part)) << part << " in\n" << text;
}

TEST(ScreenLayout, nothing_is_drawn_outside_whatever_the_size) {
  std::mt19937 dice(4);
  Cards cards;
  for (int i = 0; i < 12; ++i) {
    CardView card = card_named("card-\u4e2d\u6587-" + std::to_string(i));
    card.sample.lost["ring lapped"] = {1, 2, 3, 4};
    cards[card.sample.live_name] = card;
  }
  for (int round = 0; round < 400; ++round) {
    const int width = 1 + static_cast<int>(dice() % (round % 2 ? 200 : 40)),
              height = 1 + static_cast<int>(dice() % 60);
    ScreenState state;
    state.chosen = std::next(cards.begin(), dice() % cards.size())->first;
    state.help = dice() % 5 == 0;
    state.message = dice() % 4 ? "" : "a message";
    const Canvas canvas = screen(cards, state, width, height);
    EXPECT_LE(canvas.height(), height);
    for (int y = 0; y < canvas.height(); ++y)
      EXPECT_LE(report::shown_width(canvas.row_text(y, Colours::text)), static_cast<size_t>(width))
          << width << "x" << height;
    if (height >= 3) {
      EXPECT_EQ(canvas.height(), height);  // the line of keys is the last
    }
  }
}

TEST(ScreenLayout, no_card_at_all_is_a_screen_too) {
  EXPECT_TRUE(shows(rows_of(screen({}, {}, 80, 24)), "ttmon  0 cards"));
}

TEST(ScreenLayout, cores_lie_as_on_the_chip_and_other_tiles_stay_empty) {
  const std::vector<CoreBusy> cores{{1, 1, 0}, {2, 1, 0.42}, {1, 2, 1}, {4, 2, 0.004}};
  EXPECT_EQ(rows_of(core_grid(cores, 40)),
            "y\\x  1  2  3  4\n"
            " 1   . 42\n"
            " 2 100        0\n");
  EXPECT_EQ(rows_of(core_grid(cores, 12)),
            "y\\x 1 2 3 4\n"
            " 1  .42\n"
            " 2 ##     0\n");
  EXPECT_EQ(core_grid(cores, 10).height(), 0);
  EXPECT_EQ(core_grid({}, 80).height(), 0);
}

TEST(ScreenLayout, the_chosen_card_is_marked_and_its_details_are_shown) {
  const Cards cards{{"a", card_named("a")}, {"b", card_named("b")}};
  ScreenState state;
  state.chosen = "b";
  const std::string text = rows_of(screen(cards, state, 100, 30));
  EXPECT_TRUE(shows(text, "> b"));
  EXPECT_FALSE(shows(text, "> a"));
  EXPECT_TRUE(shows(text, "live:b"));
}

TEST(ScreenLayout, foreign_names_are_made_printable_and_cut) {
  CardView card = card_named("a");
  card.sample.activity.zones = {{"\033[2J\007" + std::string(300, 'x'), {100, 1, 100}}};
  const std::string text = rows_of(screen({{"a", card}}, {}, 80, 24));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_TRUE(shows(text, "\\x1b[2J\\x07xxx"));
  EXPECT_TRUE(shows(text, "\u2026"));
}

TEST(ScreenLayout, without_colours_no_colour_is_sent_and_as_text_no_sequence) {
  const Canvas canvas = screen({{"a", card_named("a")}}, {}, 80, 24);
  EXPECT_EQ(rows_of(canvas, Colours::text).find('\033'), std::string::npos);
  const std::string none = rows_of(canvas, Colours::none);
  EXPECT_EQ(none.find("\033[3"), std::string::npos);
  EXPECT_EQ(none.find("\033[4"), std::string::npos);
  EXPECT_TRUE(shows(none, "\033[7m"));
  EXPECT_TRUE(shows(rows_of(canvas, Colours::many), "\033[38;5;"));
  EXPECT_TRUE(shows(rows_of(canvas, Colours::eight), "\033[32m"));
}

TEST(ScreenLayout, text_for_a_pipe_keeps_each_sentence_in_one_line) {
  CardView card = card_named("a");
  card.sample.overwritten = std::string(300, 'y') + " had been overwritten in the ring";
  const std::string text = rows_of(text_page({{"a", card}}, {}, 60, false));
  EXPECT_TRUE(shows(text, card.sample.overwritten + "\n"));
  EXPECT_TRUE(shows(text, "nothing lost by the collector\n"));
  const Canvas broken = text_page({{"a", card}}, {}, 60, true);
  for (int y = 0; y < broken.height(); ++y)
    EXPECT_LE(report::shown_width(broken.row_text(y, Colours::text)), 60u);
}

TEST(ScreenLayout, figures_have_fitting_units) {
  EXPECT_EQ(quantity(0), "0");
  EXPECT_EQ(quantity(3.25), "3.2");
  EXPECT_EQ(quantity(1203), "1,203");
  EXPECT_EQ(quantity(123'400), "123k");
  EXPECT_EQ(quantity(999'700), "1.00M");
  EXPECT_EQ(quantity(45'000'000), "45.0M");
  EXPECT_EQ(quantity(2.5e9), "2.50G");
  EXPECT_EQ(duration_text(45), "45 ns");
  EXPECT_EQ(duration_text(999.6), "1.00 us");
  EXPECT_EQ(duration_text(1203), "1.20 us");
  EXPECT_EQ(duration_text(45'600'000), "45.6 ms");
  EXPECT_EQ(duration_text(2.5e9), "2.50 s");
}

TEST(ScreenLayout, a_sparkline_ends_with_the_newest_value_and_shares_are_against_the_whole) {
  Series series{"x", Series::Unit::per_s};
  EXPECT_EQ(sparkline(series, 3, false), "   ");
  for (const double value : {0.0, 1.0, 8.0}) series.add(value);
  EXPECT_EQ(sparkline(series, 4, false), "  .@");
  EXPECT_EQ(sparkline(series, 2, false), ".@");
  EXPECT_EQ(sparkline(series, 0, true), "");
  EXPECT_EQ(sparkline(series, 2, true), "\u2581\u2588");
  Series share{"x", Series::Unit::share};
  for (const double value : {0.5, 1.0}) share.add(value);
  share.add(std::nullopt);
  EXPECT_EQ(sparkline(share, 3, false), "=@ ");
  EXPECT_EQ(series_value(share), "-");
}

}  // namespace
}  // namespace ttc::tools

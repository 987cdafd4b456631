// What every card::Card must do: say what was opened, share the card with other observers, notice that it leaves.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/driver_iface/card/conformance_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(CardConformance, identity_says_what_was_opened) {
  const Identity& id = card->identity();
  EXPECT_EQ(id.spec, rig->spec());
  EXPECT_FALSE(id.live_name.empty());
  EXPECT_EQ(id.live_name.find('/'), std::string::npos);
  ASSERT_NE(id.arch, nullptr);
  EXPECT_EQ(id.arch->name, rig->arch().name);
  EXPECT_EQ(id.board, rig->board());
  EXPECT_GT(id.aiclk_mhz, 0u);
  const auto tiles = card->tiles();
  EXPECT_EQ(id.max_compute_cores, std::count_if(tiles.begin(), tiles.end(), [](const Tile& t) {
              return t.kind == TileKind::tensix && !t.harvested;
            }));
}

TEST_P(CardConformance, tiles_are_all_tensix_and_ethernet_in_flat_id_order) {
  const auto tiles = card->tiles();
  std::vector<Coord> expected;
  for (uint8_t x = 0; x < arch().grid_x; ++x)
    for (uint8_t y = 0; y < arch().grid_y; ++y)
      if (const TileKind k = arch().kind_at({x, y}); k == TileKind::tensix || k == TileKind::ethernet)
        expected.push_back({x, y});
  ASSERT_EQ(tiles.size(), expected.size());
  size_t harvested = 0;
  for (size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_EQ(tiles[i].at, expected[i]);
    EXPECT_EQ(tiles[i].kind, arch().kind_at(tiles[i].at));
    if (tiles[i].harvested) {
      EXPECT_EQ(tiles[i].kind, TileKind::tensix);
    }
    harvested += tiles[i].harvested;
  }
  const Board* board = board_by_name(card->identity().board);
  ASSERT_NE(board, nullptr);
  const size_t row = board->harvested_rows ? 8 : 0;         // Tensix tiles in a Wormhole row
  const size_t column = board->harvested_columns ? 10 : 0;  // and in a Blackhole column
  EXPECT_EQ(harvested, board->harvested_rows * row + board->harvested_columns * column);
}

TEST_P(CardConformance, opening_loads_registers_at_most) {
  EXPECT_EQ(opened.round_trips > 0, rig->opening_loads());
  EXPECT_EQ(opened.round_trips, opened.register_loads);
  EXPECT_EQ(opened.bytes, 4 * opened.register_loads);
  EXPECT_LE(opened.window_moves, opened.register_loads);
  EXPECT_EQ(rig->account().violations, 0u);
  EXPECT_EQ(card->health(), Health::ok);
}

TEST_P(CardConformance, leaving_is_seen_and_leaves_time_for_a_last_sweep) {
  fill_l1(tensix(), 0, 64);
  rig->announce_leaving();
  EXPECT_EQ(card->health(), Health::leaving);
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  EXPECT_EQ(card->copy(Window::control, 0, out), Access::ok);
  expect_pattern(out, 0);
}

TEST_P(CardConformance, a_card_that_is_gone_is_noticed) {
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  pollfd p{card->hangup_fd(), POLLIN | POLLRDHUP, 0};
  if (p.fd >= 0) {
    EXPECT_EQ(poll(&p, 1, 0), 0);
  }
  rig->vanish();
  std::vector<uint64_t> out(8);
  const bool copy_says_so = card->copy(Window::control, 0, out) == Access::gone;
  const bool descriptor_says_so = p.fd >= 0 && poll(&p, 1, 0) == 1;
  EXPECT_TRUE(copy_says_so || descriptor_says_so);
  EXPECT_EQ(card->health(), Health::gone);
  EXPECT_EQ(card->health(), Health::gone);
}

TEST_P(CardConformance, windows_run_out_with_a_sentence_and_come_back) {
  std::vector<std::unique_ptr<Card>> others;
  std::string why;
  for (int i = 0; i < 256 && why.empty(); ++i) try {
      others.push_back(open_card(rig->spec()));
    } catch (const OpenError& e) {
      why = e.what();
    }
  ASSERT_FALSE(others.empty());
  EXPECT_NE(why.find("window"), std::string::npos) << why;
  EXPECT_NE(why.find(rig->spec().substr(rig->spec().find(':') + 1)), std::string::npos) << why;
  for (int i = 0; i < 5; ++i) {
    others.pop_back();
    ASSERT_NO_THROW(others.push_back(open_card(rig->spec())));
  }
  EXPECT_EQ(card->health(), Health::ok);
}

TEST_P(CardConformance, observers_aim_their_own_windows) {
  auto other = open_card(rig->spec());
  rig->store(tensix(0), 0, 10);
  rig->store(tensix(1), 0, 11);
  uint64_t word = 0;
  ASSERT_EQ(card->aim(Window::control, tensix(0), 0), Access::ok);
  ASSERT_EQ(other->aim(Window::control, tensix(1), 0), Access::ok);
  ASSERT_EQ(card->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(word, 10u);
  ASSERT_EQ(other->copy(Window::control, 0, {&word, 1}), Access::ok);
  EXPECT_EQ(word, 11u);
  EXPECT_EQ(spent().round_trips, 1u);
  if (rig->sees_loads()) {
    EXPECT_EQ(rig->account().round_trips, 2u);
  }
}

}  // namespace
}  // namespace ttc::card

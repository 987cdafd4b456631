// When a guarded card leaves a tile alone, for how long, and when it takes the whole card for gone.
#include <gtest/gtest.h>

#include "tests/unit/driver_iface/card/guarded_fixture.hpp"

namespace ttc::card {
namespace {

TEST_F(Guarded, a_good_tile_is_read_and_its_node_id_is_loaded_once) {
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(words[0], 64u);
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(below->touched[kGuardedTile], 3u);  // node id and two copies
  EXPECT_EQ(card->account().suspicions, 0u);
}

TEST_F(Guarded, a_silent_tile_is_touched_by_one_load_and_then_left_alone) {
  below->silent = {kGuardedTile};
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(read(kGuardedTile), Access::suspect);
  EXPECT_EQ(below->touched[kGuardedTile], 1u);
  EXPECT_EQ(read(kOtherTile), Access::ok);
  EXPECT_EQ(card->account().suspicions, 1u);
  EXPECT_EQ(card->account().suspect_tiles, 1u);
  EXPECT_EQ(card->account().all_ones_reads, 1u);
}

TEST_F(Guarded, the_rest_doubles_while_trouble_goes_on_and_starts_again_after_good_times) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->silent = {kGuardedTile};
  ASSERT_EQ(read(kGuardedTile), Access::suspect);
  uint64_t rest = GuardedCard::kFirstBackoffNs;
  for (int i = 0; i < 8; ++i) {
    const unsigned before = below->touched[kGuardedTile];
    clock_ns += rest - 1;
    EXPECT_EQ(read(kGuardedTile), Access::suspect);
    EXPECT_EQ(below->touched[kGuardedTile], before)
        << "touched before its rest of " << rest << " ns was over";
    clock_ns += 1;
    EXPECT_EQ(read(kGuardedTile), Access::suspect);
    EXPECT_EQ(below->touched[kGuardedTile], before + 1);
    rest = std::min(2 * rest, GuardedCard::kLongestBackoffNs);
  }
  below->silent.clear();
  clock_ns += 2 * rest;
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  below->silent = {kGuardedTile};
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  below->silent.clear();
  clock_ns += GuardedCard::kFirstBackoffNs;
  EXPECT_EQ(read(kGuardedTile), Access::ok) << "the rest did not start from the first again";
  EXPECT_EQ(card->account().suspect_tiles, 1u);
}

// About a hundred unanswered loads hang the network on the chip, whenever they are made.
TEST_F(Guarded, silent_tiles_are_left_alone_for_good_once_too_many_loads_were_not_answered) {
  constexpr Coord kSick[] = {{1, 2}, {2, 2}, {3, 3}, {4, 2}};
  for (const Coord at : kSick) ASSERT_EQ(read(at), Access::ok);
  for (const Coord at : kSick) below->silent.insert(at);
  const auto touches = [&] {
    unsigned all = 0;
    for (const Coord at : kSick) all += below->touched[at];
    return all;
  };
  const unsigned before = touches();
  for (int i = 0; i < 1000; ++i) {
    for (const Coord at : kSick) EXPECT_EQ(read(at), Access::suspect);
    EXPECT_EQ(read(kOtherTile), Access::ok);
    clock_ns += GuardedCard::kLongestBackoffNs;
    if (i % 7 == 0) card->try_again();
  }
  EXPECT_GE(card->account().unanswered, GuardedCard::kMostUnanswered);
  EXPECT_LT(card->account().unanswered, GuardedCard::kLetGoAt);
  EXPECT_LT(touches() - before, GuardedCard::kLetGoAt);
  // They may answer again: who opens the card again learns of it.
  below->silent.clear();
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  // A tile that is only slow is still left alone for a while, not for good.
  below->slow_ns[kOtherTile] = 3 * kMs;
  EXPECT_EQ(read(kOtherTile), Access::ok);
  below->slow_ns.clear();
  EXPECT_EQ(read(kOtherTile), Access::suspect);
  clock_ns += GuardedCard::kFirstBackoffNs;
  EXPECT_EQ(read(kOtherTile), Access::ok);
}

TEST_F(Guarded, when_ever_more_tiles_turn_silent_the_card_is_let_go) {
  std::vector<uint64_t> lines(5 * 8);
  const auto read_lines = [&](Coord at) {
    const Access a = card->aim(Window::control, at, 0);
    return a == Access::ok ? card->copy(Window::control, 0, lines) : a;
  };
  std::vector<Coord> tiles;
  for (const Tile& t : card->tiles())
    if (!t.harvested) tiles.push_back(t.at);
  for (const Coord at : tiles) ASSERT_EQ(read_lines(at), Access::ok);
  size_t silent = 0;
  for (Access a = Access::suspect; a != Access::gone; ++silent) {
    ASSERT_LT(silent, tiles.size());
    below->silent.insert(tiles[silent]);
    below->slow_ns[tiles[silent]] = 700 * kMs;  // a copy, as a hung network takes it
    a = read_lines(tiles[silent]);
  }
  EXPECT_GE(card->account().unanswered, GuardedCard::kLetGoAt);
  EXPECT_LT(card->account().unanswered, 100u)
      << "all lines of a copy were waited for, and other tiles were read";
  EXPECT_LT(silent + 3, tiles.size()) << "others still answered";
  EXPECT_EQ(read(tiles.back()), Access::gone);
}

// A word may be all-ones where workloads keep their data: the tile's node id distinguishes it from a failure.
TEST_F(Guarded, a_single_load_of_ones_is_data_while_the_tile_says_who_it_is) {
  uint32_t word = 0;
  const auto load = [&] { return card->one_load(Window::control, Memory::uncached, 64, {&word, 1}); };
  ASSERT_EQ(card->aim(Window::control, kGuardedTile, 64), Access::ok);
  EXPECT_EQ(load(), Access::ok);
  EXPECT_EQ(word, 1u);
  below->full_of_ones = true;
  EXPECT_EQ(load(), Access::ok);
  EXPECT_EQ(word, ~0u);
  EXPECT_EQ(card->copy(Window::control, 8, words), Access::ok);
  EXPECT_EQ(words[0], 8u) << "the window was left elsewhere";
  EXPECT_EQ(card->account().suspicions, 0u);
  below->silent = {kGuardedTile};
  const unsigned before = below->touched[kGuardedTile];
  EXPECT_EQ(load(), Access::suspect);
  EXPECT_EQ(below->touched[kGuardedTile], before + 2);  // it, and the node id
  EXPECT_EQ(load(), Access::suspect);
  EXPECT_EQ(below->touched[kGuardedTile], before + 2);
  below->silent.clear();
  card->try_again();
  below->slow_ns[kGuardedTile] = 3 * kMs;
  EXPECT_EQ(load(), Access::suspect) << "slow and all-ones: not even the node id is read";
  EXPECT_EQ(below->touched[kGuardedTile], before + 3);
}

TEST_F(Guarded, doubted_words_put_the_tile_to_rest) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(card->doubt(kGuardedTile), Access::suspect);
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  card->try_again();
  EXPECT_EQ(read(kGuardedTile), Access::ok);
}

TEST_F(Guarded, a_card_of_which_nothing_answers_is_gone_for_good) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  for (const Tile& t : card->tiles()) below->silent.insert(t.at);
  EXPECT_EQ(read(kGuardedTile), Access::gone);
  EXPECT_EQ(card->health(), Health::gone);
  below->silent.clear();
  below->touched.clear();
  EXPECT_EQ(read(kOtherTile), Access::gone);
  uint64_t cycles;
  EXPECT_EQ(card->wall_clock(kOtherTile, cycles), Access::gone);
  EXPECT_FALSE(card->descriptor_range(kDram, 0, 64));
  EXPECT_TRUE(below->touched.empty());
}

TEST_F(Guarded, one_silent_neighbour_does_not_make_the_card_gone) {
  below->silent = {kGuardedTile, {1, 1}, {4, 5}};  // two of the three that are read
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  EXPECT_EQ(read({2, 2}), Access::ok);
}

TEST_F(Guarded, a_card_that_says_it_is_gone_is_gone) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->silent = {kGuardedTile};
  below->health_now = Health::gone;
  EXPECT_EQ(read(kGuardedTile), Access::gone);
}

TEST_F(Guarded, a_silent_clock_is_noticed) {
  uint64_t cycles = 0;
  ASSERT_EQ(card->wall_clock(kGuardedTile, cycles), Access::ok);
  EXPECT_EQ(cycles, 77u);
  below->silent = {kGuardedTile};
  EXPECT_EQ(card->wall_clock(kGuardedTile, cycles), Access::suspect);
}

// DRAM can hold all-ones: a word that held another value before distinguishes it from a failure.
TEST_F(Guarded, dram_full_of_ones_is_data_while_the_tile_answers) {
  below->blank_from = 1 << 20;
  ASSERT_EQ(read(kDram, 4096), Access::ok);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(read(kDram, 2 << 20), Access::ok);
    EXPECT_EQ(words[0], ~uint64_t{0});
  }
  EXPECT_EQ(card->account().suspicions, 0u);
  // The window is where the caller aimed it.
  EXPECT_EQ(card->copy(Window::payload, 128, words), Access::ok);
  EXPECT_EQ(words[0], ~uint64_t{0});
  below->silent = {kDram};
  EXPECT_EQ(read(kDram, 2 << 20), Access::suspect);
  EXPECT_EQ(card->account().suspicions, 1u);
}

TEST_F(Guarded, dram_that_was_silent_for_one_load_is_read_again) {
  ASSERT_EQ(read(kDram, 4096), Access::ok);
  below->silent_loads = 1;
  EXPECT_EQ(read(kDram, 8192), Access::ok);
  EXPECT_EQ(words[0], 8192u);
  EXPECT_EQ(card->account().suspicions, 0u);
}

TEST_F(Guarded, dram_that_is_slow_and_silent_is_not_asked_again) {
  ASSERT_EQ(read(kDram, 4096), Access::ok);
  const unsigned before = below->touched[kDram];
  below->silent_loads = 1;
  below->slow_ns[kDram] = 50 * kMs;
  EXPECT_EQ(read(kDram, 8192), Access::suspect);
  EXPECT_EQ(below->touched[kDram], before + 1);
  EXPECT_EQ(card->account().slow_reads, 1u);
}

TEST_F(Guarded, dram_that_never_was_anything_else_is_doubted_at_the_third_time) {
  below->blank_from = 0;
  EXPECT_EQ(read(kDram), Access::ok);
  EXPECT_EQ(read(kDram), Access::ok);
  EXPECT_EQ(read(kDram), Access::suspect);
}

TEST_F(Guarded, the_control_window_is_where_it_was_after_the_card_was_asked) {
  ASSERT_EQ(card->aim(Window::control, kOtherTile, 0), Access::ok);
  below->silent = {kGuardedTile};
  EXPECT_EQ(card->aim(Window::payload, kGuardedTile, 0), Access::suspect);
  EXPECT_EQ(card->copy(Window::control, 8, words), Access::ok);
  EXPECT_EQ(words[0], 8u);
  EXPECT_EQ(below->touched[kGuardedTile], 1u);
}

TEST_F(Guarded, harvested_tiles_are_not_touched_by_the_guard) {
  card->aim(Window::control, {6, 1}, 0);  // the card below would refuse it
  EXPECT_EQ(below->touched[(Coord{6, 1})], 0u);
}

}  // namespace
}  // namespace ttc::card

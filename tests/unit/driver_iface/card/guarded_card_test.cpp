// When a guarded card leaves a tile alone, for how long, and when it takes the whole card for gone. The card
// underneath and the clock are scripted.
#include "driver_iface/guarded_card.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tests/support/fake_card.hpp"

namespace ttc::card {
namespace {

constexpr Coord kGuardedTile{1, 2}, kOtherTile{1, 1};
constexpr Coord kDram{0, 0};
constexpr uint64_t kMs = 1'000'000;

uint64_t clock_ns;
uint64_t test_clock() {
  return clock_ns;
}
uint64_t interruptions;
uint64_t test_interruptions() {
  return interruptions;
}

// L1 and registers hold the tile's coordinates; tiles can be silent or slow.
class ScriptedCard : public FakeCard {
 public:
  ScriptedCard() {
    for (uint8_t x = 1; x <= 4; ++x)
      for (uint8_t y = 1; y <= 5; ++y) tiles_.push_back({{x, y}, TileKind::tensix, false});
    tiles_.push_back({{6, 1}, TileKind::tensix, true});
  }
  Access aim(Window window, Coord tile, uint64_t address) override {
    place(window, tile, address);
    return Access::ok;
  }
  Access load_registers(Window window, uint32_t, std::span<uint32_t> out) override {
    const Coord tile = touch(window);
    for (uint32_t& v : out) v = silent.count(tile) ? ~0u : tile.x | uint32_t{tile.y} << 6;
    return Access::ok;
  }
  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override {
    const Coord tile = touch(window);
    const bool unanswered = silent_loads > 0 && silent_loads-- > 0;
    for (size_t i = 0; i < out.size(); ++i) {
      const uint64_t address = base_of(window) + offset + 8 * i;
      const bool blank = unanswered || silent.count(tile) || (tile == kDram && address >= blank_from);
      out[i] = blank ? ~uint64_t{0} : address;
    }
    return Access::ok;
  }
  Access one_load(Window window, Memory, uint32_t, std::span<uint32_t> out) override {
    const Coord tile = touch(window);
    for (uint32_t& v : out) v = silent.count(tile) || full_of_ones ? ~0u : 1;
    return Access::ok;
  }
  Access wall_clock(Coord tile, uint64_t& cycles) override {
    place(Window::control, tile, base_of(Window::control));
    touch(Window::control);
    cycles = silent.count(tile) ? ~uint64_t{0} : 77;
    return Access::ok;
  }
  Health health() override { return health_now; }
  std::optional<DescriptorRange> descriptor_range(Coord, uint64_t, uint32_t bytes) override {
    return DescriptorRange{3, 0, bytes, 0};
  }
  Access release(const DescriptorRange&, std::span<const uint64_t>) override { return Access::ok; }
  Transactions transactions() const override { return {.transport_ns = transport_ns}; }

  std::set<Coord> silent;
  std::map<Coord, uint64_t> slow_ns;
  std::function<void()> on_load;
  std::map<Coord, unsigned> touched;
  unsigned silent_loads = 0;           // so many copies come back as all-ones
  bool full_of_ones = false;           // what single loads bring of every tile
  uint64_t blank_from = ~uint64_t{0};  // of kDram
  uint64_t transport_ns = 0, transport_per_load_ns = 0;
  Health health_now = Health::ok;

 private:
  Coord touch(Window window) {
    const Coord tile = tile_of(window);
    ++touched[tile];
    transport_ns += transport_per_load_ns;
    clock_ns += slow_ns[tile] + transport_per_load_ns;
    if (on_load) on_load();
    return tile;
  }
};

class Guarded : public testing::Test {
 protected:
  Guarded() {
    clock_ns = 1'000'000'000;
    interruptions = 0;
    auto scripted = std::make_unique<ScriptedCard>();
    below = scripted.get();
    card = std::make_unique<GuardedCard>(std::move(scripted), test_clock, test_interruptions);
  }
  Access read(Coord tile, uint64_t address = 64) {
    const Window window = tile == kDram ? Window::payload : Window::control;
    if (const Access a = card->aim(window, tile, address); a != Access::ok) return a;
    return card->copy(window, static_cast<uint32_t>(address & (kWindowBytes - 1)), words);
  }

  // This CPU runs something else for `loads` loads: another thread, or another virtual machine.
  void take_cpu_away(unsigned loads, uint64_t ns = 3 * kMs) {
    below->on_load = [loads, ns]() mutable {
      if (loads == 0) return;
      --loads;
      clock_ns += ns;
    };
  }

  ScriptedCard* below;
  std::unique_ptr<GuardedCard> card;
  std::array<uint64_t, 8> words{};
};

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

TEST_F(Guarded, what_a_slow_load_brought_is_delivered_and_the_next_one_waits) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->slow_ns[kGuardedTile] = 3 * kMs;
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(words[7], 64u + 56);
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  EXPECT_EQ(card->account().slow_reads, 1u);
  EXPECT_EQ(card->account().all_ones_reads, 0u);
}

TEST_F(Guarded, a_tile_is_read_on_when_the_cpu_was_away_during_a_load) {
  for (const Coord at : {kGuardedTile, kDram}) {
    ASSERT_EQ(read(at), Access::ok);
    for (const unsigned loads : {1u, 2u}) {  // the second falls on the reference
      const auto earlier = card->account();
      const unsigned before = below->touched[at];
      take_cpu_away(loads);
      EXPECT_EQ(read(at), Access::ok);
      EXPECT_EQ(words[7], 64u + 56);
      EXPECT_EQ(below->touched[at], before + 1 + loads);
      EXPECT_EQ(read(at), Access::ok) << "the tile was left alone";
      EXPECT_EQ(card->account().slow_reads, earlier.slow_reads + 1);
      EXPECT_EQ(card->account().delayed_reads, earlier.delayed_reads + 1);
    }
  }
  EXPECT_EQ(card->account().suspicions, 0u);
  EXPECT_EQ(card->account().unanswered, 0u);
}

// A tile that is slow once in many loads is read on, and the account shows that it is one tile.
TEST_F(Guarded, a_tile_that_is_slow_now_and_then_is_read_on_and_counted) {
  const auto slow_once = [&](Coord at) {
    take_cpu_away(1);
    EXPECT_EQ(read(at), Access::ok);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(read(at), Access::ok);
  };
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  for (int i = 0; i < 20; ++i) slow_once(kGuardedTile);
  EXPECT_EQ(card->account().delayed_reads, 20u);
  EXPECT_EQ(card->account().delayed_tiles, 1u);
  EXPECT_EQ(card->account().suspicions, 0u);
  ASSERT_EQ(read(kDram), Access::ok);
  slow_once(kDram);
  EXPECT_EQ(card->account().delayed_tiles, 2u);
}

TEST_F(Guarded, every_kind_of_access_has_its_reference) {
  uint32_t word = 0;
  uint64_t cycles = 0;
  const std::vector<std::pair<const char*, std::function<Access()>>> kinds = {
      {"the first touch", [&] { return card->aim(Window::control, kGuardedTile, 64); }},
      {"a copy", [&] { return card->copy(Window::control, 64, words); }},
      {"a single load",
       [&] {
         return card->one_load(Window::control, Memory::uncached, 64, {&word, 1});
       }},
      {"the clock", [&] { return card->wall_clock(kGuardedTile, cycles); }},
      {"registers",
       [&] {
         return card->load_registers(Window::control, 0, {&word, 1});
       }},
  };
  uint64_t delayed = 0;
  for (const auto& [name, access] : kinds) {
    take_cpu_away(1, 400 * kMs);
    EXPECT_EQ(access(), Access::ok) << name;
    EXPECT_EQ(card->account().delayed_reads, ++delayed) << name;
  }
  EXPECT_EQ(card->account().suspicions, 0u);
  for (const auto& [name, access] : kinds) {
    if (std::string_view(name) == "the first touch") continue;  // it is made once
    const auto earlier = card->account();
    below->slow_ns[kGuardedTile] = 3 * kMs;
    EXPECT_EQ(access(), Access::ok) << name;
    EXPECT_EQ(card->account().suspicions, earlier.suspicions + 1) << name;
    EXPECT_EQ(card->account().delayed_reads, delayed) << name;
    EXPECT_EQ(access(), Access::suspect) << name;
    below->slow_ns.clear();
    clock_ns += 10 * GuardedCard::kLongestBackoffNs;
  }
}

TEST_F(Guarded, a_slow_tile_costs_a_stated_number_of_references) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  const auto loads_of_a_read = [&](uint64_t ns) {
    const unsigned before = below->touched[kGuardedTile];
    below->slow_ns[kGuardedTile] = ns;
    EXPECT_EQ(read(kGuardedTile), Access::ok);
    EXPECT_EQ(read(kGuardedTile), Access::suspect);
    clock_ns += 10 * GuardedCard::kLongestBackoffNs;
    return below->touched[kGuardedTile] - before;
  };
  EXPECT_EQ(loads_of_a_read(3 * kMs), 1 + GuardedCard::kReferenceLoads);
  EXPECT_EQ(loads_of_a_read(GuardedCard::kStallNs + 1), 2u) << "a stall is not repeated";
  take_cpu_away(1, GuardedCard::kStallNs);  // the load; its references are slow, but by less
  EXPECT_EQ(loads_of_a_read(3 * kMs), 2u);
  EXPECT_EQ(card->account().delayed_reads, 0u);
  EXPECT_EQ(card->account().unanswered, 0u);
}

// A collector on a busy machine lost its CPU in a load and again in both references: the tile was left alone.
TEST_F(Guarded, a_reference_that_the_kernel_interrupted_does_not_count) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  const auto interrupt = [&](unsigned loads, uint64_t first_ns) {
    below->on_load = [loads, first_ns, load = 0u]() mutable {
      if (load >= loads) return;
      clock_ns += load++ == 0 ? first_ns : 3 * kMs;
      ++interruptions;
    };
  };
  for (const uint64_t first_ns : {3 * kMs, 400 * kMs}) {
    const auto earlier = card->account();
    interrupt(1 + GuardedCard::kInterruptedReferences, first_ns);
    EXPECT_EQ(read(kGuardedTile), Access::ok);
    EXPECT_EQ(read(kGuardedTile), Access::ok) << "the tile was left alone";
    EXPECT_EQ(card->account().delayed_reads, earlier.delayed_reads + 1);
  }
  EXPECT_EQ(card->account().suspicions, 0u);
  const unsigned before = below->touched[kGuardedTile];
  interrupt(1000, 3 * kMs);
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(read(kGuardedTile), Access::suspect) << "the number of interrupted references is limited";
  below->on_load = nullptr;
  EXPECT_LE(below->touched[kGuardedTile],
            before + 2 + GuardedCard::kReferenceLoads + GuardedCard::kInterruptedReferences);
}

TEST_F(Guarded, a_reference_that_is_not_answered_counts_as_one_load) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->on_load = [this, loads = 0]() mutable {
    if (++loads == 1) clock_ns += 3 * kMs;
    if (loads == 2) below->silent = {kGuardedTile};
  };
  EXPECT_EQ(read(kGuardedTile), Access::ok) << "what the first load brought is good";
  EXPECT_EQ(read(kGuardedTile), Access::suspect);
  EXPECT_EQ(card->account().unanswered, 1u);
  EXPECT_EQ(card->account().suspicions, 1u);
}

TEST_F(Guarded, the_card_is_looked_at_before_a_reference_is_loaded) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  const unsigned before = below->touched[kGuardedTile];
  take_cpu_away(1);
  below->health_now = Health::gone;
  EXPECT_EQ(read(kGuardedTile), Access::gone);
  EXPECT_EQ(below->touched[kGuardedTile], before + 1);
}

TEST_F(Guarded, two_milliseconds_are_not_slow_and_a_long_copy_may_take_its_time) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->slow_ns[kGuardedTile] = 2 * kMs;
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  below->slow_ns[kGuardedTile] = 9 * kMs;
  std::vector<uint64_t> much((1 << 20) / 8);  // 16384 lines
  EXPECT_EQ(card->copy(Window::control, 0, much), Access::ok);
  EXPECT_EQ(card->account().slow_reads, 0u);
}

TEST_F(Guarded, the_way_to_the_card_is_not_the_cards_fault) {
  ASSERT_EQ(read(kGuardedTile), Access::ok);
  below->transport_per_load_ns = 50 * kMs;
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(read(kGuardedTile), Access::ok);
  EXPECT_EQ(card->account().slow_reads, 0u);
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

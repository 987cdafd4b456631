// A guarded card whose loads are slow: because of the tile, of the way to it, or since the CPU was away.
#include <gtest/gtest.h>

#include "tests/unit/driver_iface/card/guarded_fixture.hpp"

namespace ttc::card {
namespace {

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

}  // namespace
}  // namespace ttc::card

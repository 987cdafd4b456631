// Cards that contradict an assumption, from an observer's side, mapped and strict; and the reference timer, of which
// two assumptions can be broken. Time is virtual.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/emulated_card.hpp"

namespace ttc::card {
namespace {

constexpr Coord kOddTile{1, 3}, kEvenTile{1, 2}, kPcie{2, 0}, kOtherPcie{11, 0};
constexpr uint64_t kSecond = 1'000'000'000;  // cycles and nanoseconds: 1 GHz

class Unlike : public testing::TestWithParam<bool> {
 protected:
  EmulatedCardOptions options(uint32_t contradictions, const char* arch = "blackhole") {
    static int number = 0;
    EmulatedCardOptions o;
    o.name = "unlike-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    o.arch = arch;
    o.board = o.arch == "blackhole" ? "p150" : "n150";
    o.strict = GetParam();
    o.virtual_time = true;
    o.contradictions = contradictions;
    return o;
  }
  void make(const EmulatedCardOptions& o) {
    card.reset();
    emulated = std::make_unique<EmulatedCard>(o);
    emulated->announce();
    card = open_card("emu:" + o.name);
  }
  void make(Contradiction one) { make(options(static_cast<uint32_t>(one))); }

  uint32_t load(Coord tile, uint64_t address) {
    uint32_t value = 0;
    const uint64_t base = address & ~(kWindowBytes - 1);
    EXPECT_EQ(card->aim(Window::control, tile, base), Access::ok);
    EXPECT_EQ(card->load_registers(Window::control, static_cast<uint32_t>(address - base), {&value, 1}),
              Access::ok);
    return value;
  }
  uint64_t clock_of(Coord tile) {
    uint64_t cycles = 0;
    EXPECT_EQ(card->wall_clock(tile, cycles), Access::ok);
    return cycles;
  }
  uint64_t timer(Coord tile = kPcie) {
    const uint32_t low = load(tile, kTimerLow);
    return uint64_t{load(tile, kTimerHigh)} << 32 | low;
  }

  std::unique_ptr<EmulatedCard> emulated;
  std::unique_ptr<Card> card;
};

TEST_P(Unlike, the_reference_timer_counts_at_50_mhz_and_its_low_half_latches_the_high_one) {
  EmulatedCardOptions o = options(0);
  o.timer_start = (uint64_t{3} << 32) - 50;
  make(o);
  const uint64_t begun = timer();
  EXPECT_EQ(begun, o.timer_start);
  EXPECT_EQ(load(kPcie, kTimerLow), 0u - 50u);
  emulated->advance_clock(2000);  // 100 ticks: the low half wraps
  EXPECT_EQ(load(kPcie, kTimerHigh), 2u) << "not latched";
  EXPECT_EQ(timer(), begun + 100);
  EXPECT_EQ(timer(kOtherPcie), begun + 100);
  emulated->advance_clock(10 * kSecond);
  EXPECT_EQ(timer(), begun + 100 + 500'000'000);
  EXPECT_EQ(emulated->account().violations, 0u);
}

TEST_P(Unlike, nothing_else_of_a_pcie_tile_may_be_read_and_a_wormhole_has_no_timer) {
  make(options(0));
  ASSERT_EQ(card->aim(Window::control, kPcie, kTimerBlock), Access::ok);
  uint32_t value = 7;
  for (const uint32_t offset : {0u, 0xA4u, 0xB0u, 0xA9u})
    EXPECT_EQ(card->load_registers(Window::control, offset, {&value, 1}), Access::refused) << offset;
  std::array<uint64_t, 8> words{};
  EXPECT_EQ(card->copy(Window::control, 0x80, words), Access::refused);
  EXPECT_EQ(card->aim(Window::control, kPcie, 0), Access::refused);
  EXPECT_EQ(card->aim(Window::control, kEvenTile, kTimerBlock), Access::refused);
  EXPECT_EQ(value, 7u);
  EXPECT_EQ(emulated->account().violations, 7u);
  make(options(0, "wormhole_b0"));
  EXPECT_EQ(card->aim(Window::control, {0, 3}, kTimerBlock), Access::refused);
  EXPECT_EQ(card->aim(Window::control, kPcie, kTimerBlock), Access::refused);
}

TEST_P(Unlike, the_timer_does_not_follow_the_tile_clocks) {
  EmulatedCardOptions o = options(0);
  o.virtual_time = false;
  o.clock_steps = {{0, 0}};  // the tile clocks are stopped
  make(o);
  const uint64_t cycles = clock_of(kEvenTile), ticks = timer();
  while (timer() == ticks) std::this_thread::yield();
  EXPECT_EQ(clock_of(kEvenTile), cycles);
}

TEST_P(Unlike, a_timer_of_another_rate) {
  make(Contradiction::timer_rate);
  const uint64_t begun = timer();
  emulated->advance_clock(kSecond);
  EXPECT_NEAR(static_cast<double>(timer() - begun), 49'500'000, 2);
}

TEST_P(Unlike, a_timer_that_latches_nothing) {
  EmulatedCardOptions o = options(static_cast<uint32_t>(Contradiction::timer_latch));
  o.timer_start = 0;
  make(o);
  EXPECT_EQ(timer() >> 32, 0u);
  emulated->advance_clock(90 * kSecond);
  EXPECT_EQ(load(kPcie, kTimerHigh), 1u);
}

TEST_P(Unlike, clocks_that_fall_back) {
  make(Contradiction::clock_back);
  const uint64_t begun = clock_of(kEvenTile);
  emulated->advance_clock(249'999'999);
  EXPECT_EQ(clock_of(kEvenTile), begun + 249'999'999);
  emulated->advance_clock(1);
  EXPECT_EQ(clock_of(kEvenTile), begun + 250'000'000 - kBackCycles);
}

TEST_P(Unlike, tiles_of_another_rate) {
  make(Contradiction::tile_rates);
  const uint64_t even = clock_of(kEvenTile), odd = clock_of(kOddTile);
  emulated->advance_clock(kSecond);
  EXPECT_EQ(clock_of(kEvenTile) - even, kSecond);
  EXPECT_EQ(clock_of(kOddTile) - odd, kSecond + 20'000);
  EXPECT_EQ(emulated->clock_on(kOddTile, emulated->clock()), clock_of(kOddTile))
      << "firmware reads another clock";
}

TEST_P(Unlike, tiles_whose_counters_stand_now_and_then) {
  make(Contradiction::tile_stops);
  const uint64_t begun = clock_of(kOddTile);
  emulated->advance_clock(kStopEvery * 3 / 4);
  EXPECT_EQ(clock_of(kOddTile) - begun, kStopEvery * 3 / 4);
  emulated->advance_clock(kStopEvery / 4);
  EXPECT_EQ(clock_of(kOddTile) - begun, kStopEvery * 3 / 4);
  EXPECT_EQ(clock_of(kEvenTile), emulated->clock());
}

TEST_P(Unlike, halves_of_the_wall_clock_that_are_not_what_they_should_be) {
  make(Contradiction::wall_latch);
  load(kEvenTile, kWallClockLow);
  EXPECT_EQ(load(kEvenTile, kWallClockHigh), 1u);
  EXPECT_EQ(load(kEvenTile, kWallClockLatched), 0u);
  make(Contradiction::wall_high);
  EXPECT_EQ(load(kEvenTile, kWallClockHigh), 0u);
  load(kEvenTile, kWallClockLow);
  emulated->advance_clock(uint64_t{1} << 32);
  EXPECT_EQ(load(kEvenTile, kWallClockHigh), 1u);
}

TEST_P(Unlike, a_tile_that_names_another) {
  make(Contradiction::node_id);
  EXPECT_EQ(load(kOddTile, card->identity().arch->node_id_address) & 0xfff, 3u | 1u << 6);
}

TEST_P(Unlike, memory_that_is_numbered_otherwise) {
  make(Contradiction::dram_numbering);
  const uint32_t words[2] = {0x1234, 0x5678};
  emulated->store_dram(0, 4096, words);
  const auto word_of_view = [&](size_t view) {
    const DramView& v = card->identity().dram_views[view];
    std::array<uint64_t, 1> got{};
    EXPECT_EQ(card->aim(Window::payload, v.endpoint, v.offset), Access::ok);
    EXPECT_EQ(card->copy(Window::payload, 4096, got), Access::ok);
    return got[0];
  };
  EXPECT_EQ(word_of_view(0), 0u);
  EXPECT_EQ(word_of_view(1), 0x1234u | uint64_t{0x5678} << 32);
}

TEST_P(Unlike, too_few_windows) {
  const EmulatedCardOptions o = options(static_cast<uint32_t>(Contradiction::few_windows));
  EmulatedCard one(o);
  one.announce();
  EXPECT_THROW(open_card("emu:" + o.name), OpenError);
}

TEST_P(Unlike, copies_that_are_older_than_the_one_before) {
  make(Contradiction::stale_loads);
  std::array<uint64_t, 1> got{};
  ASSERT_EQ(card->aim(Window::control, kEvenTile, 0), Access::ok);
  std::array<uint64_t, 4> seen{};
  for (uint32_t i = 0; i < 4; ++i) {
    emulated->store(kEvenTile, 64, i);
    ASSERT_EQ(card->copy(Window::control, 64, got), Access::ok);
    seen[i] = got[0];
  }
  EXPECT_EQ(seen, (std::array<uint64_t, 4>{0, 0, 2, 2}));
}

TEST_P(Unlike, a_reset_that_nobody_is_told_of) {
  EmulatedCardOptions o = options(static_cast<uint32_t>(Contradiction::reset_unseen));
  CardFault reset;
  reset.kind = FaultKind::reset;
  reset.after = 1000;
  o.faults = {reset};
  make(o);
  emulated->store(kEvenTile, 64, 7);
  emulated->advance_clock(1000);
  while (!emulated->lost()) std::this_thread::yield();
  // The card is lost first, then its memory goes, then its clock begins again: the test's time limit ends a wait in vain.
  std::array<uint64_t, 1> got{7};
  ASSERT_EQ(card->aim(Window::control, kEvenTile, 0), Access::ok);
  while (got[0] == 7) ASSERT_EQ(card->copy(Window::control, 64, got), Access::ok);
  EXPECT_EQ(got[0], 0u);
  while (timer() >= 100) std::this_thread::yield();
  EXPECT_EQ(card->health(), Health::ok);
}

TEST_P(Unlike, telemetry_of_another_clock) {
  make(Contradiction::aiclk_wrong);
  EXPECT_EQ(card->telemetry().aiclk_mhz, 1100u);
}

INSTANTIATE_TEST_SUITE_P(OfCards, Unlike, testing::Bool(),
                         [](const auto& is) { return is.param ? "strict" : "mapped"; });

}  // namespace
}  // namespace ttc::card

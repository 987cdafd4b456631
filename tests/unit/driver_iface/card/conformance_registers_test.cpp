// What every card::Card must do: load registers and the wall clock in order, a round trip each.
#include <gtest/gtest.h>

#include "driver_iface/allow_list.hpp"
#include "tests/unit/driver_iface/card/conformance_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(CardConformance, registers_are_loaded_in_order_and_each_is_a_round_trip) {
  const Coord at = tensix(2);
  const uint32_t node = load(at, arch().node_id_address);
  EXPECT_EQ(node & 0x3f, at.x);
  EXPECT_EQ(node >> 6 & 0x3f, at.y);
  const Transactions before = card->transactions();
  uint32_t clock[3] = {};
  ASSERT_EQ(
      card->load_registers(Window::control, static_cast<uint32_t>(kWallClockLow - kRegisterWindow), clock),
      Access::ok);
  const uint64_t now = rig->clock();
  EXPECT_EQ(clock[0], static_cast<uint32_t>(now));
  EXPECT_EQ(clock[1], static_cast<uint32_t>(now >> 32));
  EXPECT_EQ(clock[2], static_cast<uint32_t>(now >> 32));
  const Transactions after = card->transactions();
  EXPECT_EQ(after.round_trips - before.round_trips, 3u);
  EXPECT_EQ(after.register_loads - before.register_loads, 3u);
  EXPECT_EQ(after.bytes - before.bytes, 12u);
  expect_account_agrees();
}

TEST_P(CardConformance, the_wall_clock_is_the_cards_clock_and_never_goes_back) {
  uint64_t last = 0;
  const uint64_t to_carry = (uint64_t{1} << 32) - static_cast<uint32_t>(rig->clock());
  for (const uint64_t step : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, to_carry - 1002, uint64_t{1},
                              uint64_t{1}, uint64_t{1} << 33}) {
    rig->advance_clock(step);
    uint64_t cycles = 0;
    const uint64_t before = rig->clock();
    ASSERT_EQ(card->wall_clock(tensix(), cycles), Access::ok);
    EXPECT_GE(cycles, before);
    EXPECT_LE(cycles, rig->clock());
    EXPECT_GE(cycles, last);
    last = cycles;
  }
}

TEST_P(CardConformance, loading_the_low_half_latches_the_high_half_of_that_tile_only) {
  rig->advance_clock((uint64_t{1} << 32) - static_cast<uint32_t>(rig->clock()) - 5);
  const auto high = static_cast<uint32_t>(rig->clock() >> 32);
  const Coord a = tensix(0), b = tensix(1);
  EXPECT_EQ(load(a, kWallClockLow), 0xfffffffbu);
  EXPECT_EQ(load(b, kWallClockLow), 0xfffffffbu);
  rig->advance_clock(10);
  EXPECT_EQ(load(a, kWallClockHigh), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
  EXPECT_EQ(load(a, kWallClockHigh), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
  EXPECT_EQ(load(b, kWallClockLow), 5u);
  EXPECT_EQ(load(b, kWallClockLatched), high + 1);
  EXPECT_EQ(load(a, kWallClockLatched), high);
}

}  // namespace
}  // namespace ttc::card

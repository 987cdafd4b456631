// Blackhole's reference timer behind the driver: read on request only, of the board's own PCIe tile only, and nothing beside it.
#include <gtest/gtest.h>

#include "driver_iface/allow_list.hpp"
#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

constexpr Coord kOwnPcie{2, 0}, kPcieOfOther{11, 0}, kWormholePcie{0, 3};
constexpr auto kLow = static_cast<uint32_t>(kTimerLow & (kWindowBytes - 1));

TEST_P(KmdCard, the_reference_timer_is_refused_unless_it_is_requested) {
  add();
  open();
  const uint64_t moves = card->transactions().window_moves;
  for (const Coord tile : {kOwnPcie, kPcieOfOther, kWormholePcie})
    EXPECT_EQ(card->aim(Window::control, tile, kTimerBlock), Access::refused);
  EXPECT_EQ(card->transactions().window_moves, moves);
  EXPECT_TRUE(model.state(0).hazards.empty());
}

TEST_P(KmdCard, the_reference_timer_is_read_of_the_boards_own_pcie_tile) {
  add();
  open("0", {.reference_timer = true});
  if (!blackhole()) {
    EXPECT_EQ(card->aim(Window::control, kWormholePcie, kTimerBlock), Access::refused);
    return;
  }
  const uint64_t moves = card->transactions().window_moves;
  EXPECT_EQ(card->aim(Window::control, kPcieOfOther, kTimerBlock), Access::refused);
  EXPECT_EQ(card->transactions().window_moves, moves) << "the unused tile was aimed at";
  uint32_t first = 0, second = 0, high = 7;
  ASSERT_EQ(card->aim(Window::control, kOwnPcie, kTimerBlock), Access::ok);
  ASSERT_EQ(card->load_registers(Window::control, kLow, {&first, 1}), Access::ok);
  chip().advance_clock(2000);
  ASSERT_EQ(card->load_registers(Window::control, kLow, {&second, 1}), Access::ok);
  EXPECT_EQ(second - first, 100u);
  EXPECT_EQ(card->load_registers(Window::control, kLow + 4, {&high, 1}), Access::ok);
  for (const uint32_t offset : {0u, kLow - 4, kLow + 8, kLow + 1})
    EXPECT_EQ(card->load_registers(Window::control, offset, {&high, 1}), Access::refused) << offset;
  std::array<uint64_t, 8> words{};
  EXPECT_EQ(card->copy(Window::control, 0x80, words), Access::refused);
  EXPECT_EQ(card->aim(Window::control, kOwnPcie, 0), Access::refused);
  // A tile's registers beside it, and the timer again.
  ASSERT_EQ(card->aim(Window::control, {1, 2}, kRegisterWindow), Access::ok);
  EXPECT_EQ(card->load_registers(Window::control, kLow, {&high, 1}), Access::refused);
  ASSERT_EQ(card->aim(Window::control, kOwnPcie, kTimerBlock), Access::ok);
  EXPECT_EQ(card->load_registers(Window::control, kLow, {&second, 1}), Access::ok);
  EXPECT_TRUE(model.state(0).hazards.empty()) << model.state(0).hazards.front();
}

}  // namespace
}  // namespace ttc::card

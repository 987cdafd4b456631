// What every card::Card must do: refuse, as a whole and before anything is loaded, what an observer must not touch.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "tests/unit/driver_iface/card/conformance_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(CardConformance, one_load_that_would_be_several_or_of_something_else_is_refused) {
  std::vector<uint32_t> out(32, 42);
  const auto load = [&](uint32_t offset, size_t words) {
    return card->one_load(Window::payload, Memory::uncached, offset, std::span(out).first(words));
  };
  expect_refused("window not aimed", [&] { return load(0, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), 0), Access::ok);
  for (const size_t words : {0u, 3u, 5u, 6u, 7u, 12u, 17u, 32u})
    expect_refused("no width a load has", [&] { return load(0, words); });
  for (const uint32_t slip : {1u, 2u, 3u}) expect_refused("misaligned word", [&] { return load(slip, 1); });
  for (const size_t words : {2u, 4u, 8u, 16u})
    expect_refused("misaligned", [&] { return load(static_cast<uint32_t>(2 * words), words); });
  expect_refused("behind L1", [&] { return load(arch().tensix_l1_bytes, 1); });
  expect_refused("behind the window", [&] { return load(kWindowBytes, 1); });
  expect_refused("at the largest offset", [&] { return load(0xfffffffc, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), kRegisterWindow), Access::ok);
  expect_refused("a register",
                 [&] { return load(static_cast<uint32_t>(kWallClockLow - kRegisterWindow), 1); });
  EXPECT_EQ(std::count(out.begin(), out.end(), 42u), static_cast<ptrdiff_t>(out.size()));
}

TEST_P(CardConformance, a_refused_aim_leaves_the_window_where_it_was) {
  fill_l1(tensix(), 0, 64);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  expect_refused("harvested", [&] { return card->aim(Window::control, tile_of(TileKind::tensix, true), 0); });
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->copy(Window::control, 0, out), Access::ok);
  expect_pattern(out, 0);
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  EXPECT_EQ(spent().window_moves, 1u);
}

TEST_P(CardConformance, tiles_an_observer_must_not_touch_are_refused) {
  expect_refused("harvested tile",
                 [&] { return card->aim(Window::control, tile_of(TileKind::tensix, true), 0); });
  expect_refused("registers of a harvested tile", [&] {
    return card->aim(Window::control, tile_of(TileKind::tensix, true), kRegisterWindow);
  });
  expect_refused("outside the grid", [&] { return card->aim(Window::control, {255, 255}, 0); });
  expect_refused("just outside the grid", [&] { return card->aim(Window::control, {arch().grid_x, 1}, 0); });
  for (uint8_t x = 0; x < arch().grid_x; ++x)
    for (uint8_t y = 0; y < arch().grid_y; ++y) {
      const TileKind k = arch().kind_at({x, y});
      if (k == TileKind::tensix || k == TileKind::ethernet || k == TileKind::dram) continue;
      const std::string what = "tile kind " + std::to_string(static_cast<int>(k));
      expect_refused(what.c_str(), [&] { return card->aim(Window::payload, {x, y}, 0); });
    }
  uint64_t cycles = 7;
  expect_refused("clock of a harvested tile",
                 [&] { return card->wall_clock(tile_of(TileKind::tensix, true), cycles); });
  EXPECT_EQ(cycles, 7u);
}

TEST_P(CardConformance, registers_that_are_not_on_the_allow_list_are_refused) {
  const auto registers = [&](uint64_t address, size_t count) {
    std::vector<uint32_t> values(count, 0xdeadbeef);
    const Access access =
        card->load_registers(Window::control, static_cast<uint32_t>(address - kRegisterWindow), values);
    for (const uint32_t v : values) EXPECT_EQ(v, 0xdeadbeefu) << std::hex << address;
    return access;
  };
  expect_refused("window not aimed", [&] { return registers(kWallClockLow, 1); });
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  expect_refused("window aimed at memory", [&] { return registers(kWallClockLow, 1); });
  ASSERT_EQ(card->aim(Window::control, tensix(), kRegisterWindow), Access::ok);
  for (const uint64_t address :
       {uint64_t{0xFFB11000}, uint64_t{0xFFB00000}, kRegisterWindow, kWallClockLow - 4, kWallClockLatched + 4,
        uint64_t{0xFFBFFFFC}, uint64_t{0xFFC00000}})
    expect_refused("register not listed", [&] { return registers(address, 1); });
  for (const uint64_t slip : {1, 2, 3})
    expect_refused("unaligned register", [&] { return registers(kWallClockLow + slip, 1); });
  ASSERT_EQ(card->aim(Window::payload, tensix(), 0), Access::ok);
  uint64_t word = 0;
  expect_refused("memory copy of registers", [&] {
    return card->copy(Window::control, static_cast<uint32_t>(kWallClockLow - kRegisterWindow), {&word, 1});
  });
}

// "refused: nothing was loaded" (card.hpp) also when the first of several is allowed.
TEST_P(CardConformance, a_run_of_registers_is_refused_as_a_whole) {
  ASSERT_EQ(card->aim(Window::control, tensix(), kRegisterWindow), Access::ok);
  uint32_t values[2] = {0xdeadbeef, 0xdeadbeef};
  expect_refused("the second is not listed", [&] {
    return card->load_registers(Window::control, static_cast<uint32_t>(kWallClockLatched - kRegisterWindow),
                                values);
  });
  EXPECT_EQ(values[0], 0xdeadbeefu);
  expect_account_agrees();
}

TEST_P(CardConformance, memory_outside_and_misaligned_copies_are_refused) {
  std::vector<uint64_t> out(8, 42);
  expect_refused("window not aimed", [&] { return card->copy(Window::payload, 0, out); });
  const Coord at = tensix();
  expect_refused("aim behind L1", [&] { return card->aim(Window::control, at, arch().tensix_l1_bytes); });
  expect_refused("aim between L1 and registers", [&] { return card->aim(Window::control, at, 0x4000000); });
  expect_refused("aim behind the registers", [&] { return card->aim(Window::control, at, 0xFFC00000); });
  expect_refused("aim at the end of the address space",
                 [&] { return card->aim(Window::control, at, ~uint64_t{0}); });
  const Coord port = arch().dram_views()[0].endpoint;
  expect_refused("aim behind DRAM", [&] { return card->aim(Window::payload, port, arch().channel_bytes); });
  expect_refused("aim far behind DRAM", [&] { return card->aim(Window::payload, port, ~uint64_t{0}); });
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (const uint32_t slip : {1u, 2u, 4u, 7u, 12u})
    expect_refused("misaligned copy", [&] { return card->copy(Window::control, slip, out); });
  expect_refused("behind the window", [&] { return card->copy(Window::control, kWindowBytes, out); });
  expect_refused("at the largest offset", [&] { return card->copy(Window::control, 0xfffffff8, out); });
  expect_refused("the other window was not aimed", [&] { return card->copy(Window::payload, 0, out); });
  for (const uint64_t word : out) EXPECT_EQ(word, 42u);
}

// "refused: nothing was loaded" (card.hpp) also for a copy so long that an implementation would split it.
TEST_P(CardConformance, a_long_copy_over_the_end_is_refused_as_a_whole) {
  ASSERT_EQ(card->aim(Window::control, tensix(), 0), Access::ok);
  std::vector<uint64_t> out((64 << 10) / 8, 42);
  expect_refused("64 KiB over the end",
                 [&] { return card->copy(Window::control, arch().tensix_l1_bytes - (40 << 10), out); });
  EXPECT_EQ(std::count(out.begin(), out.end(), 42u), static_cast<ptrdiff_t>(out.size()));
  expect_account_agrees();
}

TEST_P(CardConformance, a_descriptor_is_no_way_around_the_rules) {
  if (!rig->has_descriptor()) GTEST_SKIP() << "no descriptor";
  const Coord port = arch().dram_views()[0].endpoint;
  const auto refused = [&](const char* what, Coord tile, uint64_t address, uint32_t bytes) {
    expect_refused(
        what, [&] { return card->descriptor_range(tile, address, bytes) ? Access::ok : Access::refused; });
  };
  refused("harvested", tile_of(TileKind::tensix, true), 0, 64);
  refused("no tile", {255, 255}, 0, 64);
  refused("behind L1", tensix(), arch().tensix_l1_bytes, 64);
  refused("over the end of L1", tensix(), arch().tensix_l1_bytes - 64, 128);
  refused("behind DRAM", port, arch().channel_bytes, 64);
  refused("over the end of DRAM", port, arch().channel_bytes - 64, 128);
  refused("the largest length", port, 0, 0xfffffff8);
  refused("registers", tensix(), 0xFFB11000, 64);
  // Read-only, whatever the flags of the range are.
  const auto range = card->descriptor_range(port, 0, 64);
  ASSERT_TRUE(range);
  const uint64_t word = 1;
  EXPECT_LT(pwrite(range->fd, &word, 8, static_cast<off_t>(range->file_offset)), 0);
}

}  // namespace
}  // namespace ttc::card

// What every card::Card must do: deliver the bytes of L1 and DRAM, through windows or a descriptor, at the cost it states.
#include <gtest/gtest.h>
#include <unistd.h>

#include <span>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "tests/unit/driver_iface/card/conformance_fixture.hpp"

namespace ttc::card {
namespace {

TEST_P(CardConformance, a_copy_of_l1_delivers_its_bytes_and_costs_the_lines_it_touches) {
  const Coord at = tensix(3);
  fill_l1(at, 0, 16 << 10);
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (const uint32_t offset : {0u, 8u, 48u, 56u, 64u, 72u, 120u, 128u, 4088u, 4096u})
    for (const uint32_t bytes : {8u, 16u, 56u, 64u, 72u, 128u, 136u, 4096u}) {
      std::vector<uint64_t> out(bytes / 8, ~uint64_t{0});
      const Transactions before = card->transactions();
      ASSERT_EQ(card->copy(Window::control, offset, out), Access::ok) << offset << " " << bytes;
      expect_pattern(out, offset);
      const Transactions after = card->transactions();
      EXPECT_EQ(after.round_trips - before.round_trips, lines_touched(offset, bytes))
          << offset << " " << bytes;
      EXPECT_EQ(after.bytes - before.bytes, bytes);
      EXPECT_EQ(after.window_moves, before.window_moves);
    }
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);
}

// What the link probe measures with: every width, both mappings, 4 bytes included.
TEST_P(CardConformance, one_load_of_any_width_delivers_its_bytes_and_is_one_round_trip) {
  const Coord at = tensix(1);
  fill_l1(at, 0, 256);
  ASSERT_EQ(card->aim(Window::payload, at, 0), Access::ok);
  for (const Memory memory : {Memory::uncached, Memory::write_combined})
    for (const uint32_t bytes : {4u, 8u, 16u, 32u, 64u})
      for (const uint32_t offset : {0u, bytes, 192u - bytes, 128u}) {
        std::vector<uint32_t> out(bytes / 4 + 1, 42);
        const Transactions before = card->transactions();
        ASSERT_EQ(card->one_load(Window::payload, memory, offset, std::span(out).first(bytes / 4)),
                  Access::ok)
            << offset << " " << bytes;
        for (uint32_t i = 0; i < bytes / 4; ++i)
          ASSERT_EQ(out[i], pattern(offset + 4 * i)) << offset << " " << bytes;
        EXPECT_EQ(out.back(), 42u);
        const Transactions after = card->transactions();
        EXPECT_EQ(after.round_trips - before.round_trips, 1u);
        EXPECT_EQ(after.bytes - before.bytes, bytes);
        EXPECT_EQ(after.register_loads, before.register_loads);
        EXPECT_EQ(after.window_moves, before.window_moves);
      }
  fill_dram(0, 4096, 64);
  const DramView& view = arch().dram_views()[0];
  ASSERT_EQ(card->aim(Window::payload, view.endpoint, view.offset + 4096), Access::ok);
  uint32_t word = 0;
  const auto in_window = static_cast<uint32_t>((view.offset + 4096) % kWindowBytes);
  ASSERT_EQ(card->one_load(Window::payload, Memory::write_combined, in_window + 4, {&word, 1}), Access::ok);
  EXPECT_EQ(word, pattern(4096 + 4));
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);
}

TEST_P(CardConformance, large_copies_cost_no_more_than_their_lines) {
  const Coord at = tensix();
  fill_l1(at, 0, 256 << 10);
  ASSERT_EQ(card->aim(Window::payload, at, 0), Access::ok);
  for (const uint32_t offset : {0u, 8u, 56u})
    for (const uint32_t bytes : {32u << 10, (32u << 10) + 8, 40u << 10, 64u << 10, 200u << 10}) {
      std::vector<uint64_t> out(bytes / 8);
      const Transactions before = card->transactions();
      ASSERT_EQ(card->copy(Window::payload, offset, out), Access::ok);
      expect_pattern(out, offset);
      EXPECT_EQ(card->transactions().round_trips - before.round_trips, lines_touched(offset, bytes))
          << offset << " " << bytes;
    }
  expect_account_agrees();
}

TEST_P(CardConformance, l1_can_be_read_up_to_its_last_word_on_every_tile_kind) {
  for (const TileKind kind : {TileKind::tensix, TileKind::ethernet}) {
    const Coord at = tile_of(kind);
    const uint32_t end = kind == TileKind::tensix ? arch().tensix_l1_bytes : arch().ethernet_l1_bytes;
    fill_l1(at, end - 128, end);
    std::vector<uint64_t> out(16);
    ASSERT_EQ(card->aim(Window::control, at, end - 8), Access::ok);
    ASSERT_EQ(card->copy(Window::control, end - 128, out), Access::ok);
    expect_pattern(out, end - 128);
    expect_refused("a word behind the end", [&] { return card->copy(Window::control, end - 120, out); });
    expect_refused("only behind the end", [&] { return card->copy(Window::control, end, out); });
  }
}

TEST_P(CardConformance, tiles_have_memories_of_their_own) {
  for (size_t i = 0; i < 4; ++i) rig->store(tensix(i), 64, static_cast<uint32_t>(i + 1));
  for (size_t i = 0; i < 4; ++i) {
    uint64_t word = 0;
    ASSERT_EQ(card->aim(Window::control, tensix(i), 0), Access::ok);
    ASSERT_EQ(card->copy(Window::control, 64, {&word, 1}), Access::ok);
    EXPECT_EQ(word, i + 1);
  }
}

TEST_P(CardConformance, every_dram_view_delivers_what_was_stored_in_it_and_nothing_of_another) {
  const auto views = arch().dram_views();
  for (uint32_t v = 0; v < views.size(); ++v) fill_dram(v, 4096, 256, v);
  std::vector<uint64_t> out(32);
  for (uint32_t v = 0; v < views.size(); ++v) {
    const uint64_t address = views[v].offset + 4096;
    ASSERT_EQ(card->aim(Window::payload, views[v].endpoint, address), Access::ok);
    ASSERT_EQ(card->copy(Window::payload, static_cast<uint32_t>(address % kWindowBytes), out), Access::ok);
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(static_cast<uint32_t>(out[i]), pattern(4096 + 8 * i) + v) << "view " << v;
      ASSERT_EQ(static_cast<uint32_t>(out[i] >> 32), pattern(4096 + 8 * i + 4) + v) << "view " << v;
    }
  }
  EXPECT_EQ(rig->account().violations, 0u);
}

TEST_P(CardConformance, all_ports_of_a_channel_show_the_same_memory) {
  const auto views = arch().dram_views();
  for (uint32_t v = 0; v < views.size(); ++v) fill_dram(v, 0, 64, v);
  for (uint32_t v = 0; v < views.size(); ++v) {
    int ports = 0;
    for (uint8_t x = 0; x < arch().grid_x; ++x)
      for (uint8_t y = 0; y < arch().grid_y; ++y) {
        if (arch().channel_at({x, y}) != views[v].channel) continue;
        ++ports;
        uint64_t word = 0;
        ASSERT_EQ(card->aim(Window::payload, {x, y}, views[v].offset), Access::ok);
        ASSERT_EQ(
            card->copy(Window::payload, static_cast<uint32_t>(views[v].offset % kWindowBytes), {&word, 1}),
            Access::ok);
        EXPECT_EQ(static_cast<uint32_t>(word), pattern(0) + v);
      }
    EXPECT_GE(ports, 2);
  }
}

TEST_P(CardConformance, dram_is_read_on_both_sides_of_a_window_edge_and_up_to_its_end) {
  fill_dram(0, kWindowBytes - 128, 256);
  std::vector<uint64_t> out(16);
  const Coord port = arch().dram_views()[0].endpoint;
  ASSERT_EQ(card->aim(Window::payload, port, kWindowBytes - 8), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, kWindowBytes - 128, out), Access::ok);
  expect_pattern(out, kWindowBytes - 128);
  expect_refused("across the window's end",
                 [&] { return card->copy(Window::payload, kWindowBytes - 64, out); });
  ASSERT_EQ(card->aim(Window::payload, port, kWindowBytes), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, 0, out), Access::ok);
  expect_pattern(out, kWindowBytes);

  const auto last = static_cast<uint32_t>(arch().dram_views().size() - 1);
  const DramView& view = arch().dram_views()[last];
  const uint64_t end = arch().channel_bytes;
  fill_dram(last, end - view.offset - 128, 128);
  ASSERT_EQ(card->aim(Window::payload, view.endpoint, end - 8), Access::ok);
  ASSERT_EQ(card->copy(Window::payload, kWindowBytes - 128, out), Access::ok);
  expect_pattern(out, end - view.offset - 128);
}

TEST_P(CardConformance, what_changes_on_the_card_is_seen_by_the_next_copy) {
  const Coord at = tensix();
  ASSERT_EQ(card->aim(Window::control, at, 0), Access::ok);
  for (uint32_t i = 1; i < 50; ++i) {
    rig->store(at, 1024, i);
    uint64_t word = 0;
    ASSERT_EQ(card->copy(Window::control, 1024, {&word, 1}), Access::ok);
    ASSERT_EQ(word, i);
  }
}

TEST_P(CardConformance, a_window_is_counted_as_moved_only_when_it_moves) {
  const auto moves = [&] { return spent().window_moves; };
  const Coord a = tensix(0), b = tensix(1);
  EXPECT_EQ(card->aim(Window::control, a, 0), Access::ok);
  EXPECT_EQ(moves(), 1u);
  EXPECT_EQ(card->aim(Window::control, a, 0), Access::ok);
  EXPECT_EQ(card->aim(Window::control, a, 4096), Access::ok);
  EXPECT_EQ(moves(), 1u);
  EXPECT_EQ(card->aim(Window::control, b, 0), Access::ok);
  EXPECT_EQ(moves(), 2u);
  EXPECT_EQ(card->aim(Window::payload, b, 0), Access::ok);  // the other window
  EXPECT_EQ(moves(), 3u);
  EXPECT_EQ(card->aim(Window::control, b, kRegisterWindow), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(card->aim(Window::control, b, kWallClockLow), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(card->aim(Window::payload, b, 64), Access::ok);
  EXPECT_EQ(moves(), 4u);
  EXPECT_EQ(spent().round_trips, 0u);
  expect_account_agrees();
}

TEST_P(CardConformance, the_two_windows_do_not_disturb_each_other) {
  fill_l1(tensix(0), 0, 64);
  fill_dram(0, 0, 64, 0);
  std::vector<uint64_t> out(8);
  ASSERT_EQ(card->aim(Window::control, tensix(0), 0), Access::ok);
  ASSERT_EQ(card->aim(Window::payload, arch().dram_views()[0].endpoint, 0), Access::ok);
  rig->store(tensix(0), 0, 0x1111);
  ASSERT_EQ(card->copy(Window::control, 0, out), Access::ok);
  EXPECT_EQ(static_cast<uint32_t>(out[0]), 0x1111u);
  ASSERT_EQ(card->copy(Window::payload, 0, out), Access::ok);
  expect_pattern(out, 0);
}

TEST_P(CardConformance, a_descriptor_delivers_the_same_bytes_and_is_charged) {
  fill_dram(1, 4096 + 8, 8192);
  const DramView& view = arch().dram_views()[1];
  const auto range = card->descriptor_range(view.endpoint, view.offset + 4096 + 8, 8192);
  if (!rig->has_descriptor()) {
    EXPECT_FALSE(range);
    return;
  }
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, 8192u);
  std::vector<uint64_t> out(1024);
  ASSERT_EQ(pread(range->fd, out.data(), 8192, static_cast<off_t>(range->file_offset)), 8192);
  card->release(*range, out);
  expect_pattern(out, 4096 + 8);
  EXPECT_EQ(card->transactions().round_trips, lines_touched(view.offset + 4096 + 8, 8192));
  EXPECT_EQ(card->transactions().bytes, 8192u);
  EXPECT_EQ(rig->account().descriptor_bytes, 8192u);
  EXPECT_EQ(card->transactions().window_moves, 0u);
  expect_account_agrees();
  EXPECT_EQ(rig->account().violations, 0u);

  fill_l1(tensix(), 0, 256);
  const auto l1 = card->descriptor_range(tensix(), 64, 192);
  ASSERT_TRUE(l1);
  ASSERT_EQ(pread(l1->fd, out.data(), 192, static_cast<off_t>(l1->file_offset)), 192);
  expect_pattern(std::span(out).first(24), 64);
}

}  // namespace
}  // namespace ttc::card

// What the kernel-driver card finds on a chip: its tiles, memory channels and sensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/model/driver_model.hpp"
#include "tests/unit/driver_iface/kmd/kmd_card_fixture.hpp"

namespace ttc::card {
namespace {

// What the search for tiles rests on: a fused-off tile reports that it is off, and a tile its coordinates.
TEST_P(KmdCard, contradicted_tiles_are_not_found_as_they_are) {
  add();
  open();
  const auto working = [&] {
    return std::count_if(card->tiles().begin(), card->tiles().end(),
                         [](const Tile& t) { return t.kind == TileKind::tensix && !t.harvested; });
  };
  const auto all = working();
  card.reset();
  EmulatedCardOptions unsaid;
  unsaid.contradictions = static_cast<uint32_t>(Contradiction::fused_off_unsaid);
  ModelNode second;
  second.ordinal = 1;
  second.pci = "0000:02:00.0";
  add(second, unsaid);
  open("1");
  EXPECT_EQ(working() > all, !blackhole()) << "Blackhole's telemetry names its columns besides";
  card.reset();
  EmulatedCardOptions other_names;
  other_names.contradictions = static_cast<uint32_t>(Contradiction::node_id);
  ModelNode third;
  third.ordinal = 2;
  third.pci = "0000:03:00.0";
  add(third, other_names);
  open("2");
  EXPECT_LT(working(), all);
}

TEST_P(KmdCard, fused_off_tiles_are_learnt_from_the_chip) {
  EmulatedCardOptions o;
  if (blackhole())
    o.harvested_columns = {3, 12};
  else
    o.harvested_rows = {4};
  add({}, o);
  open();
  ASSERT_EQ(card->tiles().size(), chip().tiles().size());
  for (size_t i = 0; i < card->tiles().size(); ++i) {
    EXPECT_EQ(card->tiles()[i].at, chip().tiles()[i].at);
    EXPECT_EQ(card->tiles()[i].harvested, chip().tiles()[i].harvested);
  }
  EXPECT_TRUE(model.state(0).hazards.empty()) << model.state(0).hazards.front();
}

// Blackhole renumbers columns around fused-off ones: each tile must be reached under its physical name.
TEST_P(KmdCard, every_tile_shows_its_own_memory) {
  EmulatedCardOptions o;
  if (blackhole()) o.harvested_columns = {1, 6};
  add({}, o);
  open();
  for (const Tile& t : chip().tiles()) chip().store(t.at, 64, 0x1000u + t.at.x * 64u + t.at.y);
  for (const Tile& t : card->tiles()) {
    if (t.harvested) continue;
    uint64_t word = 0;
    ASSERT_EQ(card->aim(Window::control, t.at, 0), Access::ok);
    ASSERT_EQ(card->copy(Window::control, 64, {&word, 1}), Access::ok);
    EXPECT_EQ(word, 0x1000u + t.at.x * 64u + t.at.y);
  }
}

TEST_P(KmdCard, one_tile_whose_clock_is_off_is_left_out) {
  add();
  const Coord off{4, 3};
  model.harvest(0, off);
  open();
  EXPECT_EQ(card->aim(Window::control, off, 0), Access::refused);
  EXPECT_EQ(card->aim(Window::control, off, kRegisterWindow), Access::refused);
  EXPECT_EQ(read(), Access::ok);
}

TEST_P(KmdCard, a_chip_whose_tiles_do_not_answer_is_left_alone) {
  add();
  for (const Tile& t : chip().tiles()) model.silence(0, t.at);
  expect_refusal("0", {"do not answer over the NoC", "no more tiles are read"});
  expect_nothing_held();
}

// They should answer; a board whose fused-off tiles do not costs one read a line.
TEST_P(KmdCard, fused_off_lines_that_do_not_answer_are_left_out_as_a_whole) {
  ModelNode node;
  node.telemetry = false;  // which would show it
  add(node);
  const auto dead = [&](Coord c) { return blackhole() ? c.x == 15 || c.x == 16 : c.y == 10 || c.y == 11; };
  for (const Tile& t : chip().tiles())
    if (t.kind == TileKind::tensix && dead(t.at)) model.silence(0, t.at);
  open();
  for (const Tile& t : card->tiles())
    if (t.kind == TileKind::tensix) {
      EXPECT_EQ(t.harvested, dead(t.at)) << int{t.at.x} << "," << int{t.at.y};
    }
  EXPECT_TRUE(noted("2 tiles do not answer"));
}

TEST_P(KmdCard, a_second_chip_without_a_pci_function_is_told_of) {
  if (blackhole()) GTEST_SKIP() << "n300 is Wormhole";
  ModelNode node;
  node.card_type = "n300";
  add(node);
  open();
  EXPECT_TRUE(noted("second chip of an n300 is no PCI function"));
}

TEST_P(KmdCard, with_a_memory_channel_fused_off_the_others_are_reached_under_either_numbering) {
  if (!blackhole()) GTEST_SKIP() << "Wormhole has all its channels";
  constexpr uint64_t kPlace = 0x40'0000;
  for (const bool in_order : {false, true})
    for (uint8_t off = 0; off < 8; ++off) {
      ModelNode node;
      node.ordinal = 8u * in_order + off;
      node.memory_in_order = in_order;
      EmulatedCardOptions options;
      options.harvested_channels = {off};
      add(node, options);
      for (uint32_t bank = 0; bank < 7; ++bank)
        chip().store_dram(bank, kPlace, std::vector<uint32_t>{bank + 100, off});
      open(std::to_string(node.ordinal));
      ASSERT_EQ(card->identity().dram_views.size(), 7u);
      ASSERT_EQ(card->memory_numberings(), 2u);
      card->use_memory_numbering(in_order);
      for (uint32_t bank = 0; bank < 7; ++bank) {
        const DramView& view = card->identity().dram_views[bank];
        EXPECT_NE(view.channel, off);
        uint64_t word = 0;
        ASSERT_EQ(card->aim(Window::payload, view.endpoint, view.offset + kPlace), Access::ok);
        ASSERT_EQ(card->copy(Window::payload, (view.offset + kPlace) & (kWindowBytes - 1), {&word, 1}),
                  Access::ok);
        EXPECT_EQ(word, (bank + 100) | uint64_t{off} << 32)
            << "bank " << bank << " without channel " << int{off};
      }
      EXPECT_EQ(card->aim(Window::payload, card->identity().arch->ports(off)[0], 0), Access::refused);
      card.reset();
    }
}

TEST_P(KmdCard, a_chip_with_two_memory_channels_fused_off_is_refused) {
  if (!blackhole()) GTEST_SKIP() << "Wormhole has all its channels";
  ModelNode node;
  node.dram_channels = 0xf3;
  add(node);
  expect_refusal("0", {"memory channel", "fused off"});
  expect_nothing_held();
}

TEST_P(KmdCard, sensors_of_the_driver_are_telemetry) {
  add();
  open();
  const Telemetry t = card->telemetry();
  EXPECT_TRUE(t.aiclk_mhz.has_value());
  EXPECT_EQ(t.power_mw, 21'750u);
  EXPECT_EQ(t.temperature_mc, 48'500);
}

TEST_P(KmdCard, without_telemetry_the_tiles_alone_tell) {
  if (!blackhole()) GTEST_SKIP() << "only Blackhole's is read";
  ModelNode node;
  node.telemetry = false;
  add(node);
  open();
  EXPECT_TRUE(noted("telemetry table is not there"));
  EXPECT_EQ(read(), Access::ok);
}

}  // namespace
}  // namespace ttc::card

// A simulated chip's programs on an emulated card: what the card's memory holds of them besides the markers.
#include "tools/emulation/chip_player.hpp"

#include <gtest/gtest.h>

namespace ttc::emulation {
namespace {

TEST(ChipPlayer, the_feedback_word_says_which_kinds_of_transaction_were_delayed_on_which_core) {
  card::EmulatedCardOptions card_options;
  card_options.name = "player-test";
  card_options.virtual_time = true;
  card::EmulatedCard card(card_options);
  WorldOptions world_options;
  world_options.layout = markers::layout_by_name("G4");
  world_options.virtual_time = true;
  TruthLog truth("");
  World world(card, world_options, truth);
  const ZoneCatalog zones(4);
  ZoneLog log("");

  const auto record = watcher::DelayRecord::in(*markers::mailbox_by_name("M4"), "wormhole_b0");
  const watcher::Settings settings =
      watcher::read_settings({{"TT_METAL_WATCHER", "1"}, {"TT_METAL_WATCHER_DEBUG_DELAY", "700"}}, true);
  WorkloadOptions work;
  work.cores = 4;
  work.programs = 2;
  work.recorded = false;
  work.watcher = std::make_shared<const WatcherSetup>(
      WatcherSetup{settings, watcher::build(settings, {.profiler = false}), *record});
  work.chip = std::make_shared<const chip::ChipWorkload>(
      chip::read_workload(chip::builtin_workload("imbalanced"), "imbalanced"));
  const card::Coord delayed = world.cores()[0].at, other = world.cores()[1].at;
  record->write(card, delayed, {0x1f, 0x1f, 0});  // as the device test of tt-metal expects: 3
  record->write(card, other, {0, 0, 0x1f});       // streams use no semaphore

  std::atomic<bool> stop{false};
  ChipPlayer player(world, zones, log, work, {});
  player.run(stop);
  EXPECT_EQ(player.programs_run(), 2u);
  EXPECT_EQ(record->feedback(card, delayed), 3u);
  EXPECT_EQ(record->feedback(card, other), 0u);
  EXPECT_GT(player.delays().at(delayed)[0], 0u);
  EXPECT_EQ(truth.count(), 0u) << "kernels without the profiler recorded something";
}

}  // namespace
}  // namespace ttc::emulation

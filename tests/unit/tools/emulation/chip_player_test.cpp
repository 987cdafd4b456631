// A simulated chip's programs on an emulated card: what the card's memory holds of them besides the markers.
#include "tools/emulation/chip_player.hpp"

#include <gtest/gtest.h>

namespace ttc::emulation {
namespace {

struct ChipPlayers : testing::Test {
  static card::EmulatedCardOptions virtual_card() {
    card::EmulatedCardOptions o;
    o.name = "player-test";
    o.virtual_time = true;
    return o;
  }
  static WorldOptions world_options(unsigned ethernet) {
    WorldOptions o;
    o.layout = markers::layout_by_name("G4");
    o.virtual_time = true;
    o.ethernet = ethernet;
    return o;
  }
  void play(const WorkloadOptions& work) {
    const std::atomic<bool> stop{false};
    player.emplace(world, zones, log, work, ChipOutputs{});
    player->run(stop);
  }
  static WorkloadOptions watched(const watcher::Environment& more, const char* toml = nullptr) {
    watcher::Environment environment = more;
    environment.insert({{"TT_METAL_WATCHER", "1"}, {"TT_METAL_WATCHER_DEBUG_DELAY", "700"}});
    const watcher::Settings settings = watcher::read_settings(environment, true);
    const markers::Mailbox& m4 = *markers::mailbox_by_name("M4");
    WatcherSetup setup{settings, watcher::build(settings, {.profiler = false}),
                       *watcher::DelayRecord::in(m4, "wormhole_b0")};
    setup.active_ethernet = watcher::DelayRecord::in(m4, "wormhole_b0", markers::CoreKind::active_ethernet);
    for (size_t k = 0; k < markers::kCoreKinds; ++k)
      setup.waypoints[k] = watcher::Waypoints::in(m4, "wormhole_b0", static_cast<markers::CoreKind>(k));
    WorkloadOptions work;
    work.cores = 4;
    work.programs = 2;
    work.recorded = false;
    work.watcher = std::make_shared<const WatcherSetup>(std::move(setup));
    const std::string text = toml ? toml : chip::builtin_workload("imbalanced");
    work.chip = std::make_shared<const chip::ChipWorkload>(chip::read_workload(text, "test"));
    return work;
  }
  std::string waypoint(card::Coord at, uint32_t risc) {
    std::string text;
    for (uint32_t word = card.load(at, 0x10 + 1236 + 4 * risc); word != 0; word >>= 8)
      text += static_cast<char>(word & 0xff);
    return text;
  }

  card::EmulatedCard card{virtual_card()};
  TruthLog truth{""};
  World world{card, world_options(2), truth};
  const ZoneCatalog zones{4, {.ethernet = true}};
  ZoneLog log{""};
  std::optional<ChipPlayer> player;
};

TEST_F(ChipPlayers, the_feedback_word_says_which_kinds_of_transaction_were_delayed_on_which_core) {
  const WorkloadOptions work = watched({});
  const watcher::DelayRecord& record = work.watcher->record;
  const card::Coord delayed = world.cores()[0].at, other = world.cores()[1].at;
  record.write(card, delayed, {0x1f, 0x1f, 0});  // as in the device test of tt-metal: 3
  record.write(card, other, {0, 0, 0x1f});       // streams use no semaphore
  play(work);
  EXPECT_EQ(player->programs_run(), 2u);
  EXPECT_EQ(record.feedback(card, delayed), 3u);
  EXPECT_EQ(record.feedback(card, other), 0u);
  EXPECT_GT(player->delays().at(delayed)[0], 0u);
  EXPECT_EQ(truth.count(), 0u) << "kernels without the profiler recorded something";
}

TEST_F(ChipPlayers, ethernet_cores_are_delayed_and_the_next_program_waits_for_them) {
  WorkloadOptions work = watched({{"TT_METAL_WATCHER_DEBUG_DELAY", "0"}});
  play(work);
  const uint64_t without = player->simulated_cycles();
  const watcher::DelayRecord record = *work.watcher->active_ethernet;
  const card::Coord first = world.ethernet()[0].at, second = world.ethernet()[1].at;
  record.write(card, first, {1, 0, 1});
  record.write(card, second, {0, 2, 0});  // ERISC1, which runs nothing
  watcher::Settings longer = work.watcher->settings;
  longer.delay_cycles = 5'000'000;
  WatcherSetup setup = *work.watcher;
  setup.built = watcher::build(longer, {.profiler = false});
  work.watcher = std::make_shared<const WatcherSetup>(setup);
  play(work);
  EXPECT_EQ(record.feedback(card, first), 5u);
  EXPECT_EQ(record.feedback(card, second), 0u);
  EXPECT_EQ(player->delays().at(first), (std::array<uint64_t, 3>{2, 0, 2})) << "one of each kind a program";
  EXPECT_FALSE(player->delays().contains(second));
  EXPECT_GT(player->simulated_cycles(), without + 9'000'000) << "two delays in the first program";
}

TEST_F(ChipPlayers, waypoints_say_where_the_processors_of_a_program_that_hangs_wait) {
  const char* const hangs = "[[op]]\nblocks = 2\nhang = { from = 0, to = 1, slack_cycles = 4000 }\n";
  const WorkloadOptions work = watched({{"TT_METAL_WATCHER_DEBUG_DELAY", "9000"}}, hangs);
  for (const WorldCore& core : world.prepared())
    work.watcher->waypoints_of(core.kind)->write(card, core.at, true);
  const card::Coord from{1, 1}, to{2, 1};  // the first two cores of the grid's first row
  work.watcher->record.write(card, from, {});
  play(work);
  EXPECT_TRUE(player->hung().empty());
  EXPECT_EQ(waypoint(from, 0), "GW");
  EXPECT_EQ(waypoint(from, 1), "W");
  EXPECT_EQ(waypoint(world.cores().back().at, 2), "W") << "a core without a program";
  work.watcher->record.write(card, to, {1, 0, 0});
  play(work);
  ASSERT_FALSE(player->hung().empty()) << "the delay did not strike";
  EXPECT_EQ(waypoint(to, 0), "NSW") << player->hung();
  EXPECT_EQ(waypoint(from, 0), "GW");

  watcher::Settings silent = work.watcher->settings;
  silent.disabled.insert("WAYPOINT");
  EXPECT_FALSE((WatcherSetup{silent, {}, work.watcher->record}).marks_the_way());
}

}  // namespace
}  // namespace ttc::emulation

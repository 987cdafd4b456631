// tt-metal's environment for watcher and debug delays: its grammar, its traps, what is built of it, the record in L1.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tools/watcher/build.hpp"
#include "tools/watcher/record.hpp"
#include "tools/watcher/waypoints.hpp"

namespace ttc::watcher {
namespace {

using Cores = std::vector<LogicalCore>;

Settings settings(Environment e, bool asserts = false) {
  return read_settings(e, asserts);
}
DelayFeature cores(const std::string& text) {
  return settings({{"TT_METAL_READ_DEBUG_DELAY_CORES", text}}).delays[0];
}

TEST(WatcherSettings, cores_are_one_or_a_list_or_a_range) {
  EXPECT_EQ(cores("3,4").workers, (Cores{{3, 4}}));
  EXPECT_EQ(cores("(3,4)").workers, (Cores{{3, 4}}));
  EXPECT_EQ(cores("(3,4),(5,6)").workers, (Cores{{3, 4}, {5, 6}}));
  EXPECT_EQ(cores("(1,2)-(2,3)").workers, (Cores{{1, 2}, {1, 3}, {2, 2}, {2, 3}}));
  EXPECT_TRUE(cores("3,4").enabled);
}

TEST(WatcherSettings, what_the_grammar_makes_of_mistakes) {
  EXPECT_EQ(cores("0,0,1,1").workers, (Cores{{0, 0}})) << "the rest is not read";
  EXPECT_TRUE(cores("(2,2)-(1,1)").workers.empty());
  EXPECT_FALSE(cores("(2,2)-(1,1)").enabled);
  EXPECT_EQ(cores("(0,0),(1,1)-(0,1)").workers, (Cores{{0, 0}, {0, 1}}))
      << "a list with a range is a range from its first core";
  for (const char* wrong : {"", "x", "1", "(1,", "1;2", "(1,2),3,4", "(1,2)-3,4"})
    EXPECT_THROW(cores(wrong), StartError) << wrong;
}

TEST(WatcherSettings, a_class_of_cores_enables_the_feature_and_names_no_core) {
  for (const char* word : {"all", "worker", "dispatch"}) {
    EXPECT_TRUE(cores(word).enabled);
    EXPECT_TRUE(cores(word).workers.empty());
    EXPECT_TRUE(worker_masks(settings({{"TT_METAL_READ_DEBUG_DELAY_CORES", word}}), 0).empty());
  }
}

TEST(WatcherSettings, riscs_and_chips) {
  const auto riscs = [](const char* text) {
    return settings({{"TT_METAL_WRITE_DEBUG_DELAY_RISCVS", text}}).delays[1];
  };
  EXPECT_EQ(riscs("BR").riscs, 1u);
  EXPECT_EQ(riscs("NC+TR1").riscs, 10u);
  EXPECT_EQ(riscs("TR*").riscs, 0x1cu);
  EXPECT_EQ(riscs("ER*").ethernet_riscs, 3u);
  EXPECT_EQ(riscs("ER1").riscs, 0u);
  EXPECT_THROW(riscs("nc"), StartError);
  EXPECT_EQ(settings({}).delays[1].riscs, 0x1fu);
  const auto masks = [](const char* chips, int chip) {
    return worker_masks(settings({{"TT_METAL_ATOMIC_DEBUG_DELAY_CORES", "1,1"},
                                  {"TT_METAL_ATOMIC_DEBUG_DELAY_CHIPS", chips}}),
                        chip);
  };
  EXPECT_EQ(masks("0,2", 2).at({1, 1}), (Masks{0, 0, 0x1f}));
  EXPECT_TRUE(masks("0,2", 1).empty());
  EXPECT_EQ(masks("3,all", 1).size(), 1u);
  EXPECT_THROW(masks("x", 0), StartError);
}

TEST(WatcherSettings, the_watchers_own_interval_is_in_seconds_unless_it_says_ms) {
  EXPECT_EQ(settings({{"TT_METAL_WATCHER", "10"}}).interval_ms, 10000u);
  EXPECT_EQ(settings({{"TT_METAL_WATCHER", "120ms"}}).interval_ms, 120u);
  EXPECT_THROW(settings({{"TT_METAL_WATCHER", "on"}}), StartError);
}

// The guides' own command sets no TT_METAL_WATCHER.
TEST(WatcherSettings,
     a_delay_without_the_watcher_dies_in_a_debug_build_and_delays_nothing_in_a_release_build) {
  const Environment guide{{"TT_METAL_WATCHER_DEBUG_DELAY", "10"}, {"TT_METAL_READ_DEBUG_DELAY_CORES", "0,0"}};
  EXPECT_THROW(settings(guide, true), StartError);
  const Built built = build(settings(guide), {});
  EXPECT_EQ(built.delay_cycles, 10u);
  EXPECT_EQ(built.delays_by(), 0u);
  Environment unsanitised = guide;
  unsanitised["TT_METAL_WATCHER"] = "1";
  EXPECT_EQ(build(settings(unsanitised, true), {.profiler = false}).delays_by(), 10u);
  unsanitised["TT_METAL_WATCHER_DISABLE_NOC_SANITIZE"] = "1";
  EXPECT_THROW(settings(unsanitised, true), StartError);
  EXPECT_EQ(build(settings(unsanitised), {.profiler = false}).delays_by(), 0u);
}

TEST(WatcherBuild, profiler_and_watcher_do_not_fit_together_unless_there_is_more_room) {
  Environment e{{"TT_METAL_WATCHER", "1"}};
  EXPECT_NO_THROW(build(settings({}), {}));
  EXPECT_NO_THROW(build(settings(e), {.profiler = false}));
  EXPECT_THROW(build(settings(e), {}), BuildError);
  e["TT_METAL_WATCHER_NOINLINE"] = "1";
  EXPECT_THROW(build(settings(e), {}), BuildError);
  for (const char* part :
       {"ASSERT", "PAUSE", "RING_BUFFER", "STACK_USAGE", "WAYPOINT", "DISPATCH", "ETH_LINK_STATUS"})
    e[std::string("TT_METAL_WATCHER_DISABLE_") + part] = "1";
  const uint32_t least = build(settings(e), {.brisc_text_bytes = 9000}).brisc_text_bytes;
  EXPECT_THROW(build(settings(e), {.brisc_text_bytes = least - 1}), BuildError);
  EXPECT_NO_THROW(build(settings(e), {.brisc_text_bytes = least}));
  EXPECT_THROW(build(settings({{"TT_METAL_WATCHER", "1"}}), {.brisc_text_bytes = least}), BuildError);
  try {
    build(settings(e), {.brisc_text_bytes = least - 12});
    FAIL();
  } catch (const BuildError& error) {
    EXPECT_NE(std::string(error.what()).find("region `BRISC_CODE' overflowed by 12 bytes"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("TT_THROW"), std::string::npos);
  }
}

TEST(WatcherBuild, a_changed_delay_takes_effect_only_where_the_key_holds_it) {
  const std::string cache = std::filesystem::temp_directory_path() / ("built-" + std::to_string(getpid()));
  const auto delay = [&](const char* cycles, const char* where, bool key_lacks_delay = false) {
    Environment e{{"TT_METAL_WATCHER", "1"}, {"TT_METAL_WATCHER_DEBUG_DELAY", cycles}};
    if (*where) e["TT_METAL_READ_DEBUG_DELAY_CORES"] = where;
    BuildOptions o{.profiler = false, .key_lacks_delay = key_lacks_delay, .cache = cache};
    return build(settings(e), o);
  };
  std::filesystem::remove_all(cache);
  EXPECT_EQ(delay("100", "").delay_cycles, 100u);
  EXPECT_EQ(delay("200", "").delay_cycles, 100u) << "no cores are named: the delay is not in the key";
  EXPECT_TRUE(delay("200", "").from_cache);
  EXPECT_EQ(delay("200", "1,1").delay_cycles, 200u);
  EXPECT_EQ(delay("300", "1,1").delay_cycles, 300u);
  EXPECT_TRUE(delay("300", "2,2").from_cache) << "masks are no part of the key";
  EXPECT_TRUE(delay("300", "all").from_cache);
  EXPECT_EQ(delay("400", "1,1", true).delay_cycles, 400u);
  EXPECT_EQ(delay("500", "1,1", true).delay_cycles, 400u) << "a version whose key lacks the delay";
  for (const auto& file : std::filesystem::directory_iterator(cache))
    EXPECT_EQ(file.path().extension(), ".built") << "what was pending is left";
  std::filesystem::remove_all(cache);
}

TEST(WatcherRecord, ethernet_cores_have_one_too) {
  using Kind = markers::CoreKind;
  const auto at = [](const char* mailbox, const char* arch, Kind kind) {
    return DelayRecord::in(*markers::mailbox_by_name(mailbox), arch, kind)->address();
  };
  EXPECT_EQ(at("M1", "wormhole_b0", Kind::idle_ethernet), 0x2000u + 0x30C);
  EXPECT_EQ(at("M2", "wormhole_b0", Kind::active_ethernet), 0x3E110u);
  EXPECT_EQ(at("M2", "wormhole_b0", Kind::idle_ethernet), 0x23C0u);
  EXPECT_EQ(at("M2", "blackhole", Kind::active_ethernet), 0x4C0u);
  EXPECT_EQ(at("M3", "wormhole_b0", Kind::active_ethernet), 0x3E1A0u);
  EXPECT_EQ(at("M3", "blackhole", Kind::idle_ethernet), 0x550u);
  EXPECT_EQ(at("M4", "blackhole", Kind::active_ethernet), 0x100u + 1368);
  EXPECT_FALSE(DelayRecord::in(*markers::mailbox_by_name("M0"), "wormhole_b0", Kind::active_ethernet));

  const Settings some = settings({{"TT_METAL_WRITE_DEBUG_DELAY_ETH_CORES", "(0,2)-(0,3)"},
                                  {"TT_METAL_READ_DEBUG_DELAY_ETH_CORES", "0,3"},
                                  {"TT_METAL_READ_DEBUG_DELAY_RISCVS", "ER1"}});
  EXPECT_EQ(ethernet_masks(some, 0),
            (std::map<LogicalCore, Masks>{{{0, 2}, {0, 3, 0}}, {{0, 3}, {2, 3, 0}}}));
  EXPECT_TRUE(worker_masks(some, 0).empty());
}

// NOC0 places of Ethernet channels as tt-umd has them.
TEST(WatcherRecord, ethernet_cores_count_by_channel) {
  const auto wormhole = ethernet_channels("wormhole_b0"), blackhole = ethernet_channels("blackhole");
  ASSERT_EQ(wormhole.size(), 16u);
  EXPECT_EQ(wormhole[0], (card::Coord{9, 0}));
  EXPECT_EQ(wormhole[7], (card::Coord{4, 0}));
  EXPECT_EQ(wormhole[9], (card::Coord{1, 6}));
  ASSERT_EQ(blackhole.size(), 14u);
  EXPECT_EQ(blackhole[1], (card::Coord{16, 1}));
  EXPECT_TRUE(ethernet_channels("quasar").empty());
  for (const auto& [arch, channels] : {std::pair{"wormhole_b0", wormhole}, {"blackhole", blackhole}})
    for (const card::Coord at : channels)
      EXPECT_EQ(card::arch_by_name(arch)->kind_at(at), card::TileKind::ethernet);
}

TEST(WatcherRecord, lies_where_the_mailbox_has_it_and_is_bytes_until_2025) {
  const auto at = [](const char* mailbox, const char* arch) {
    return DelayRecord::in(*markers::mailbox_by_name(mailbox), arch)->address();
  };
  EXPECT_EQ(at("M0", "wormhole_b0"), 0x15Cu);
  EXPECT_EQ(at("M1", "wormhole_b0"), 0x31Cu);
  EXPECT_EQ(at("M1", "blackhole"), 0x36Cu);
  EXPECT_EQ(at("M2", "blackhole"), 0x420u);
  EXPECT_EQ(at("M3", "wormhole_b0"), 0x460u);
  EXPECT_EQ(at("M4", "wormhole_b0"), 0x568u);
  EXPECT_EQ(at("M4", "blackhole"), 0x5B8u);
  EXPECT_FALSE(DelayRecord::in(*markers::mailbox_by_name("M1-early"), "blackhole"));

  card::EmulatedCardOptions o;
  o.name = "record-test";
  o.virtual_time = true;
  card::EmulatedCard card(o);
  for (const char* mailbox : {"M0", "M4"}) {
    const DelayRecord record = *DelayRecord::in(*markers::mailbox_by_name(mailbox), "wormhole_b0");
    record.write(card, {1, 1}, {1, 2, 0x1f});
    EXPECT_EQ(record.masks(card, {1, 1}), (Masks{1, 2, 0x1f}));
    EXPECT_EQ(record.feedback(card, {1, 1}), 0u);
    record.add_feedback(card, {1, 1}, 1);
    record.add_feedback(card, {1, 1}, 2);
    EXPECT_EQ(record.feedback(card, {1, 1}), 3u);
    EXPECT_EQ(record.masks(card, {1, 1}), (Masks{1, 2, 0x1f}));
    EXPECT_EQ(record.masks(card, {1, 2}), Masks{});
  }
}

TEST(WatcherWaypoints, stand_behind_the_word_that_says_whether_the_watcher_is_on) {
  card::EmulatedCardOptions o;
  o.name = "waypoint-test";
  o.virtual_time = true;
  card::EmulatedCard card(o);
  const markers::Mailbox& mailbox = *markers::mailbox_by_name("M4");
  const auto waypoints = Waypoints::in(mailbox, "wormhole_b0", markers::CoreKind::tensix);
  ASSERT_TRUE(waypoints);
  const uint32_t block = 0x10 + 1232;
  waypoints->write(card, {1, 1}, true);
  waypoints->pass(card, {1, 1}, 3, "CWFW");
  waypoints->pass(card, {1, 1}, 4, "W");
  EXPECT_EQ(card.load({1, 1}, block), 3u);
  EXPECT_EQ(card.load({1, 1}, block + 4 + 12), 0x57465743u);
  EXPECT_EQ(card.load({1, 1}, block + 4 + 16), 0x57u);
  waypoints->write(card, {1, 1}, false);
  EXPECT_EQ(card.load({1, 1}, block), 2u);
  EXPECT_EQ(card.load({1, 1}, block + 4 + 12), 0u);
  // The delays' record is 132 bytes after the first of them.
  EXPECT_EQ(DelayRecord::in(mailbox, "wormhole_b0")->address(), block + 4 + 132);
  EXPECT_FALSE(Waypoints::in(*markers::mailbox_by_name("M1"), "wormhole_b0", markers::CoreKind::tensix));
}

}  // namespace
}  // namespace ttc::watcher

// Each trigger on chunks made by hand: what sets it off, what does not, and its text.
#include "collector/record/triggers.hpp"

#include <gtest/gtest.h>

#include "tests/support/capture_blocks.hpp"
#include "tests/support/frames.hpp"

namespace ttc::collect {
namespace {

constexpr const char* kNote = "MATMUL,/kernels/matmul.cpp,42,KERNEL_PROFILER";
constexpr uint16_t kMatmul = markers::hash16("MATMUL,/kernels/matmul.cpp,42,KERNEL_PROFILER");
constexpr uint16_t kOther = 777;
constexpr uint64_t kMs = 1'000'000;

TriggerRules rules_of(std::initializer_list<const char*> texts) {
  TriggerRules rules;
  for (const char* text : texts) EXPECT_EQ(add_trigger(text, rules), "") << text;
  return rules;
}

// A launch from `start` on with one zone of its own.
std::vector<uint32_t> launch(uint64_t start, uint16_t zone, uint64_t cycles, bool ends = true,
                             uint32_t risc = 3) {
  // Generation and tile are those of words_chunk().
  const auto identity = markers::layout_by_generation(4)->format.identity(risc, 3, 0);
  test::Words words = test::frame_words(identity, 7, {100, start, start + cycles + 40},
                                        {101, start + 10, start + cycles + 30});
  test::put_marker(words, device::kZoneStart, zone, start + 20);
  if (ends) test::put_marker(words, device::kZoneEnd, zone, start + 20 + cycles);
  return words;
}

Chunk launch_chunk(uint64_t start, uint16_t zone, uint64_t cycles, uint64_t read_ns = 1000,
                   bool ends = true) {
  return words_chunk(1, 2, 0, {{3, 0, launch(start, zone, cycles, ends)}}, read_ns);
}
Chunk names() {
  return fact_chunk(shm::ChunkKind::names, 0, std::string(kNote) + "\n");
}
Chunk session(unsigned mhz) {
  return fact_chunk(shm::ChunkKind::session, 0, "{\"aiclk_mhz\":" + std::to_string(mhz) + "}");
}
Chunk loss(shm::LossCause cause, uint32_t flags = 0) {
  shm::LossRecord r;
  r.core_x = 1, r.core_y = 2, r.risc = 3, r.cause = cause;
  Chunk chunk = fact_chunk(shm::ChunkKind::loss, 0, std::string(reinterpret_cast<const char*>(&r), sizeof r));
  reinterpret_cast<shm::ChunkHeader*>(chunk.data())->flags = flags;
  return chunk;
}

TEST(Triggers, what_is_typed_is_a_rule_or_refused_by_a_sentence) {
  const TriggerRules r =
      rules_of({"zone>100us", "zone:A>2ms", "zone:B", "loss", "silent>2s", "exit", "reset"});
  ASSERT_EQ(r.long_zones.size(), 2u);
  EXPECT_EQ(r.long_zones[0].zone, "");
  EXPECT_EQ(r.long_zones[0].ns, 100'000u);
  EXPECT_EQ(r.long_zones[1].zone, "A");
  EXPECT_EQ(r.long_zones[1].ns, 2 * kMs);
  EXPECT_EQ(r.zones, std::vector<std::string>{"B"});
  EXPECT_EQ(r.silent_ns, 2000 * kMs);
  EXPECT_TRUE(r.loss && r.exit && r.reset && r.any());
  for (const char* text : {"", "zone", "zone:", "zone>", "zone>5", "zone>-1us", "zone>1e300s", "silent",
                           "loss>1s", "exit>1s", "reset>1s", "zone>nan us", "fire"}) {
    TriggerRules none;
    EXPECT_NE(add_trigger(text, none).find("is no trigger"), std::string::npos) << text;
    EXPECT_FALSE(none.any()) << text;
  }
}

TEST(Triggers, a_named_zone_seen) {
  TriggerWatch watch(rules_of({"zone:MATMUL"}));
  EXPECT_FALSE(watch.push(launch_chunk(1000, kMatmul, 50))) << "its name is not known yet";
  EXPECT_FALSE(watch.push(names()));
  EXPECT_FALSE(watch.push(launch_chunk(2000, kOther, 50)));
  EXPECT_EQ(watch.push(launch_chunk(3000, kMatmul, 50)), "zone MATMUL on 1-2 RISC 3");
}

TEST(Triggers, names_of_the_workload_before_are_forgotten) {
  TriggerWatch watch(rules_of({"zone:MATMUL"}));
  watch.push(names());
  watch.push(fact_chunk(shm::ChunkKind::session, 0, "{\"first_epoch\":3}"));
  EXPECT_FALSE(watch.push(launch_chunk(1000, kMatmul, 50)));
  watch.push(names());
  EXPECT_TRUE(watch.push(launch_chunk(2000, kMatmul, 50)));
}

TEST(Triggers, an_unnamed_zone_can_be_asked_for_by_its_number) {
  TriggerWatch watch(rules_of({"zone:zone 777"}));
  EXPECT_TRUE(watch.push(launch_chunk(1000, kOther, 50)));
}

TEST(Triggers, a_zone_that_took_too_long_by_the_cards_clock) {
  TriggerWatch watch(rules_of({"zone:MATMUL>1us"}));
  watch.push(names());
  watch.push(session(500));
  EXPECT_FALSE(watch.push(launch_chunk(1000, kMatmul, 500))) << "1 us is not above 1 us";
  EXPECT_FALSE(watch.push(launch_chunk(10'000, kOther, 5000)));
  EXPECT_EQ(watch.push(launch_chunk(20'000, kMatmul, 501)), "zone MATMUL on 1-2 RISC 3 took 1.002 us");
}

TEST(Triggers, any_zone_that_took_too_long) {
  TriggerWatch watch(rules_of({"zone>1us"}));
  EXPECT_FALSE(watch.push(launch_chunk(1000, kOther, 900)));
  EXPECT_TRUE(watch.push(launch_chunk(10'000, kOther, 1100)));
}

// A zone whose end did not come is not ended by that of a later launch.
TEST(Triggers, how_long_a_zone_took_across_a_gap_is_not_known) {
  const auto rest = [](uint64_t start) {  // the end of a zone, and nothing that begins it
    auto words = launch(start, kOther, 10, false);
    words.push_back(device::marker_high(device::kZoneEnd, kMatmul, 0));
    words.push_back(static_cast<uint32_t>(start + 25));
    return words_chunk(1, 2, 0, {{3, 0, words}});
  };
  for (const bool reported : {false, true}) {
    TriggerWatch lapped(rules_of({"zone:MATMUL>1us"}));
    lapped.push(names());
    EXPECT_FALSE(lapped.push(launch_chunk(1000, kMatmul, 10, 1000, false)));
    if (reported) lapped.missed();
    EXPECT_NE(lapped.push(rest(900'000)).has_value(), reported);
    TriggerWatch lost(rules_of({"zone:MATMUL>1us"}));
    lost.push(names());
    EXPECT_FALSE(lost.push(launch_chunk(1000, kMatmul, 10, 1000, false)));
    if (reported) lost.push(loss(shm::LossCause::dropped_on_card));
    EXPECT_NE(lost.push(rest(900'000)).has_value(), reported);
  }
}

TEST(Triggers, a_loss_but_not_one_of_before) {
  TriggerWatch watch(rules_of({"loss"}));
  EXPECT_FALSE(watch.push(loss(shm::LossCause::dropped_on_card, shm::kStanding)));
  EXPECT_EQ(watch.push(loss(shm::LossCause::dropped_on_card)), "loss: dropped on card on 1-2 RISC 3");
  TriggerWatch other(rules_of({"reset"}));
  EXPECT_FALSE(other.push(loss(shm::LossCause::dropped_on_card)));
}

TEST(Triggers, a_lane_that_fell_silent_is_told_once_until_it_speaks_again) {
  TriggerWatch watch(rules_of({"silent>2s"}));
  EXPECT_FALSE(watch.at(1'000'000 * kMs)) << "a lane without any marker is not silent";
  watch.push(launch_chunk(1000, kOther, 10, 10'000 * kMs));
  EXPECT_FALSE(watch.at(11'999 * kMs));
  EXPECT_EQ(watch.at(12'000 * kMs), "no marker from 1-2 RISC 3 for 2000000.000 us");
  EXPECT_FALSE(watch.at(13'000 * kMs));
  watch.push(launch_chunk(9000, kOther, 10, 14'000 * kMs));
  EXPECT_FALSE(watch.at(15'000 * kMs));
  EXPECT_TRUE(watch.at(16'000 * kMs));
}

TEST(Triggers, another_lane_that_speaks_does_not_hide_a_silent_one) {
  TriggerWatch watch(rules_of({"silent>2s"}));
  watch.push(words_chunk(1, 2, 0, {{0, 0, launch(1000, kOther, 10)}, {1, 0, launch(1000, kOther, 10)}}, kMs));
  watch.push(words_chunk(1, 2, 1, {{0, 0, launch(5000, kOther, 10)}}, 2000 * kMs));
  EXPECT_EQ(watch.at(2001 * kMs), "no marker from 1-2 RISC 1 for 2000000.000 us");
  EXPECT_FALSE(watch.at(2002 * kMs));
}

TEST(Triggers, a_reset_by_its_loss_or_by_how_the_run_ended) {
  TriggerWatch watch(rules_of({"reset"}));
  EXPECT_FALSE(watch.push(fact_chunk(shm::ChunkKind::end, 0, "stopped by a signal")));
  EXPECT_EQ(watch.push(loss(shm::LossCause::card_gone)), "the card was reset or went away");
  EXPECT_EQ(watch.push(fact_chunk(shm::ChunkKind::end, 0, "the card went away")), "the card went away");
  TriggerWatch other(rules_of({"loss"}));
  EXPECT_FALSE(other.push(fact_chunk(shm::ChunkKind::end, 0, "the card went away")));
}

TEST(Triggers, words_that_are_no_frames_set_nothing_off) {
  TriggerWatch watch(rules_of({"zone>1ns", "zone:MATMUL"}));
  watch.push(names());
  std::mt19937_64 dice(9);
  for (int i = 0; i < 200; ++i) {
    std::vector<uint32_t> words(dice() % 60);
    for (uint32_t& w : words) w = static_cast<uint32_t>(dice()) & 0x7fffffff;  // no valid bit
    EXPECT_FALSE(watch.push(words_chunk(1, 2, 0, {{static_cast<uint8_t>(i % 8), 0, words}})));
  }
}

}  // namespace
}  // namespace ttc::collect

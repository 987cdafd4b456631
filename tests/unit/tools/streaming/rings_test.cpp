// The rings and records that other profilers leave in L1, read back by a decoder that shares nothing with what wrote them.
#include "tools/streaming/rings.hpp"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "tools/streaming/real_time.hpp"

namespace ttc::streaming {
namespace {

constexpr card::Coord kTile{1, 2};
constexpr uint32_t kControl = 0xB50;

class StreamingRings : public testing::Test {
 protected:
  StreamingRings() {
    card::EmulatedCardOptions o;
    o.name = "rings-test";
    o.arch = "blackhole";
    o.board = "p150";
    o.virtual_time = true;
    card = std::make_unique<card::EmulatedCard>(o);
  }
  uint32_t control(uint32_t word) const { return card->load(kTile, kControl + 4 * word); }
  uint32_t ring(uint32_t risc, uint32_t at) const {
    return card->load(kTile, kControl + 256 + risc * 2048 + 4 * (at % 512));
  }
  using Zone = std::tuple<uint32_t, uint64_t, uint64_t>;  // id, begin, end
  // What is between head and tail of a lane whose words were read up to `from` before.
  std::vector<Zone> read(uint32_t risc, uint32_t from) {
    std::vector<Zone> zones;
    for (uint32_t at = from; at != control(24 + risc);) {
      const uint32_t w = ring(risc, at), low = w & 0x7ffffff;
      const auto word = [&](uint32_t i) { return uint64_t{ring(risc, at + i)}; };
      switch (w >> 27) {
        case 2:
          cursor = high << 32 | word(1);
          zones.emplace_back(low, cursor - word(2), cursor);
          at += 3;
          break;
        case 3:
          cursor += word(1) >> 16;
          zones.emplace_back(low, cursor - (word(1) & 0xffff), cursor);
          at += 2;
          break;
        case 4:
          zones.emplace_back(low, (word(1) | word(2) << 32) - (word(3) | word(4) << 32),
                             word(1) | word(2) << 32);
          at += 5;
          break;
        case 8:
          program = low;
          at += 1;
          break;
        case 9:
          high = low;
          at += 1;
          break;
        default:
          ADD_FAILURE() << "word " << std::hex << w << " at " << at;
          return zones;
      }
    }
    return zones;
  }

  std::unique_ptr<card::EmulatedCard> card;
  uint64_t high = 0, cursor = 0;
  uint32_t program = 0;
};

TEST_F(StreamingRings, zones_come_back_as_they_were_over_wraps_and_long_ones) {
  Rings rings(*card, kTile, kControl, Relay::quick);
  EXPECT_EQ(control(48), 1u);
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  uint64_t now = (uint64_t{5} << 32) - 3'000'000;
  uint32_t from = 0;
  for (uint32_t launch = 1; launch < 60; ++launch) {
    rings.launch(2, launch);
    std::vector<Zone> wrote;
    for (int z = 0; z < 30; ++z) {
      constexpr uint64_t kMost[] = {100, 60'000, 70'000, uint64_t{5} << 30};
      const uint64_t begin = now + random() % 300;
      now = begin + random() % kMost[random() % 64 < 60 ? random() % 3 : 3];
      wrote.emplace_back(static_cast<uint32_t>(random() & 0x3ffffff), begin, now);
      rings.zone(2, std::get<0>(wrote.back()), begin, now);
    }
    rings.kernel_end(2);
    ASSERT_EQ(read(2, from), wrote) << "seed " << seed << ", launch " << launch;
    EXPECT_EQ(program, launch);
    EXPECT_EQ(control(23), launch);
    EXPECT_EQ(control(16 + 2), static_cast<uint32_t>(now >> 32));
    EXPECT_LE(control(24 + 2) - control(2), 512u);
    from = control(24 + 2);
  }
  EXPECT_EQ(rings.stalls(), 0u);
  EXPECT_GT(from, 4 * 512u) << "the ring did not wrap";
  rings.close();
  EXPECT_EQ(control(48), 0u);
  EXPECT_EQ(control(2), control(26));
}

TEST_F(StreamingRings, a_tail_is_published_every_16_words_and_at_the_end_of_a_kernel) {
  Rings rings(*card, kTile, kControl, Relay::quick);
  rings.launch(0, 7);
  EXPECT_EQ(control(24), 1u);
  rings.zone(0, 1, 1000, 1100);  // with the timer's high word, which is published at once
  const uint32_t first = control(24);
  EXPECT_EQ(first, 2u);
  rings.zone(0, 1, 1200, 1300);
  EXPECT_EQ(control(24), first) << "published early";
  rings.kernel_end(0);
  EXPECT_EQ(control(24), first + 5);
}

TEST_F(StreamingRings, a_producer_waits_for_a_slow_relay_and_its_stall_is_a_zone) {
  Rings rings(*card, kTile, kControl, Relay::slow);
  rings.launch(1, 3);
  uint64_t now = 1000;
  uint32_t zones = 0;
  for (; rings.stalls() == 0; ++zones, now += 100'000) {
    ASSERT_LE(control(25) - control(1), 512u);
    rings.zone(1, 5, now, now + 70'000);
  }
  EXPECT_EQ(control(50 + 1), 1u);
  EXPECT_EQ(zones, 169u) << "2 words of the launch and 168 zones of 3 are more than 503: the next one waits";
  rings.kernel_end(1);
  const std::vector<Zone> after = read(1, control(1));
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(std::get<0>(after[0]), 0x7FFC000u);
  EXPECT_EQ(std::get<0>(after[1]), 5u);
}

TEST_F(StreamingRings, without_a_relay_nothing_is_armed_and_words_are_overwritten) {
  Rings rings(*card, kTile, kControl, Relay::none);
  EXPECT_EQ(control(48), 0u);
  rings.launch(4, 3);
  for (uint64_t z = 0; z < 1000; ++z) rings.zone(4, 5, z * 100'000, z * 100'000 + 70'000);
  rings.kernel_end(4);
  EXPECT_EQ(control(4), 0u);
  EXPECT_GT(control(28), 3000u);
  EXPECT_EQ(control(54), static_cast<uint32_t>(rings.stalls()));
  EXPECT_GT(rings.stalls(), 800u);
}

TEST_F(StreamingRings, real_time_records_stand_in_their_slots_before_the_index_says_so) {
  RealTime real_time(*card, kTile, 1'000'000'000);
  const auto word = [&](uint32_t offset) { return card->load(kTile, kRealTimeAddress + offset); };
  real_time.program(7, (uint64_t{3} << 32) + 5, (uint64_t{3} << 32) + 9);
  EXPECT_EQ(word(0), 2u) << "a sync record comes first";
  EXPECT_EQ(word(64 + 12), 0xffffffffu);
  const uint32_t slot = 64 + 64;
  EXPECT_EQ((std::array{word(slot), word(slot + 4), word(slot + 8), word(slot + 12), word(slot + 16),
                        word(slot + 20)}),
            (std::array{3u, 5u, 7u, 0u, 3u, 9u}));
  for (uint32_t i = 0; i < 5000; ++i) real_time.program(8, 1000, 2000);
  EXPECT_EQ(word(0), real_time.written());
  EXPECT_EQ(word(4), word(0));
  EXPECT_EQ(word(8), 0u);
  real_time.close();
  EXPECT_EQ(word(8), 1u);
}

}  // namespace
}  // namespace ttc::streaming

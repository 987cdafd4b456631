// Control blocks of the streaming profiler's resident cores: what is one, and one of the emulation.
#include "tools/other_profilers/residents.hpp"

#include <gtest/gtest.h>

#include "tools/streaming/resident.hpp"

namespace ttc::other_profilers {
namespace {

using Words = std::vector<uint32_t>;
using State = ResidentControl::State;

Words block(uint32_t done, uint32_t heartbeat, uint32_t go, uint32_t stop) {
  Words words(16, 0);
  words[0] = done, words[1] = heartbeat, words[2] = go, words[3] = 7, words[4] = 5, words[5] = 1,
  words[6] = stop;
  return words;
}

TEST(Residents, states_follow_from_the_words) {
  EXPECT_EQ(read_resident(block(0, 5, 0, 0))->state, State::waiting);
  EXPECT_EQ(read_resident(block(0, 5, 1, 0))->state, State::running);
  EXPECT_EQ(read_resident(block(0, 5, 1, 1))->state, State::stopping);
  EXPECT_EQ(read_resident(block(0xD09D0000, 5, 1, 1))->state, State::draining);
  EXPECT_EQ(read_resident(block(0xD09E0000, 5, 1, 1))->state, State::done);
  EXPECT_EQ(read_resident(block(0, 5, 1, 0))->dropped, 1u);
}

TEST(Residents, what_is_no_control_block) {
  EXPECT_FALSE(read_resident(Words(16, 0))) << "a core that has not begun";
  EXPECT_FALSE(read_resident(block(0, 1, 1, 0)));
  EXPECT_FALSE(read_resident(block(0, 5, 2, 0)));
  EXPECT_FALSE(read_resident(block(0, 5, 1, 7)));
  EXPECT_FALSE(read_resident(block(9, 5, 1, 1)));
  EXPECT_FALSE(read_resident(block(0xD09E0000, 5, 1, 0))) << "done without having been stopped";
  Words more = block(0, 5, 1, 0);
  more[9] = 1;
  EXPECT_FALSE(read_resident(more));
  Words apart = block(0, 5, 1, 0);
  apart[3] = 0;
  EXPECT_FALSE(read_resident(apart)) << "more taken than given";
  EXPECT_FALSE(read_resident(std::span<const uint32_t>(block(0, 5, 1, 0)).first(15)));
}

TEST(Residents, a_block_is_found_where_heartbeats_go_on) {
  const auto image = [](uint32_t beats, uint32_t done) {
    Words l1(64, 0x1234);
    const Words alive = block(0, beats, 1, 0), over = block(done, 9, 1, done != 0), still = block(0, 3, 1, 0);
    std::copy(alive.begin(), alive.end(), l1.begin() + 16);
    std::copy(over.begin(), over.end(), l1.begin() + 32);
    std::copy(still.begin(), still.end(), l1.begin() + 48);
    return l1;
  };
  EXPECT_EQ(find_residents(image(5, 0xD09E0000), image(8, 0xD09E0000)), (Words{64, 128}));
  EXPECT_EQ(find_residents(image(5, 0), image(8, 0)), (Words{64}));
  EXPECT_EQ(find_residents(image(0xffffffff, 0), image(2, 0)), (Words{64})) << "it wraps";
  EXPECT_EQ(find_residents(image(8, 0), image(5, 0)), (Words{})) << "it counts backwards";
}

TEST(Residents, the_emulations_block_is_read_as_it_is_meant) {
  card::EmulatedCardOptions o;
  o.name = "resident-test";
  o.arch = "blackhole", o.board = "p150";
  o.virtual_time = true;
  card::EmulatedCard card(o);
  const card::Coord tile{1, 1};
  streaming::Resident resident(card, tile, 1'000'000'000);
  const auto words = [&] {
    Words w;
    for (uint32_t i = 0; i < 16; ++i) w.push_back(card.load(tile, resident.address() + 4 * i));
    return w;
  };
  EXPECT_GE(resident.address(), card.arch().ethernet_l1_bytes - kResidentSearchBytes);
  EXPECT_EQ(resident.address() % kResidentBytes, 0u);
  EXPECT_FALSE(read_resident(words())) << "no heartbeat yet";
  resident.beat(card.clock() + 100'000'000);
  ResidentCore watched;
  watched.look(*read_resident(words()), 1'000'000'000);
  resident.beat(card.clock() + 200'000'000);
  watched.look(*read_resident(words()), 1'100'000'000);
  EXPECT_NEAR(watched.beats_a_second(), 160'000, 100);
  EXPECT_EQ(watched.silent_ns(), 0u);
  EXPECT_EQ(watched.now().sync_tail, 20u);
  watched.look(*read_resident(words()), 1'150'000'000);
  EXPECT_EQ(watched.silent_ns(), 50'000'000u);
  const uint32_t beats = watched.now().heartbeat;
  resident.beat(card.clock() + 100'000'000);
  resident.beat(card.clock() + 150'000'000);
  EXPECT_EQ(read_resident(words())->heartbeat, beats + 8000) << "the clock began again";
  resident.close();
  EXPECT_EQ(read_resident(words())->state, State::done);
}

}  // namespace
}  // namespace ttc::other_profilers

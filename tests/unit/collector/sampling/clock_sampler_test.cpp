// The sampler against a card whose tiles count from chosen origins: domains, spread, roll-overs, round trips,
// and what a live reader gets of it.
#include "collector/sampling/clock_sampler.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "collector/sampling/clock_publisher.hpp"
#include "driver_iface/allow_list.hpp"
#include "shm/reader.hpp"
#include "tests/support/fake_card.hpp"
#include "ttcollect/host_time.hpp"
#include "ttcollect/live_clock.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Coord;
using card::Window;

// Counts nanoseconds of CLOCK_MONOTONIC_RAW at 1 GHz, each tile from its own origin.
class TileCard : public card::FakeCard {
 public:
  Access aim(Window window, Coord tile, uint64_t address) override {
    place(window, tile, address);
    return dead.contains(tile) ? Access::suspect : Access::ok;
  }
  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override {
    ++transactions_.round_trips;
    const uint64_t now = count(tile_of(window));
    const uint64_t address = card::kRegisterWindow + offset;
    EXPECT_TRUE(address == card::kWallClockLow || address == card::kWallClockHigh)
        << "outside of the safe order";
    out[0] = static_cast<uint32_t>(address == card::kWallClockLow ? now : now >> 32);
    return Access::ok;
  }
  card::Telemetry telemetry() override { return {aiclk_mhz, {}, {}}; }

  std::optional<uint32_t> aiclk_mhz;
  uint64_t count(Coord tile) const { return raw_now_ns() + base + origin.at(tile); }

  uint64_t base = 0;
  std::map<Coord, uint64_t> origin;
  std::map<Coord, bool> dead;
};

constexpr size_t kSegments = 40;
constexpr uint64_t kSamplePeriod = 5'000'000;  // 200 samples a second, so that the test is short

TEST(ClockSampler, tiles_of_one_origin_are_one_domain_others_get_their_own) {
  TileCard card;
  card.origin = {
      {{1, 1}, 0},         {{1, 2}, 0}, {{2, 1}, 7'000'000'000}, {{2, 2}, 0}, {{3, 1}, 7'000'000'000},
      {{3, 2}, 90'000'000}};
  ClockSampler sampler(card, {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2}}, {});
  ASSERT_EQ(sampler.finish_first_round(), Access::ok);
  EXPECT_EQ(sampler.domains(), 3u);
  EXPECT_EQ(
      sampler.take_domains(),
      R"({"domains":[{"domain":0,"reference":[1,1]},{"domain":1,"reference":[2,1]},{"domain":2,"reference":[3,2]}],)"
      R"("tiles":[[2,1,1],[3,1,1],[3,2,2]]})");
  EXPECT_EQ(sampler.take_domains(), "");
  // Looking again narrows what tiles may differ by; a tile that is reset moves to another domain.
  const uint64_t before = sampler.head(0).tile_spread;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sampler.sample(), Access::ok);
  EXPECT_LE(sampler.head(0).tile_spread, before);
  card.origin[{1, 2}] = 7'000'000'000;
  for (int i = 0; i < 6; ++i) ASSERT_EQ(sampler.sample(), Access::ok);
  EXPECT_NE(sampler.take_domains().find("[1,2,1]"), std::string::npos);
}

TEST(ClockSampler, a_tile_that_does_not_answer_is_no_reason_to_stop) {
  TileCard card;
  card.origin = {{{1, 1}, 0}, {{1, 2}, 0}};
  card.dead[{1, 2}] = true;
  ClockSampler sampler(card, {{1, 1}, {1, 2}}, {});
  EXPECT_EQ(sampler.head(0).tile_spread, kNoBound);
  EXPECT_EQ(sampler.finish_first_round(), Access::ok);
  EXPECT_EQ(sampler.sample(), Access::ok);
  EXPECT_EQ(sampler.domains(), 1u);
  EXPECT_NE(sampler.take_domains().find("[1,2,255]"), std::string::npos);  // nothing is known of it
  EXPECT_EQ(sampler.figures().stats.samples, 1u);
}

TEST(ClockSampler, stays_within_its_round_trips) {
  for (const double rate : {2.0, 16.0, 32.0}) {
    TileCard card;
    std::vector<Coord> tiles;
    for (uint8_t y = 1; y <= 9; ++y) {  // each from its own origin: as many domains as there may be
      tiles.push_back({1, y});
      card.origin[{1, y}] = y * uint64_t{1'000'000'000};
    }
    ClockSampler sampler(card, tiles, {rate, 8});
    sampler.finish_first_round();
    const uint64_t before = sampler.figures().round_trips;
    for (int i = 0; i < 10; ++i) sampler.sample();
    EXPECT_EQ(sampler.domains(), ClockSampler::kMostDomains);
    EXPECT_LE(static_cast<double>(sampler.figures().round_trips - before) / 10 * rate,
              ClockSampler::kMostRoundTrips)
        << rate;
  }
}

// Short runs are over before every tile had its turn: at the end those that are left are compared, or only
// the reference tile's markers would have times.
TEST(ClockPublisher, a_card_that_goes_away_early_is_asked_for_its_other_tiles_first) {
  TileCard card;
  card.base = uint64_t{1} << 40;
  std::vector<card::Coord> tiles;
  for (uint8_t y = 1; y < 40; ++y) {
    card.origin[{1, y}] = 0;
    tiles.push_back({1, y});
  }
  const std::string name = "clock-short-" + std::to_string(getpid());
  {
    shm::SegmentOptions small;
    small.ring_bytes = 1 << 20;
    shm::SegmentWriter segment(name, "test", 1, small);
    Publisher publisher(segment, 0, 4);
    ClockSampler sampler(card, tiles, {200, 4});
    ClockPublisher clock(card, sampler, publisher, segment);
    for (int polls = 0; polls < 3;) {
      const uint64_t now = monotonic_now_ns();
      if (now < clock.next_due_ns()) continue;
      ASSERT_EQ(clock.poll(now), Access::ok);
      ++polls;
    }
    ASSERT_FALSE(sampler.first_round_over());
    clock.close(true, false);
    shm::Reader reader(name, shm::StartAt::oldest);
    std::vector<uint64_t> words;
    ASSERT_TRUE(reader.clock(words));
    const auto live = live_clock(words);
    ASSERT_EQ(live.size(), 1u);
    EXPECT_NE(live.front().head().tile_spread, kNoBound);
  }
  shm::remove_segment(name);
}

// Publishes for real and follows the model live: every count the card showed lies where its segment says.
TEST(ClockPublisher, live_readers_convert_what_the_card_shows) {
  TileCard card;
  card.base =
      (uint64_t{1} << 32) * 1000 - raw_now_ns() % (uint64_t{1} << 32) - 200'000'000;  // rolls over on the way
  card.origin = {{{1, 1}, 0}, {{1, 2}, 0}};
  const std::string name = "clock-test-" + std::to_string(getpid());
  {
    shm::SegmentOptions small;
    small.ring_bytes = 1 << 20;
    shm::SegmentWriter segment(name, "test", 1, small);
    Publisher publisher(segment, 0, 4);
    ClockSampler sampler(card, {{1, 1}, {1, 2}}, {200, 4});
    ClockPublisher clock(card, sampler, publisher, segment);
    ASSERT_EQ(sampler.period_ns(), kSamplePeriod);
    shm::Reader reader(name, shm::StartAt::oldest);
    std::vector<uint64_t> words;
    EXPECT_FALSE(reader.clock(words));
    std::vector<std::pair<uint64_t, uint64_t>> shown;  // count, RAW ns
    ClockMap from_chunks;
    const auto take_chunks = [&] {
      for (std::vector<uint64_t> chunk; reader.next(chunk, 0) == shm::Reader::Next::chunk;)
        if (shm::header_of(chunk).kind == shm::ChunkKind::clock) {
          ASSERT_EQ(check_clock_body(shm::body_of(chunk)), "");
          from_chunks.update(shm::body_of(chunk));
        }
    };
    const auto rolled_over = [&] { return shown.front().first >> 32 != shown.back().first >> 32; };
    // Samples whose reads took long are left out, more of them the slower the machine is. Where none is taken
    // any more the test runs into ctest's limit.
    while (from_chunks.segments().size() <= kSegments || !rolled_over()) {
      const uint64_t now = monotonic_now_ns();
      if (now < clock.next_due_ns()) continue;
      ASSERT_EQ(clock.poll(now), Access::ok);
      const uint64_t raw = raw_now_ns();
      shown.emplace_back(raw + card.base, raw);
      ASSERT_TRUE(reader.clock(words));
      const auto maps = live_clock(words);
      ASSERT_EQ(maps.size(), 1u);
      take_chunks();
    }
    clock.close(true, true);
    ASSERT_TRUE(reader.clock(words));
    const auto live = live_clock(words);
    ASSERT_EQ(live.size(), 1u);
    take_chunks();
    size_t bounded = 0;
    for (const auto& [count, raw] : shown) {
      const HostTime truth = raw * kHostTicksPerNs;
      const auto a = from_chunks.at(count & ((uint64_t{1} << 44) - 1), truth + 160'000'000);
      if (a.quality.kind == BoundKind::none) continue;
      ++bounded;
      EXPECT_LE(static_cast<uint64_t>(std::abs(static_cast<int64_t>(a.host - truth))), a.quality.bound + 32);
      const auto b = live.front().at(count & ((uint64_t{1} << 44) - 1), truth + 160'000'000);
      if (b.quality.final) {
        EXPECT_EQ(a.host, b.host);
      }
    }
    EXPECT_EQ(bounded, shown.size());
    segment.end();
  }
  shm::remove_segment(name);
}

// A told change of AICLK brings the next samples sooner, and then the period is what it was.
TEST(ClockPublisher, another_aiclk_is_looked_into_sooner) {
  TileCard card;
  card.origin = {{{1, 1}, 0}};
  card.aiclk_mhz = 1000;
  const std::string name = "clock-hint-" + std::to_string(getpid());
  {
    shm::SegmentOptions small;
    small.ring_bytes = 1 << 20;
    shm::SegmentWriter segment(name, "test", 1, small);
    Publisher publisher(segment, 0, 4);
    ClockSampler sampler(card, {{1, 1}}, {16, 1});
    ClockPublisher clock(card, sampler, publisher, segment);
    const uint64_t period = sampler.period_ns();
    uint64_t now = clock.next_due_ns();
    const auto next_after = [&] {
      EXPECT_EQ(clock.poll(now), Access::ok);
      return clock.next_due_ns() - std::exchange(now, clock.next_due_ns());
    };
    for (int i = 0; i < 8; ++i) next_after();  // the first telling is a change too
    EXPECT_GT(next_after(), period / 2);
    card.aiclk_mhz = 500;
    unsigned early = 0;
    for (int i = 0; i < 12; ++i) early += next_after() <= period / 4;
    EXPECT_EQ(early, 4u);
    segment.end();
  }
  shm::remove_segment(name);
}

TEST(LiveClock, foreign_words_end_the_list) {
  EXPECT_TRUE(live_clock({}).empty());
  EXPECT_TRUE(live_clock(std::vector<uint64_t>{~uint64_t{0}, 1, 2}).empty());
  EXPECT_TRUE(live_clock(std::vector<uint64_t>{8, 1}).empty());
  EXPECT_TRUE(live_clock(std::vector<uint64_t>{3, 1}).empty());
}

}  // namespace
}  // namespace ttc::collect

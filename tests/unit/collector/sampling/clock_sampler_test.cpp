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

// A sampler, and the models of its reads in the same thread.
struct Sampled {
  Sampled(card::Card& card, std::vector<Coord> tiles, const SamplerOptions& options)
      : sampler(card, std::move(tiles), options), models(options.first_era) {}
  Access sample() {
    const Access a = sampler.sample();
    std::vector<ClockInput> inputs;
    sampler.move_inputs(inputs);
    models.grow(sampler.domains());
    models.take(inputs);
    sampler.learn(models.known());
    return a;
  }
  ClockSampler sampler;
  ClockModels models;
};

constexpr size_t kSegments = 12;
constexpr uint64_t kSamplePeriod = 5'000'000;  // 200 samples a second, so that the test is short

TEST(ClockSampler, tiles_of_one_origin_are_one_domain_others_get_their_own) {
  TileCard card;
  card.origin = {
      {{1, 1}, 0},         {{1, 2}, 0}, {{2, 1}, 7'000'000'000}, {{2, 2}, 0}, {{3, 1}, 7'000'000'000},
      {{3, 2}, 90'000'000}};
  Sampled sampled(card, {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2}}, {});
  ClockSampler& sampler = sampled.sampler;
  ASSERT_EQ(sampler.finish_first_round(), Access::ok);
  EXPECT_EQ(sampler.domains(), 3u);
  EXPECT_EQ(
      sampler.take_domains(),
      R"({"domains":[{"domain":0,"reference":[1,1]},{"domain":1,"reference":[2,1]},{"domain":2,"reference":[3,2]}],)"
      R"("tiles":[[2,1,1],[3,1,1],[3,2,2]]})");
  EXPECT_EQ(sampler.take_domains(), "");
  // Looking again narrows what tiles may differ by; a tile that is reset moves to another domain.
  const uint64_t before = sampler.head(0).tile_spread;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(sampled.sample(), Access::ok);
  EXPECT_LE(sampler.head(0).tile_spread, before);
  card.origin[{1, 2}] = 7'000'000'000;
  std::string domains;
  for (int i = 0; i < 2000 && domains.empty(); ++i) {
    ASSERT_EQ(sampled.sample(), Access::ok);
    domains = sampler.take_domains();
  }
  EXPECT_NE(domains.find("[1,2,1]"), std::string::npos);
}

TEST(ClockSampler, a_tile_that_does_not_answer_is_no_reason_to_stop) {
  TileCard card;
  card.origin = {{{1, 1}, 0}, {{1, 2}, 0}};
  card.dead[{1, 2}] = true;
  Sampled sampled(card, {{1, 1}, {1, 2}}, {});
  ClockSampler& sampler = sampled.sampler;
  EXPECT_EQ(sampler.head(0).tile_spread, kNoBound);
  EXPECT_EQ(sampler.finish_first_round(), Access::ok);
  EXPECT_EQ(sampled.sample(), Access::ok);
  EXPECT_EQ(sampler.domains(), 1u);
  EXPECT_NE(sampler.take_domains().find("[1,2,255]"), std::string::npos);  // nothing is known of it
  EXPECT_EQ(sampler.figures().stats.samples, 1u);
}

TEST(ClockSampler, stays_within_its_round_trips) {
  for (const size_t tiles : {size_t{1}, size_t{9}}) {
    TileCard card;
    std::vector<Coord> at;
    for (uint8_t y = 1; y <= tiles; ++y) {  // each from its own origin: as many domains as there may be
      at.push_back({1, y});
      card.origin[{1, y}] = y * uint64_t{1'000'000'000};
    }
    ClockSampler sampler(card, at, {});
    sampler.finish_first_round();
    const uint64_t before = sampler.figures().round_trips;
    uint64_t asked_ns = 0;
    for (int i = 0; i < 64; ++i) {
      asked_ns += sampler.period_ns();
      sampler.sample();
    }
    EXPECT_EQ(sampler.domains(), std::min(tiles, ClockSampler::kMostDomains));
    EXPECT_LE(static_cast<double>(sampler.figures().round_trips - before) * 1e9,
              static_cast<double>(ClockSampler::kMostRoundTrips) * static_cast<double>(asked_ns))
        << tiles;
  }
}

// Blackhole's PCIe tile (11, 0) has a timer that a crystal of `ppm` moves; the tile (2, 0) is the board's unused one.
class TimerCard : public TileCard {
 public:
  explicit TimerCard(const char* arch) { identity_.arch = card::arch_by_name(arch); }
  Access aim(Window window, Coord tile, uint64_t address) override {
    if (tile == kUnused) return Access::refused;
    place(window, tile, address);
    return gone ? Access::gone : Access::ok;
  }
  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override {
    if (tile_of(window) != kTimer) return TileCard::load_registers(window, offset, out);
    EXPECT_EQ(base_of(window) + offset, card::kTimerLow) << "only the low half is read";
    ++transactions_.round_trips;
    ++timer_loads;
    out[0] =
        start + static_cast<uint32_t>(static_cast<double>(raw_now_ns() - begun_ns) * (50e-3 + ppm * 50e-9));
    return Access::ok;
  }

  static constexpr Coord kTimer{11, 0}, kUnused{2, 0};
  uint64_t begun_ns = raw_now_ns();
  uint32_t start = ~0u - 5'000'000;  // it wraps a tenth of a second later
  double ppm = 37;
  unsigned timer_loads = 0;
  bool gone = false;
};

TEST(ClockSampler, the_reference_timer_gives_the_crystals_rate) {
  TimerCard card("blackhole");
  card.origin = {{{1, 2}, 0}};
  Sampled sampled(card, {{1, 2}}, {.reference_timer = true});
  ClockSampler& sampler = sampled.sampler;
  ASSERT_TRUE(sampler.has_reference_timer());
  const uint64_t begun = raw_now_ns();
  while (!sampler.figures().crystal && raw_now_ns() - begun < 60'000'000'000)
    ASSERT_EQ(sampled.sample(), Access::ok);
  const ClockSampler::Figures f = sampler.figures();
  ASSERT_TRUE(f.crystal);
  EXPECT_LE(f.crystal->low, 1 + 37e-6);
  EXPECT_GE(f.crystal->high, 1 + 37e-6);
  EXPECT_LT(f.crystal->high - f.crystal->low, 1e-4);
  EXPECT_EQ(f.timer_reads, card.timer_loads);
  EXPECT_LE(f.timer_reads, 2 + (raw_now_ns() - begun) / 125'000'000);
  card.gone = true;
  EXPECT_EQ(sampler.sample(), Access::gone);
}

TEST(ClockSampler, the_reference_timer_is_read_on_request_and_where_there_is_one) {
  for (const auto& [arch, requested] : {std::pair{"blackhole", false}, std::pair{"wormhole_b0", true}}) {
    TimerCard card(arch);
    card.origin = {{{1, 2}, 0}};
    ClockSampler sampler(card, {{1, 2}}, {.reference_timer = requested});
    EXPECT_FALSE(sampler.has_reference_timer());
    for (int i = 0; i < 50; ++i) ASSERT_EQ(sampler.sample(), Access::ok);
    EXPECT_EQ(card.timer_loads, 0u);
    EXPECT_EQ(sampler.figures().timer_reads, 0u);
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
    ClockSampler sampler(card, tiles, {200});
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

// Publishes for real and follows the model live: every count that the card showed is within the bound of its segment.
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
    ClockSampler sampler(card, {{1, 1}, {1, 2}}, {200});
    constexpr uint64_t kUnseenNs = 100'000;  // what the card showed is published so much later
    size_t visible = 0;
    ClockPublisher clock(card, sampler, publisher, segment, [&](uint64_t after_ns, uint64_t bound_ns) {
      ++visible;
      EXPECT_LE(static_cast<uint64_t>(std::abs(static_cast<int64_t>(after_ns - kUnseenNs))), bound_ns + 2);
    });
    ASSERT_LE(sampler.period_ns(), kSamplePeriod);
    shm::Reader reader(name, shm::StartAt::oldest);
    std::vector<uint64_t> words;
    EXPECT_FALSE(reader.clock(words));
    std::vector<std::pair<uint64_t, uint64_t>> shown;  // count, RAW ns
    size_t tables = 0;                                 // before the end
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
      clock.published({1, 1}, (raw + card.base) & ((uint64_t{1} << 44) - 1), raw + kUnseenNs);
      if (reader.clock(words)) {
        const auto maps = live_clock(words);
        ASSERT_EQ(maps.size(), 1u);
        ++tables;
      }
      take_chunks();
    }
    EXPECT_GT(tables, 0u);
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
    EXPECT_EQ(visible + segment.get(shm::Counter::visibility_without_clock), shown.size());
    EXPECT_GT(visible, 0u);
    segment.end();
  }
  shm::remove_segment(name);
}

// A reported change of AICLK makes samples dense.
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
    ClockSampler sampler(card, {{1, 1}}, {16});
    ClockPublisher clock(card, sampler, publisher, segment);
    EXPECT_LT(sampler.period_ns(), 2'000'000u);  // nothing is known yet
    EXPECT_EQ(clock.poll(clock.next_due_ns()), Access::ok);
    const uint64_t reported = raw_now_ns();
    while (sampler.figures().hz == 0) ASSERT_EQ(clock.poll(clock.next_due_ns()), Access::ok);
    EXPECT_LT(sampler.period_ns(), 2'000'000u) << "the first report is a change too";
    EXPECT_LT(raw_now_ns() - reported, 10'000'000'000u);
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

// The probe on a card that keeps account of every access, with a clock that the card moves.
#include "collector/sampling/link_probe.hpp"

#include <gtest/gtest.h>

#include "driver_iface/allow_list.hpp"
#include "driver_iface/guarded_card.hpp"
#include "tests/support/fake_card.hpp"

namespace ttc::collect {
namespace {

using card::Access;
using card::Memory;
using card::Window;

uint64_t now_ns = 0;
uint64_t clock_now() {
  return now_ns;
}

// Charges every access; refuses what an observer may not do.
class CountingCard final : public card::FakeCard {
 public:
  Access aim(Window window, card::Coord tile, uint64_t address) override {
    now_ns += 400;
    ++aims;
    place(window, tile, address);
    lowest_l1 =
        std::min(lowest_l1, tile == kTile && address < card::kRegisterWindow ? address : ~uint64_t{0});
    return tile == dead_tile ? Access::suspect : Access::ok;
  }
  Access load_registers(Window window, uint32_t offset, std::span<uint32_t> out) override {
    now_ns += 900 * out.size();
    EXPECT_EQ(window, Window::control);
    EXPECT_TRUE(card::register_readable(*identity_.arch, base_of(window) + offset));
    return next();
  }
  Access copy(Window window, uint32_t offset, std::span<uint64_t> out) override {
    const uint64_t lines = card::lines_touched(offset, out.size_bytes());
    now_ns += window == Window::control ? 1000 * lines : 700 + 50 * lines;
    bytes += out.size_bytes();
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_LE(offset + out.size_bytes(), card::kWindowBytes);
    return next();
  }
  // Narrow loads cost what wide ones do; through write-combined memory a fence is paid for.
  Access one_load(Window window, Memory memory, uint32_t offset, std::span<uint32_t> out) override {
    now_ns += (memory == Memory::uncached ? 1000 : 1100) + out.size();
    bytes += out.size_bytes();
    EXPECT_EQ(window, Window::payload) << "the only one that is mapped both ways";
    EXPECT_TRUE(card::is_one_load(offset, out.size_bytes()));
    return next();
  }
  Access wall_clock(card::Coord, uint64_t& cycles) override {
    now_ns += 2700;
    cycles = now_ns;
    return next();
  }

  static constexpr card::Coord kTile{1, 1};
  card::Coord dead_tile{99, 99};
  uint64_t aims = 0, bytes = 0, accesses = 0, lowest_l1 = ~uint64_t{0};
  uint64_t fails_from = ~uint64_t{0};

 private:
  Access next() { return accesses++ >= fails_from ? Access::suspect : Access::ok; }
};

TEST(LinkProbe, every_kind_of_access_is_measured_as_often_as_asked_and_costs_what_it_costs) {
  CountingCard card;
  ProbeOptions options;
  options.samples = 50;
  const LinkProbe p = probe_link(card, CountingCard::kTile, options, clock_now);
  EXPECT_EQ(p.rows.size(), 16u);
  for (const ProbeRow& r : p.rows) EXPECT_EQ(r.samples, 50u) << to_string(r.kind);
  const struct {
    ProbeKind kind;
    Memory memory;
    uint32_t bytes, ns;
  } kExpected[] = {{ProbeKind::reg, Memory::uncached, 4, 900},
                   {ProbeKind::load, Memory::uncached, 4, 1001},
                   {ProbeKind::load, Memory::uncached, 8, 1002},
                   {ProbeKind::load, Memory::uncached, 64, 1016},
                   {ProbeKind::load, Memory::write_combined, 4, 1101},
                   {ProbeKind::load, Memory::write_combined, 16, 1104},
                   {ProbeKind::load, Memory::write_combined, 32, 1108},
                   {ProbeKind::stream_l1, Memory::uncached, 65536, 1024000},
                   {ProbeKind::stream_l1, Memory::write_combined, 65536, 51900},
                   {ProbeKind::stream_dram, Memory::write_combined, 65536, 51900},
                   {ProbeKind::re_aim, Memory::uncached, 0, 400},
                   {ProbeKind::wall_clock, Memory::uncached, 0, 2700}};
  for (const auto& e : kExpected) {
    const ProbeRow* r = p.row(e.kind, e.memory, e.bytes);
    ASSERT_NE(r, nullptr) << to_string(e.kind) << e.bytes;
    for (const uint32_t ns : {r->min, r->p50, r->p90, r->p99, r->max})
      EXPECT_EQ(ns, e.ns) << to_string(e.kind);
  }
  EXPECT_NEAR(p.best_bytes_per_s(), 65536e9 / 51900, 1);
  EXPECT_EQ(p.timer_ns, 0u);
  EXPECT_GE(card.lowest_l1, 0x10000u) << "too near to the profiler's own memory";
}

TEST(LinkProbe, the_fast_version_keeps_its_budget_and_its_few_round_trips) {
  CountingCard card;
  const uint64_t begun = now_ns;
  const LinkProbe p = probe_link(card, CountingCard::kTile, kFastProbe, clock_now);
  EXPECT_EQ(p.rows.size(), 16u);
  EXPECT_LE(now_ns - begun, kFastProbe.budget_ns + 1'000'000);
  EXPECT_LE(card.bytes, 256u << 10);
}

TEST(LinkProbe, a_slow_card_is_asked_less_often) {
  CountingCard card;
  ProbeOptions options;
  options.budget_ns = 16 * 10'000;  // ten microseconds a row
  const LinkProbe p = probe_link(card, CountingCard::kTile, options, clock_now);
  EXPECT_EQ(p.row(ProbeKind::stream_l1, Memory::uncached, 0)->samples, 1u);
  EXPECT_EQ(p.row(ProbeKind::load, Memory::uncached, 8)->samples, 9u);
}

TEST(LinkProbe, a_tile_that_turns_suspect_ends_it_and_is_not_asked_again) {
  CountingCard card;
  card.fails_from = 30;
  ProbeOptions options;
  options.samples = 20;
  const LinkProbe p = probe_link(card, CountingCard::kTile, options, clock_now);
  ASSERT_EQ(p.rows.size(), 2u + 1);  // re-aiming reads nothing
  EXPECT_EQ(p.rows[0].samples, 20u);
  EXPECT_LT(p.rows[1].samples, 20u);
}

TEST(LinkProbe, a_tile_that_cannot_be_aimed_at_gives_only_dram) {
  CountingCard card;
  card.dead_tile = CountingCard::kTile;
  ProbeOptions options;
  options.samples = 3;
  for (const ProbeRow& r : probe_link(card, CountingCard::kTile, options, clock_now).rows)
    EXPECT_TRUE(r.kind == ProbeKind::stream_dram || r.kind == ProbeKind::wall_clock) << to_string(r.kind);
}

}  // namespace
}  // namespace ttc::collect

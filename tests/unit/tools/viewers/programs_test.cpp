// Programs put together from launches as sweeps bring them, and rows that keep their spans apart.
#include "tools/viewers/programs.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tools/viewers/host/rows.hpp"

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

constexpr uint16_t kFirmwareId = 10, kKernelId = 20;

class SweptLaunches {
 public:
  // One launch of a processor: a kernel zone of `kernel_ns` within a firmware zone that is 20 ns longer.
  Programs::Launch launch(uint32_t host_id, uint8_t x, uint8_t risc, uint64_t begin_ns, uint64_t kernel_ns,
                          uint16_t replay = 0) {
    const Marker markers[] = {
        marker(kFirmwareId, MarkerType::zone_start), marker(kKernelId, MarkerType::zone_start),
        marker(kKernelId, MarkerType::zone_end), marker(kFirmwareId, MarkerType::zone_end)};
    const uint64_t ns[] = {begin_ns, begin_ns + 10, begin_ns + 10 + kernel_ns, begin_ns + 20 + kernel_ns};
    return take(host_id, x, risc, markers, ns, replay);
  }
  Programs::Launch take(uint32_t host_id, uint8_t x, uint8_t risc, std::span<const Marker> markers,
                        std::span<const uint64_t> ns, uint16_t replay = 0) {
    FrameEvents frame{
        0,       x,      1,     markers::CoreKind::tensix, device::Mode::normal, risc, host_id, replay,
        markers, batch_, names_};
    frame.main_zone = kFirmwareId;
    return programs.take(frame, uint32_t{x} << 8 | risc, LaunchEnds::of(frame, ns), false);
  }
  static Marker marker(uint16_t id, MarkerType type) { return {0, id, type, markers::kGuaranteed, 0}; }

  Programs programs;

 private:
  markers::Batch batch_;
  markers::ZoneNames names_;
};

std::vector<Program> settled(Programs& programs, uint64_t until_ns) {
  std::vector<Program> all;
  programs.settled(until_ns, [&](const Program& p) { all.push_back(p); });
  return all;
}
std::vector<Program> ended(Programs& programs, uint64_t until_ns) {
  std::vector<Program> all;
  programs.ended(until_ns, [&](const Program& p) { all.push_back(p); });
  return all;
}

TEST(Programs, one_program_of_many_cores_and_processors) {
  SweptLaunches s;
  std::vector<uint64_t> flows;
  for (const uint8_t x : {uint8_t{2}, uint8_t{1}})
    for (const uint8_t risc : {uint8_t{0}, uint8_t{1}}) {
      const Programs::Launch l = s.launch(7, x, risc, 1000 + x, 100u * x);
      if (l.flow) flows.push_back(l.flow);
      EXPECT_EQ(l.flow_marker, l.flow ? 1u : ~0u) << "a flow leads to the kernel's start, once a core";
    }
  const std::vector<Program> all = settled(s.programs, ~uint64_t{0});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].host_id, 7u);
  EXPECT_EQ(all[0].begin_ns, 1001u);
  EXPECT_EQ(all[0].end_ns, 1002u + 20 + 200);
  EXPECT_EQ(all[0].kernel_begin_ns, 1011u);
  EXPECT_EQ(all[0].kernel_end_ns, 1012u + 200);
  EXPECT_EQ(all[0].longest_ns, 200u);
  EXPECT_EQ(all[0].longest_x, 2u);
  EXPECT_EQ(all[0].open, 0u);
  EXPECT_EQ(all[0].cores, (std::vector<uint32_t>{0x101, 0x201}));
  EXPECT_EQ(all[0].flows, flows);
  EXPECT_EQ(flows.size(), 2u);
  EXPECT_TRUE(settled(s.programs, ~uint64_t{0}).empty());
}

// A core that is read first has the launches of many programs of one id before the next core has its first.
TEST(Programs, launches_of_one_id_go_to_the_nearest_in_time) {
  SweptLaunches s;
  for (const uint8_t x : {uint8_t{1}, uint8_t{2}, uint8_t{3}})
    for (uint64_t n = 0; n < 5; ++n) s.launch(7, x, 0, 10'000 * (n + 1) + x, 50);
  const std::vector<Program> all = settled(s.programs, ~uint64_t{0});
  ASSERT_EQ(all.size(), 5u);
  for (uint64_t n = 0; n < 5; ++n) {
    EXPECT_EQ(all[n].begin_ns, 10'000 * (n + 1) + 1);
    EXPECT_EQ(all[n].cores.size(), 3u);
  }
}

TEST(Programs, host_id_zero_is_none_and_replays_are_apart) {
  SweptLaunches s;
  EXPECT_EQ(s.launch(0, 1, 0, 1000, 50).flow, 0u);
  EXPECT_TRUE(settled(s.programs, ~uint64_t{0}).empty());
  s.launch(7, 1, 0, 1000, 50, 1);
  s.launch(7, 2, 0, 1000, 50, 2);
  const std::vector<Program> all = settled(s.programs, ~uint64_t{0});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].replay + all[1].replay, 3);
}

TEST(Programs, a_launch_in_two_frames_is_closed_by_the_second) {
  SweptLaunches s;
  const Marker front[] = {SweptLaunches::marker(kFirmwareId, MarkerType::zone_start),
                          SweptLaunches::marker(kKernelId, MarkerType::zone_start)};
  const Marker back[] = {SweptLaunches::marker(kKernelId, MarkerType::zone_end),
                         SweptLaunches::marker(kFirmwareId, MarkerType::zone_end)};
  const uint64_t first[] = {100, 110}, second[] = {900, 950};
  s.take(7, 1, 0, front, first);
  s.take(7, 1, 0, back, second);
  s.take(8, 1, 0, front, first);
  const std::vector<Program> all = settled(s.programs, ~uint64_t{0});
  ASSERT_EQ(all.size(), 2u);
  const Program& whole = all[all[0].host_id == 7 ? 0 : 1];
  EXPECT_EQ(whole.open, 0u);
  EXPECT_EQ(whole.end_ns, 950u);
  EXPECT_EQ(whole.cores.size(), 1u);
  EXPECT_EQ(all[all[0].host_id == 8 ? 0 : 1].open, 1u);
}

// A program is settled when its cores came round several times without it, and it has ended by then.
TEST(Programs, settled_after_rounds) {
  SweptLaunches s;
  for (uint32_t round = 0; round < 10; ++round) {
    for (const uint8_t x : {uint8_t{1}, uint8_t{2}}) s.launch(100 + round, x, 0, 1000 * (round + 1), 50);
    for (const Program& p : settled(s.programs, 1000 * (round + 1))) {
      EXPECT_LE(p.host_id + 3, 100 + round);
      EXPECT_EQ(p.cores.size(), 2u);
    }
  }
  const size_t left = settled(s.programs, ~uint64_t{0}).size();
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, 6u) << "programs of earlier rounds were never settled";
}

// No other core comes between two launches of the only one.
TEST(Programs, a_card_of_one_core_has_programs_before_its_end) {
  SweptLaunches s;
  for (uint32_t launch = 0; launch < 10; ++launch) s.launch(100 + launch, 1, 0, 1000 * (launch + 1), 50);
  EXPECT_TRUE(settled(s.programs, 9000).empty());
  EXPECT_EQ(ended(s.programs, 9000).size(), 8u);
  EXPECT_EQ(ended(s.programs, ~uint64_t{0}).size(), 2u);
}

// SweptLaunches are late and cores sit programs out: no launch is lost, none counts twice.
TEST(Programs, random_sweeps_keep_every_launch) {
  const uint32_t seed = std::random_device{}();
  std::mt19937 random(seed);
  SweptLaunches s;
  size_t launches = 0, cores = 0;
  std::vector<Program> all;
  for (uint64_t sweep = 0; sweep < 200; ++sweep) {
    for (uint8_t x = 1; x < 9; ++x)
      for (uint64_t n = 0; n < 4; ++n) {
        if (random() % 8 == 0) continue;
        const uint64_t program = sweep * 4 + n;
        s.launch(static_cast<uint32_t>(1 + program % 50), x, 0, 1000 * program + random() % 100,
                 1 + random() % 300);
        ++launches;
      }
    for (Program& p : settled(s.programs, 1000 * (sweep * 4))) all.push_back(std::move(p));
  }
  for (Program& p : settled(s.programs, ~uint64_t{0})) all.push_back(std::move(p));
  for (const Program& p : all) {
    cores += p.cores.size();
    EXPECT_LT(p.end_ns - p.begin_ns, 1000u) << "two programs became one, seed " << seed;
  }
  EXPECT_EQ(cores, launches) << "seed " << seed;
}

TEST(RowPacker, first_row_that_is_free) {
  RowPacker rows;
  EXPECT_EQ(rows.place(0, 100), 0u);
  EXPECT_EQ(rows.place(50, 80), 1u);
  EXPECT_EQ(rows.place(100, 200), 0u) << "intervals that touch do not overlap";
  EXPECT_EQ(rows.place(90, 95), 1u);
  for (uint32_t row = 2; row < RowPacker::kMostRows; ++row) EXPECT_EQ(rows.place(94, 300), row);
  EXPECT_EQ(rows.place(94, 300), std::nullopt) << "every row is taken";
  EXPECT_EQ(rows.place(200, 201), 0u);
}

}  // namespace
}  // namespace ttc::tools

// Bounds of zones' and programs' durations beside what viewers show of them.
#include "tools/viewers/zones/zone_bounds.hpp"

#include <gtest/gtest.h>

#include "tests/unit/tools/viewers/clocked_frames.hpp"
#include "tools/viewers/programs.hpp"

namespace ttc::tools {
namespace {

using markers::Marker;
using markers::MarkerType;

Marker starts_at(uint64_t cycles, uint16_t id = 20) {
  return {cycles, id, MarkerType::zone_start, markers::kGuaranteed, 0};
}
Marker ends_at(uint64_t cycles, uint16_t id = 20) {
  return {cycles, id, MarkerType::zone_end, markers::kGuaranteed, 0};
}

// A lane of one chip.
struct BoundedLane {
  std::vector<uint32_t> bounds(const ClockedFrame& frame) {
    const FrameEvents f = frame.events();
    const auto list = zone_bounds.of(f, steps.of(f.markers, f.main_zone, false), open);
    return {list.begin(), list.end()};
  }
  ZoneSteps steps;
  ZoneBounds zone_bounds;
  ZoneBounds::Open open;
};

constexpr uint32_t kUnbounded = kNoDurationBound;

TEST(ZoneBounds, do_not_contain_the_offset_to_host_time) {
  const collect::ClockMap map = clocked_map();
  BoundedLane lane;
  const ClockedFrame frame(&map, 2, {starts_at(1000, 10), starts_at(2000), ends_at(5000), ends_at(6000, 10)});
  for (int i = 0; i < 2; ++i) {  // the second time by the pace of the first
    const std::vector<uint32_t> bounds = lane.bounds(frame);
    ASSERT_EQ(bounds.size(), 4u);
    EXPECT_EQ(bounds[0], kUnbounded);
    EXPECT_EQ(bounds[1], kUnbounded);
    for (const size_t at : {size_t{2}, size_t{3}}) {
      EXPECT_GE(bounds[at], 2u);
      EXPECT_LE(bounds[at], 3u);
    }
  }
}

TEST(ZoneBounds, of_a_zone_that_ends_in_a_later_frame) {
  const collect::ClockMap map = clocked_map();
  BoundedLane lane;
  EXPECT_EQ(lane.bounds({&map, 2, {starts_at(1000, 10), starts_at(2000)}}),
            (std::vector<uint32_t>{kUnbounded, kUnbounded}));
  EXPECT_EQ(lane.open.size(), 2u);
  const std::vector<uint32_t> bounds = lane.bounds({&map, 2, {ends_at(5000), ends_at(1'006'000, 10)}});
  EXPECT_LE(bounds[0], 3u);
  EXPECT_LE(bounds[1], 4u);
  EXPECT_GE(bounds[1], 2u);
  EXPECT_TRUE(lane.open.empty());
}

// Viewers had other bounds of a frame's first zones with another number of threads.
TEST(ZoneBounds, do_not_depend_on_the_zones_before) {
  const collect::ClockMap map = clocked_map(2);
  BoundedLane all;
  for (uint64_t i = 0; i < 400; ++i) {
    const uint64_t from = 1000 + i * 7919 % 8'900'000, seen = kClockedFrom + (i % 3 ? 9'500'000 : 19'500'000);
    const ClockedFrame frame(&map, 2, {starts_at(from), ends_at(from + 1 + i * 977 % 40'000)}, seen);
    BoundedLane one;
    EXPECT_EQ(all.bounds(frame), one.bounds(frame)) << i;
  }
}

// Its start's number is of the counter before the reset.
TEST(ZoneBounds, of_a_zone_across_a_reset_are_those_of_both_times) {
  const collect::ClockMap map = clocked_map(2);
  BoundedLane lane;
  lane.bounds({&map, 2, {starts_at(1000)}, kClockedFrom + 5'000'000});
  const auto bounds = lane.bounds({&map, 2, {ends_at(5000)}, kClockedFrom + 12'000'000});
  EXPECT_EQ(bounds[0], 2 * (kClockedBoundNs + kClockedSpreadNs));
}

TEST(ZoneBounds, are_absent_without_a_clock_model_or_the_time_of_reading) {
  const collect::ClockMap map = clocked_map();
  BoundedLane lane;
  EXPECT_EQ(lane.bounds({nullptr, 2, {starts_at(1000), ends_at(2000)}})[1], kUnbounded);
  const ClockedFrame frame(&map, 2, {starts_at(1000), ends_at(2000)});
  FrameEvents unseen = frame.events();
  unseen.seen_ns = 0;
  const auto list = lane.zone_bounds.of(unseen, lane.steps.of(unseen.markers, 10, false), lane.open);
  EXPECT_EQ(list[1], 2 * (kClockedBoundNs + kClockedSpreadNs));  // of the two times
  // Beyond what was sampled there is no bound.
  EXPECT_EQ(lane.bounds({&map, 2, {starts_at(8'999'000), ends_at(9'200'000)}})[1], kUnbounded);
}

// The model grew: what was known of its last pace is not used any more.
TEST(ZoneBounds, follow_a_clock_model_that_changes) {
  collect::ClockMap map;
  collect::ClockSegment loose = clocked_segment();
  loose.flags = 0;
  set_pace_error(loose, 1e-3);
  map.update(clocked_map().head(), {&loose, 1});
  BoundedLane lane;
  for (int i = 0; i < 2; ++i)
    EXPECT_GT(lane.bounds({&map, 2, {starts_at(100'000), ends_at(200'000)}})[1], 99u);
  const collect::ClockSegment sharp = clocked_segment();
  map.update(clocked_map().head(), {&sharp, 1});
  lane.zone_bounds.clock_changed();
  EXPECT_LE(lane.bounds({&map, 2, {starts_at(100'000), ends_at(200'000)}})[1], 3u);
}

// --- programs

struct SweptCores {
  void launch(const ClockedFrame& frame, bool of_clock = true) {
    const FrameEvents f = frame.events();
    programs.take(f, uint32_t{f.core_x} << 8 | f.core_y, LaunchEnds::of(f, frame.ns()), of_clock);
  }
  Program only() {
    std::vector<Program> all;
    programs.settled(~uint64_t{0}, [&](const Program& p) { all.push_back(p); });
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }
  Programs programs;
};

std::vector<Marker> kernel_launch(uint64_t begin, uint64_t length) {
  return {starts_at(begin, 10), starts_at(begin + 100), ends_at(begin + 100 + length),
          ends_at(begin + 200 + length, 10)};
}

TEST(ProgramBounds, pay_for_the_spread_of_tiles_across_them_only) {
  const collect::ClockMap map = clocked_map();
  SweptCores one, two;
  one.launch({&map, 1, kernel_launch(1000, 5000)});
  const Program of_one = one.only();
  EXPECT_LE(of_one.bounds.duration_ns, 3u);
  EXPECT_LE(of_one.bounds.kernel_ns, 3u);
  two.launch({&map, 1, kernel_launch(1000, 5000)});
  two.launch({&map, 2, kernel_launch(1010, 4000)});
  const Program p = two.only();
  EXPECT_EQ(p.bounds.duration_ns, of_one.bounds.duration_ns + 2 * kClockedSpreadNs);
  EXPECT_EQ(p.bounds.kernel_ns, of_one.bounds.kernel_ns + 2 * kClockedSpreadNs);
  // Of one core each.
  EXPECT_EQ(p.core_most_ns, 5000u);
  EXPECT_LE(p.bounds.core_most_ns, 3u);
  EXPECT_LE(p.bounds.core_mean_ns, 5u);
  EXPECT_GE(p.bounds.core_mean_ns, p.bounds.core_most_ns);
  EXPECT_LE(p.bounds.longest_ns, 3u);
}

// The first and the last marker by host time are of one core here, but another core's may be the first for sure.
TEST(ProgramBounds, pay_for_the_spread_where_one_core_has_both_ends) {
  const collect::ClockMap map = clocked_map();
  SweptCores swept;
  swept.launch({&map, 1, kernel_launch(1000, 5000)});
  swept.launch({&map, 2, kernel_launch(1005, 4000)});
  EXPECT_GE(swept.only().bounds.duration_ns, 2 * kClockedSpreadNs);
}

TEST(ProgramBounds, of_two_clocks_are_those_of_the_widest_times) {
  const collect::ClockMap map = clocked_map(), other = clocked_map();
  SweptCores swept;
  swept.launch({&map, 1, kernel_launch(1000, 5000)});
  swept.launch({&other, 2, kernel_launch(1010, 4000)});
  const Program p = swept.only();
  EXPECT_EQ(p.bounds.duration_ns, 2 * (kClockedBoundNs + kClockedSpreadNs));
  EXPECT_LE(p.bounds.core_most_ns, 3u);  // of one core
}

TEST(ProgramBounds, are_absent_where_one_time_has_none) {
  const collect::ClockMap map = clocked_map();
  SweptCores partly, cycles;
  partly.launch({&map, 1, kernel_launch(1000, 5000)});
  partly.launch({&map, 2, kernel_launch(8'999'900, 5000)});  // beyond what was sampled
  EXPECT_EQ(partly.only().bounds.duration_ns, kUnbounded);
  cycles.launch({&map, 1, kernel_launch(1000, 5000)}, false);
  const Program p = cycles.only();
  EXPECT_EQ(p.bounds.duration_ns, kUnbounded);
  EXPECT_EQ(p.bounds.core_most_ns, kUnbounded);
  EXPECT_EQ(p.bounds.longest_ns, kUnbounded);
}

}  // namespace
}  // namespace ttc::tools

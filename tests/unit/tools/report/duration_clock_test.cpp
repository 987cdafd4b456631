// Durations by the clock model of a capture: of zones, of ops across tiles, of busy devices, and of two runs compared.
#include <gtest/gtest.h>

#include "tools/report/diff/run_diff.hpp"
#include "tools/report/ops/busy_time.hpp"
#include "tools/report/programs/device_row.hpp"
#include "tools/report/text/time_bounds.hpp"
#include "tools/report/zones/marker_bounds.hpp"
#include "tools/report/zones/zone_stats.hpp"

namespace ttc::report {
namespace {

using collect::BoundKind;
using collect::ClockHead;
using collect::ClockMap;
using collect::ClockSegment;

constexpr uint64_t kTicksPerNs = collect::kHostTicksPerNs;
constexpr uint64_t kHostStart = 1'000'000'000;  // ns, of the host
constexpr uint64_t kPerPace = 1'000'000;        // cycles

// A counter of 1 GHz, then of 500 MHz, whose offset to host time is not known to better than 60 us. The spread of tiles is 10 ns.
std::shared_ptr<const DurationClock> two_paces(std::optional<uint64_t> spread_ns = 10) {
  constexpr uint64_t kStep = (kHostStart + kPerPace) * kTicksPerNs;
  std::vector<ClockSegment> segments{
      collect::clock_segment_between(0, kHostStart * kTicksPerNs, kPerPace, kStep),
      collect::clock_segment_between(kPerPace, kStep, 2 * kPerPace, kStep + 2 * kPerPace * kTicksPerNs)};
  for (ClockSegment& s : segments) {
    s.kind = BoundKind::conditional;
    s.bound = s.hard_bound = 60'000 * kTicksPerNs;
    s.flags = collect::kFinalSegment;
    set_pace_error(s, 1e-9);
  }
  ClockHead head;
  head.reference_x = head.reference_y = 1;
  head.tile_spread = spread_ns ? *spread_ns * kTicksPerNs : collect::kNoBound;
  ClockMap map;
  map.update(head, segments);
  DurationClock clock;
  clock.add(3, std::move(map), {{9, 9}});
  return std::make_shared<const DurationClock>(std::move(clock));
}

constexpr uint64_t kWordsSeen = kHostStart + 4'000'000;

TEST(DurationClock, pays_for_the_spread_of_tiles_only_across_them) {
  const auto clock = two_paces();
  const auto one = clock->on_tile(3, {2, 2}, 100'000, 200'000, kWordsSeen),
             two = clock->across(3, 100'000, 200'000, kWordsSeen);
  ASSERT_TRUE(one && two);
  EXPECT_NEAR(one->ns, 100'000, 0.1);
  EXPECT_LT(one->bound_ns, 3);
  EXPECT_NEAR(two->bound_ns, one->bound_ns + 20, 1);
  const auto step = clock->across(3, 900'000, 1'100'000, kWordsSeen);
  ASSERT_TRUE(step);
  EXPECT_NEAR(step->ns, 300'000, 0.1);
}

TEST(DurationClock, measures_first_and_last_starts_across_tiles_and_dispatch_on_its_own) {
  const auto clock = two_paces();
  DeviceOp op;
  op.launch.chip = 3;
  op.seen_ns = kWordsSeen;
  op.kernel = {100'000, 200'000};
  op.kernel_starts = {100'000, 100'500};
  op.kernel_start_count = 2;
  DeviceOp apart = op, several = op;
  op.add_dispatch(2, 2, {90'000, 90'000}, kWordsSeen);
  op.add_dispatch(2, 2, {95'000, 95'000}, kWordsSeen);
  apart.add_dispatch(9, 9, {90'000, 95'000}, kWordsSeen);
  for (const uint8_t x : {uint8_t{2}, uint8_t{3}}) several.add_dispatch(x, 2, {90'000, 95'000}, kWordsSeen);
  Device device;
  device.chip = 3, device.clock_mhz = 1000;
  const DeviceRow row = device_row(op, device, clock.get());
  ASSERT_TRUE(row.first_to_last_measured && row.dispatch_measured);
  EXPECT_NEAR(row.first_to_last_measured->ns, 500, 0.1);
  EXPECT_NEAR(row.first_to_last_measured->bound_ns, 20, 3);
  EXPECT_NEAR(row.dispatch_measured->ns, 5000, 0.1);
  EXPECT_LT(row.dispatch_measured->bound_ns, 3);
  EXPECT_FALSE(device_row(apart, device, clock.get()).dispatch_measured);
  EXPECT_FALSE(device_row(several, device, clock.get()).dispatch_measured);
}

TEST(MarkerBounds, are_counted_by_kind_with_the_spread_of_tiles) {
  MarkerBounds bounds;
  const auto add = [&](uint32_t chip, uint8_t x, std::vector<uint64_t> cycles, uint64_t seen_ns) {
    std::vector<Event> events;
    for (const uint64_t at : cycles)
      events.push_back({at, 0, 0, 0, markers::MarkerType::zone_start, ZoneClass::other});
    bounds.events({{chip}, {x, x}, events, seen_ns});
  };
  add(3, 2, {100}, kWordsSeen);  // there is no clock yet
  bounds.measure_with(two_paces());
  add(4, 2, {100}, kWordsSeen);  // nor has this chip one
  EXPECT_EQ(bounds.markers(), 0u);
  EXPECT_EQ(text_of(bounds), "");
  add(3, 1, {100, 200, 900'000, 1'100'000}, kWordsSeen);
  add(3, 2, {300, 3'000'000}, kWordsSeen);  // the second one is beyond the model
  add(3, 9, {100, 200}, kWordsSeen);
  add(3, 2, {100}, 0);
  EXPECT_EQ(bounds.conditional(), 5u);
  EXPECT_EQ(bounds.none(), 2u);
  EXPECT_EQ(bounds.other_clock(), 2u);
  EXPECT_EQ(bounds.hard(), 0u);
  EXPECT_EQ(bounds.markers(), 9u);
  EXPECT_EQ(bounds.conditional_bound_ns(0.5), 60'000.0);
  EXPECT_EQ(bounds.conditional_bound_ns(0.99), 60'010.0);
  ASSERT_TRUE(bounds.widest());
  EXPECT_EQ(bounds.widest()->bound_ns, 60'010);
  EXPECT_EQ(bounds.widest()->why, "the frequency moved between 500.0 and 1000.0 MHz");
  EXPECT_NE(text_of(bounds).find("55.6 % have a conditional bound, 0.0 % a hard one, 22.2 % none"),
            std::string::npos)
      << text_of(bounds);
}

TEST(DurationClock, has_no_answer_where_there_is_none) {
  const auto clock = two_paces();
  EXPECT_FALSE(clock->across(3, 100, 200, 0));                    // it is not known when they were read
  EXPECT_FALSE(clock->across(2, 100, 200, kWordsSeen));           // no such chip
  EXPECT_FALSE(clock->on_tile(3, {9, 9}, 100, 200, kWordsSeen));  // another clock
  EXPECT_TRUE(clock->apart(3, {9, 9}));
  const auto unknown = two_paces(std::nullopt);
  EXPECT_FALSE(unknown->across(3, 100, 200, kWordsSeen));
  EXPECT_FALSE(unknown->on_tile(3, {2, 2}, 100, 200, kWordsSeen));
  EXPECT_TRUE(unknown->on_tile(3, {1, 1}, 100, 200, kWordsSeen));  // of the reference tile there is no other
}

TEST(DurationClock, the_bound_of_a_shown_figure_holds_what_is_wrong_with_it) {
  const Measured m{300'000, 20};
  EXPECT_EQ(m.bound_of(200'000), 100'020);
  EXPECT_EQ(m.bound_of(300'001), 21);
}

OpRow op_between(uint64_t from, uint64_t to) {
  OpRow op;
  op.code = "Op";
  op.device = 3;
  op.firmware_start = static_cast<double>(from);
  op.firmware_end = static_cast<double>(to);
  op.kernel_cycles = to - from;
  op.kernel = op.firmware = static_cast<double>(to - from);  // at a nominal rate of 1 GHz
  op.seen_ns = kWordsSeen;
  return op;
}

TEST(DurationClock, busy_time_is_measured_stretch_by_stretch) {
  const auto clock = two_paces();
  // Two that overlap across the step, and one at the slower pace.
  const OpRow ops[] = {op_between(900'000, 1'050'000), op_between(1'000'000, 1'100'000),
                       op_between(1'500'000, 1'600'000)};
  const Busy host = busy_time({&ops[0], &ops[1], &ops[2]}, clock.get(), TimeOf::host);
  EXPECT_NEAR(host.busy_us, 100 + 200 + 200, 0.001);
  EXPECT_NEAR(host.span_us, 100 + 1200, 0.001);
  ASSERT_TRUE(host.busy_bound_us && host.span_bound_us);
  EXPECT_LT(*host.busy_bound_us, 0.06);
  // The cycles at the nominal rate are 300 us, and the bound covers that.
  const Busy device = busy_time({&ops[0], &ops[1], &ops[2]}, clock.get(), TimeOf::device);
  EXPECT_NEAR(device.busy_us, 300, 0.001);
  ASSERT_TRUE(device.busy_bound_us);
  EXPECT_NEAR(*device.busy_bound_us, 200, 0.1);
  OpRow without = op_between(1'700'000, 1'800'000);
  without.seen_ns = 0;
  EXPECT_FALSE(busy_time({&ops[0], &without}, clock.get(), TimeOf::host).busy_bound_us);
}

TEST(DurationClock, zones_are_measured_with_what_is_nested_in_them) {
  ZoneStats stats;
  stats.measure_with(two_paces());
  const auto marker = [](uint64_t time, uint32_t zone, bool start) {
    return Event{time,
                 0,
                 zone,
                 static_cast<uint16_t>(zone),
                 start ? markers::MarkerType::zone_start : markers::MarkerType::zone_end,
                 ZoneClass::kernel};
  };
  const Event events[] = {marker(900'000, 1, true), marker(950'000, 2, true), marker(1'050'000, 2, false),
                          marker(1'100'000, 1, false)};
  stats.events({{3, 7, -1, -1}, {2, 2, LogRisc::brisc}, events, kWordsSeen});
  const ZoneStats::Entry& outer = stats.entries().at({1, LogRisc::brisc, false});
  EXPECT_EQ(outer.times.count, 1u);
  EXPECT_NEAR(outer.times.sum.ns, 300'000, 0.1);
  EXPECT_NEAR(outer.times.self.ns, 150'000, 0.2);
  const ZoneStats::Entry& inner = stats.entries().at({2, LogRisc::brisc, false});
  EXPECT_GE(outer.times.self.bound_ns, outer.times.sum.bound_ns + inner.times.sum.bound_ns - 1e-6);
}

OpTable table_of_times(const std::vector<double>& us, double bound_us) {
  OpTable table;
  for (const double one : us) {
    OpRow op;
    op.code = "Op";
    op.kernel = op.kernel_measured = one * 1000;
    op.kernel_measured_bound = bound_us * 1000;
    table.rows.push_back(op);
  }
  return table;
}

TEST(DurationClock, medians_within_their_ops_bounds_are_not_distinguished) {
  const OpTable a = table_of_times({10, 10.1, 9.9}, 0.1), b = table_of_times({10.3, 10.4, 10.2}, 0.1),
                near = table_of_times({10.15, 10.25, 10.05}, 0.1);
  const RunDiff apart = compare(a, b), hidden = compare(a, near);
  EXPECT_FALSE(apart.rows[0].within_clock);
  EXPECT_NEAR(apart.rows[0].median_bound_a.value_or(0), 0.1, 1e-9);
  EXPECT_TRUE(hidden.rows[0].within_clock);
  EXPECT_NEAR(apart.total_bound_a.value_or(0), 0.3, 1e-9);
}

// One op at the end of the capture, whose bound is wide, does not hide what all others show.
TEST(DurationClock, a_median_keeps_its_bound_beside_one_op_that_has_a_wide_one) {
  OpTable a = table_of_times({10, 10.1, 9.9, 10.05}, 0.1);
  OpRow wide = a.rows[0];
  wide.kernel_measured_bound = 5e6;
  a.rows.push_back(wide);
  const RunDiff diff = compare(a, table_of_times({11, 11.1, 10.9}, 0.1));
  EXPECT_LT(diff.rows[0].median_bound_a.value_or(1e9), 0.2);
  EXPECT_FALSE(diff.rows[0].within_clock);
}

TEST(TimeBounds, equal_within_their_bounds_share_a_rank) {
  SharedRank rank;
  EXPECT_FALSE(rank.shares(10, 0.1));
  EXPECT_TRUE(rank.shares(9.9, 0.1));
  EXPECT_FALSE(rank.shares(9.5, 0.1));
  EXPECT_FALSE(rank.shares(9.5, std::nullopt));  // without bounds times are taken as they are
  EXPECT_EQ(rank.count(), 1u);
  EXPECT_NE(rank.legend().find("1 row that differs"), std::string::npos);
  EXPECT_EQ(SharedRank().legend(), "");
}

TEST(TimeBounds, are_written_rounded_up) {
  EXPECT_EQ(written_bound(0.0031), "4 ns");
  EXPECT_EQ(written_bound(0.9), "900 ns");
  EXPECT_EQ(written_bound(1.21), "1.3 \u03bcs");
  EXPECT_EQ(written_bound(std::nullopt), "");
}

}  // namespace
}  // namespace ttc::report

// Bounds of the gaps between programs.
#include "tools/tables/program_gaps.hpp"

#include <gtest/gtest.h>

#include "tests/unit/tools/viewers/clocked_frames.hpp"

namespace ttc::tools {
namespace {

constexpr uint32_t kUnbounded = kNoDurationBound;

TimedMarker marker_at(const collect::ClockMap& map, uint64_t cycles,
                      uint64_t seen_ns = kClockedFrom + 9'500'000) {
  const uint64_t seen_by = seen_ns * collect::kHostTicksPerNs;
  const auto at = map.at(cycles, seen_by);
  return {cycles, at.host, at.quality.bound, seen_by, &map};
}

Program program(const collect::ClockMap& map, uint64_t begin_cycles, uint64_t end_cycles,
                uint64_t seen_ns = kClockedFrom + 9'500'000) {
  Program p;
  p.first = marker_at(map, begin_cycles, seen_ns), p.last = marker_at(map, end_cycles, seen_ns);
  p.begin_ns = p.first.at / collect::kHostTicksPerNs, p.end_ns = p.last.at / collect::kHostTicksPerNs;
  p.clock = &map;
  p.seen_by = p.first.seen_by;
  return p;
}

TEST(ProgramGaps, have_the_spread_of_tiles_at_both_ends_and_no_offset_to_host_time) {
  const collect::ClockMap map = clocked_map();
  ProgramGaps gaps;
  const Tables::Gap none = gaps.before(program(map, 1000, 2000));
  EXPECT_EQ(none.from_ns, 0u);
  EXPECT_EQ(none.bound_ns, kUnbounded);
  const Tables::Gap gap = gaps.before(program(map, 5000, 6000));
  EXPECT_EQ(gap.from_ns, kClockedFrom + 2000);
  EXPECT_GE(gap.bound_ns, 2 * kClockedSpreadNs);
  EXPECT_LE(gap.bound_ns, 2 * kClockedSpreadNs + 5);
}

TEST(ProgramGaps, begin_at_what_ended_last) {
  const collect::ClockMap map = clocked_map();
  ProgramGaps gaps;
  gaps.before(program(map, 1000, 9000));
  gaps.before(program(map, 2000, 3000));
  const Tables::Gap overlap = gaps.before(program(map, 4000, 5000));
  EXPECT_EQ(overlap.from_ns, kClockedFrom + 9000);  // they overlap by 5 us
  EXPECT_LE(overlap.bound_ns, 2 * kClockedSpreadNs + 5);
}

TEST(ProgramGaps, have_no_bound_behind_a_program_whose_end_did_not_come) {
  const collect::ClockMap map = clocked_map();
  ProgramGaps gaps;
  Program cut = program(map, 1000, 2000);
  cut.open = 1;
  gaps.before(cut);
  EXPECT_EQ(gaps.before(program(map, 5000, 6000)).bound_ns, kUnbounded);
  EXPECT_NE(gaps.before(program(map, 8000, 9000)).bound_ns, kUnbounded);
}

// The one of the other clock may have ended later than it seems to, up to when its words were read.
TEST(ProgramGaps, have_no_bound_beside_a_program_of_another_clock) {
  const collect::ClockMap map = clocked_map(), other = clocked_map();
  ProgramGaps gaps;
  gaps.before(program(map, 1000, 2000));
  gaps.before(program(other, 1100, 1900, kClockedFrom + 1'000'000));
  EXPECT_EQ(gaps.before(program(map, 5000, 6000)).bound_ns, kUnbounded);
  gaps.before(program(map, 1'100'000, 1'200'000));
  EXPECT_NE(gaps.before(program(map, 1'300'000, 1'400'000)).bound_ns, kUnbounded);
  Program of_both = program(map, 1'500'000, 1'600'000);
  of_both.clock = nullptr;
  EXPECT_EQ(gaps.before(of_both).bound_ns, kUnbounded);
  EXPECT_EQ(gaps.before(program(map, 1'700'000, 1'800'000)).bound_ns, kUnbounded);
}

// The number behind the reset is of another time.
TEST(ProgramGaps, have_no_bound_across_a_reset_or_beyond_what_was_sampled) {
  const collect::ClockMap map = clocked_map(2);
  ProgramGaps gaps;
  gaps.before(program(map, 1000, 2000, kClockedFrom + 5'000'000));
  EXPECT_EQ(gaps.before(program(map, 5000, 6000, kClockedFrom + 12'000'000)).bound_ns, kUnbounded);
  const collect::ClockMap one = clocked_map();
  ProgramGaps last;
  last.before(program(one, 8'000'000, 8'990'000));
  const Tables::Gap gap = last.before(program(one, 9'200'000, 9'300'000));
  EXPECT_EQ(gap.bound_ns, kUnbounded);
  EXPECT_EQ(gap.from_ns, kClockedFrom + 8'990'000);
}

}  // namespace
}  // namespace ttc::tools

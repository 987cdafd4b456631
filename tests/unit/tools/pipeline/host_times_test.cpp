// Host times of a session's markers, tile by tile.
#include "tools/pipeline/host_times.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ttcollect/clock_segment.hpp"

namespace ttc::tools {
namespace {

using collect::kHostTicksPerNs;

constexpr uint64_t kReadNs = 3'000'000'000;

// Of the reference tile's domain: a cycle is a nanosecond, and cycle 1e9 was at 2 s.
std::vector<char> reference_clock() {
  const collect::ClockHead head;
  collect::ClockSegment s = collect::clock_segment_between(1'000'000'000, 2'000'000'000 * kHostTicksPerNs,
                                                           2'000'000'000, 3'000'000'000 * kHostTicksPerNs);
  s.kind = collect::BoundKind::hard;
  s.bound = s.hard_bound = 16;
  s.flags = collect::kFinalSegment;
  std::vector<char> body(sizeof head + sizeof s);
  std::memcpy(body.data(), &head, sizeof head);
  std::memcpy(body.data() + sizeof head, &s, sizeof s);
  return body;
}

// A tile whose counter is another, and of which no clock came yet, beside tiles with host times: 0 would put its markers at the
// host's start, and a program that runs on both would last until now.
TEST(HostTimes, a_tile_without_a_clock_has_the_time_of_the_read_and_no_bound) {
  HostTimes times;
  ASSERT_EQ(times.take_clock(reference_clock()), "");
  const std::string domains = R"({"tiles": [[2, 2, 1]]})";
  ASSERT_EQ(times.take_domains(domains), "");
  const uint64_t cycles[] = {1'500'000'000, 1'600'000'000};

  HostTimes::Converted got;
  EXPECT_EQ(times.convert(1, 2, kReadNs, cycles, got), 0u);
  const MarkerHostTime of_reference = got.of[0];
  EXPECT_EQ(of_reference.at, 2'500'000'000 * kHostTicksPerNs);
  EXPECT_LT(of_reference.bound, collect::kNoBound);

  EXPECT_EQ(times.convert(2, 2, kReadNs, cycles, got), 2u);
  for (const MarkerHostTime& t : got.of) {
    EXPECT_EQ(t.at, kReadNs * kHostTicksPerNs);
    EXPECT_EQ(t.bound, collect::kNoBound);
    EXPECT_EQ(t.kind, collect::BoundKind::none);
  }
}

TEST(HostTimes, a_source_without_any_clock_has_no_host_time) {
  HostTimes times;
  const uint64_t cycles[] = {1'500'000'000};
  HostTimes::Converted got;
  EXPECT_EQ(times.convert(1, 2, kReadNs, cycles, got), 1u);
  EXPECT_EQ(got.of[0].at, 0u);
}

}  // namespace
}  // namespace ttc::tools
